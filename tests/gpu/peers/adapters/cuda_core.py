"""cuda.core: buffers of bytes through DLPack, whose stream argument they take no notice of; StridedMemoryView."""

import collections
import ctypes
import math

import numpy as np
from cuda.core import Device
from cuda.core.utils import StridedMemoryView

from adapters import DLPACK, NUMBERS, TellingPeer

Copied = collections.namedtuple("Copied", "address shape dtype")


class CudaCore(TellingPeer):
    gives = (DLPACK,)
    dtypes = {DLPACK: ("|i1",)}
    streamless = (DLPACK,)
    takes_dtypes = (*NUMBERS, "bfloat16")
    owning = ("DLPack",)
    negative = True
    strided = False  # its buffers have no layout
    empty = False
    ndim = 1

    def __init__(self):
        self.takes = {
            "any interface": self._take(StridedMemoryView.from_any_interface),
            "DLPack": self._take(StridedMemoryView.from_dlpack),
            "CUDA Array Interface": self._take(StridedMemoryView.from_cuda_array_interface),
        }

    def _take(self, function):
        return lambda view: function(view, stream_ptr=self.handle(self._stream) if self._stream else -1)

    def why_not(self):
        try:
            Device(0).set_current()
        except Exception as error:  # whatever its driver bindings raise
            return f"cuda.core sees no GPU: {error}"
        return None

    def array(self, values):
        Device(0).set_current()
        buffer = Device(0).allocate(values.nbytes, stream=Device(0).default_stream)
        self.driver.synchronize()
        self.driver.upload(int(buffer.handle), values.tobytes())
        return buffer

    def stream(self):
        Device(0).set_current()
        return Device(0).create_stream()

    def handle(self, stream):
        return int(stream.handle)

    def fill(self, array, value):
        """The library has no kernel of its own for this; the driver does it, on the library's stream."""
        address, shape, _ = self.layout(array)
        count, stream = ctypes.c_size_t(math.prod(shape)), ctypes.c_void_p(self.handle(self._stream))
        name, word = {1: ("cuMemsetD8Async", ctypes.c_uint8), 4: ("cuMemsetD32Async", ctypes.c_uint32)}[value.itemsize]
        with self.driver.entered():
            self.driver.call(name, ctypes.c_ulonglong(address), word.from_buffer_copy(value.tobytes()), count, stream)

    def copied(self, array):
        address, shape, _ = self.layout(array)
        nbytes = math.prod(shape) * array.dtype.itemsize
        to = self.driver.alloc(nbytes)
        self.driver.copy(to, address, nbytes, self.handle(self._stream))
        return Copied(to, shape, array.dtype)

    def numpy(self, array):
        if isinstance(array, Copied):
            data = self.driver.download(array.address, math.prod(array.shape) * array.dtype.itemsize)
            return np.frombuffer(data, array.dtype).reshape(array.shape)
        if not isinstance(array, StridedMemoryView):
            return np.frombuffer(self.driver.download(int(array.handle), array.size), "i1")
        address, shape, strides = self.layout(array)
        below = sum(min(0, stride * (extent - 1)) for extent, stride in zip(shape, strides))
        above = sum(max(0, stride * (extent - 1)) for extent, stride in zip(shape, strides)) + array.dtype.itemsize
        data = self.driver.download(address + below, above - below)
        return np.ndarray(shape, array.dtype, data, -below, strides)

    def layout(self, array):
        if not isinstance(array, StridedMemoryView):
            return int(array.handle), (array.size,), (1,)
        strides = array.strides and tuple(stride * array.dtype.itemsize for stride in array.strides)
        return array.ptr, tuple(array.shape), strides or np.empty(array.shape, array.dtype).strides


peer = CudaCore()
