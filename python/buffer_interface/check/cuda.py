"""The CUDA driver without a binding: allocations, and a gate that holds back the work of a stream until it is opened."""

import contextlib
import ctypes
import functools
import os
import time
from ctypes import c_size_t, c_uint32, c_uint64, c_void_p

NOT_READY, NO_TIMING, NON_BLOCKING, MAPPED, AT_LEAST = 600, 2, 1, 2, 0
QUERIES = 100  # 5 ms apart, after which a probe that nothing holds back is complete; a loaded machine delays both


@functools.cache
def driver():
    """Returns the driver of device 0, or None."""
    try:
        return Driver(ctypes.CDLL(os.environ.get("BI_CUDA_LIBRARY") or "libcuda.so.1"))
    except (OSError, RuntimeError):
        return None


class Driver:
    def __init__(self, library):
        self._library = library
        self.call("cuInit", 0)
        self._context = c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), 0)

    def call(self, name, *arguments):
        code = getattr(self._library, name)(*arguments)
        if code:
            raise RuntimeError(f"{name} returned {code}")

    def device_count(self):
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        return count.value

    @contextlib.contextmanager
    def entered(self):
        self.call("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            self.call("cuCtxPopCurrent_v2", ctypes.byref(c_void_p()))

    def outside(self, first, nbytes):
        """Returns a sentence if bytes are not in one allocation, otherwise None."""
        base, size = c_uint64(), c_size_t()
        try:
            with self.entered():
                self.call("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(size), c_uint64(first))
        except RuntimeError:
            return f"the driver knows no allocation at {first:#x}"
        if first + nbytes <= base.value + size.value:
            return None
        return f"the elements reach to {first + nbytes:#x}, the allocation ends at {base.value + size.value:#x}"

    def new_stream(self):
        stream = c_void_p()
        with self.entered():
            self.call("cuStreamCreate", ctypes.byref(stream), NON_BLOCKING)
        return stream.value

    def record(self, stream):
        event = c_void_p()
        with self.entered():
            self.call("cuEventCreate", ctypes.byref(event), NO_TIMING)
            self.call("cuEventRecord", event, c_void_p(stream))
        return event.value

    def is_complete(self, event):
        for _ in range(QUERIES):
            with self.entered():
                code = self._library.cuEventQuery(c_void_p(event))
            if code != NOT_READY:
                return code == 0
            time.sleep(0.005)
        return False


class Gate:
    """Holds back all later work of a stream until open()."""

    is_opencl = False

    def __init__(self, stream):
        self.driver = driver()
        word = c_void_p()
        with self.driver.entered():
            self.driver.call("cuMemHostAlloc", ctypes.byref(word), c_size_t(4), MAPPED)
            self._word = c_uint32.from_address(word.value)
            self._word.value = 0
            self.driver.call("cuStreamWaitValue32_v2", c_void_p(stream), c_uint64(word.value), c_uint32(1), AT_LEAST)

    def open(self):
        self._word.value = 1

    def passes(self, stream):
        return self.is_complete(self.driver.record(stream))

    def is_complete(self, event):
        return self.driver.is_complete(event)

    @contextlib.contextmanager
    def another(self, exchange):
        stream = self.driver.new_stream()
        work = Gate(stream)
        work.stream, work.event = stream, self.driver.record(stream)
        try:
            yield work
        finally:
            work.open()
