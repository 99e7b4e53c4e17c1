"""The CUDA driver behind the library's back, for tests in Python.

`Driver` is what array libraries have beside us: memory, streams, events and asynchronous work made with the driver's own
functions, in the primary context of a device that is current on the calling thread. It opens the same library file as
the extension (BI_CUDA_LIBRARY), so both see one driver.

On the simulated driver (tests/simulators/cuda_sim) it also asks what no real one can tell: whether an access would be ordered behind
all work that it conflicts with, which calls were made, which of them could have made the thread wait. Work that is not
ordered is reported by the simulator whatever the schedule was, so a test proves an order without a race that it
has to win. On a real driver those questions are answered as if all were well, and `gate` makes work late instead.

Sizes are bytes, pointers and handles are int. A call that the driver refuses is a DriverCallError.
"""

import contextlib
import ctypes
import os

LEGACY, PER_THREAD = 1, 2
BLOCKING, NON_BLOCKING = 0, 1

_MANAGED_GLOBAL = 1
_HOST_MAPPED = 2
_EVENT_WITHOUT_TIMING = 2
_WAIT_AT_LEAST = 0


class DriverCallError(RuntimeError):
    def __init__(self, name, code):
        super().__init__(f"{name} returned {code}")
        self.code = code


class Options(ctypes.Structure):
    """struct cuda_sim_options."""

    _fields_ = [
        ("seed", ctypes.c_uint64),
        ("devices", ctypes.c_int),
        ("version", ctypes.c_int),
        ("pools", ctypes.c_int),
        ("capability", ctypes.c_int),
        ("concurrent_managed", ctypes.c_int),
        ("peer", ctypes.c_int),
        ("eager", ctypes.c_int),
        ("fail_call", ctypes.c_uint64),
        ("fail_code", ctypes.c_int),
        ("drop_wait", ctypes.c_uint64),
        ("prohibited", ctypes.c_uint),
    ]


USUAL = dict(seed=1, devices=2, version=12040, pools=1, capability=80, concurrent_managed=1, peer=1)


class Counts(ctypes.Structure):
    """struct cuda_sim_counts."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (
            "calls failed_calls waits dropped host_waits operations launches host_functions reports "
            "live_memory live_streams live_events live_modules returned"
        ).split()
    ]


class Simulator:
    """The controls of cuda_sim.h."""

    def __init__(self, library):
        self._begin = library.cuda_sim_begin
        self._begin.restype = None
        self.end = library.cuda_sim_end
        self.end.restype = ctypes.c_uint64
        self._count = library.cuda_sim_count
        self._count.restype = None
        self.settle = library.cuda_sim_settle
        self.settle.restype = None
        self._ordered = library.cuda_sim_ordered
        self._ordered.argtypes = [ctypes.c_size_t, ctypes.c_ulonglong, ctypes.c_size_t, ctypes.c_int]
        self._peek = library.cuda_sim_peek
        self._peek.argtypes = [ctypes.c_void_p, ctypes.c_ulonglong, ctypes.c_size_t]
        self._peek.restype = None
        self._touch = library.cuda_sim_touch
        self._touch.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        self._touch.restype = None
        self._arm = library.cuda_sim_arm
        self._arm.argtypes = [ctypes.c_uint64, ctypes.c_int, ctypes.c_uint64]
        self._arm.restype = None
        self._texts = {}
        for name in ("report", "call_name", "host_wait"):
            function = getattr(library, "cuda_sim_" + name)
            function.argtypes = [ctypes.c_uint64]
            function.restype = ctypes.c_char_p
            self._texts[name] = function

    def begin(self, **options):
        self._begin(ctypes.byref(Options(**{**USUAL, **options})))

    def counts(self):
        counts = Counts()
        self._count(ctypes.byref(counts))
        return counts

    def _list(self, name, start=0):
        texts = []
        while (text := self._texts[name](start + len(texts))) is not None:
            texts.append(text.decode())
        return texts

    def reports(self):
        return self._list("report")

    def host_waits(self):
        """Names of the calls in which the calling thread had to wait, or could have had to."""
        return self._list("host_wait")

    def calls(self, since=0):
        """Names of the calls of the driver's interface after the first `since` ones."""
        return self._list("call_name", since + 1)

    def ordered(self, stream, pointer, nbytes, writes=True):
        return bool(self._ordered(stream, pointer, nbytes, writes))

    def peek(self, pointer, nbytes):
        """The bytes as they are now, finished or not."""
        to = ctypes.create_string_buffer(nbytes)
        self._peek(to, pointer, nbytes)
        return to.raw

    def touch(self, pointer, nbytes, writes):
        self._touch(pointer, nbytes, writes)

    def arm(self, fail_call=0, fail_code=0, drop_wait=0):
        self._arm(fail_call, fail_code, drop_wait)


def open_library():
    return ctypes.CDLL(os.environ.get("BI_CUDA_LIBRARY") or "libcuda.so.1")


def open_simulator():
    """The controls, or None: the driver is a real one."""
    library = open_library()
    return Simulator(library) if hasattr(library, "cuda_sim_begin") else None


_held = set()  # devices whose primary context this process keeps


class Driver:
    """Everything that is made here and not given back is given back by close(). With `current` its context is current on
    the calling thread until then."""

    def __init__(self, ordinal=0, current=True):
        self._cu = open_library()
        self.sim = open_simulator()
        self.ordinal = ordinal
        self.is_current = current
        self._memory, self._streams, self._events = {}, {}, set()
        self.call("cuInit", 0)
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), ordinal)
        if not self.sim and ordinal not in _held:  # to create one takes a third of a second
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), ordinal)
            _held.add(ordinal)
        if current:
            self.call("cuCtxPushCurrent_v2", self.context)

    def close(self):
        self.synchronize()
        for event in list(self._events):
            self.destroy_event(event)
        for pointer in list(self._memory):
            self.free(pointer)
        for stream in list(self._streams):
            self.destroy_stream(stream)
        if self.is_current:
            self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        self.call("cuDevicePrimaryCtxRelease_v2", self.ordinal)

    def call(self, name, *arguments):
        code = getattr(self._cu, name)(*arguments)
        if code:
            raise DriverCallError(name, code)

    # Contexts

    def current(self):
        """Handle of the context that is current on this thread, 0: none."""
        current = ctypes.c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(current))
        return current.value or 0

    def current_device(self):
        """Ordinal of the device whose context is current, None: none is."""
        if not self.current():
            return None
        device = ctypes.c_int()
        self.call("cuCtxGetDevice", ctypes.byref(device))
        return device.value

    def _pop(self):
        """A call that was made to fail is made again, so that a test leaves the thread as it was."""
        try:
            self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        except DriverCallError:
            self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
            raise

    @contextlib.contextmanager
    def entered(self):
        """The context of this driver is current within."""
        self.call("cuCtxPushCurrent_v2", self.context)
        try:
            yield self
        finally:
            self._pop()

    @contextlib.contextmanager
    def left(self):
        """No context is current within."""
        popped = ctypes.c_void_p()
        self.call("cuCtxPopCurrent_v2", ctypes.byref(popped))
        try:
            yield self
        finally:
            self.call("cuCtxPushCurrent_v2", popped)

    def synchronize(self):
        with self.entered():
            self.call("cuCtxSynchronize")

    # Memory

    def alloc(self, nbytes, kind="plain"):
        """An address. `kind` is plain, pool, managed or pinned; pool memory is ready when the call returns."""
        pointer = ctypes.c_ulonglong()
        size = ctypes.c_size_t(nbytes)
        with self.entered():
            if kind == "plain":
                self.call("cuMemAlloc_v2", ctypes.byref(pointer), size)
            elif kind == "pool":
                self.call("cuMemAllocAsync", ctypes.byref(pointer), size, None)
                self.call("cuStreamSynchronize", None)
            elif kind == "managed":
                self.call("cuMemAllocManaged", ctypes.byref(pointer), size, _MANAGED_GLOBAL)
            elif kind == "pinned":
                self.call("cuMemHostAlloc", ctypes.byref(pointer), size, _HOST_MAPPED)
            else:
                raise ValueError(f"no memory of kind {kind!r}")
        self._memory[pointer.value] = kind
        return pointer.value

    def free(self, pointer):
        """Waits for the whole context first."""
        kind = self._memory.pop(pointer)
        with self.entered():
            self.call("cuCtxSynchronize")
            if kind == "pinned":
                self.call("cuMemFreeHost", ctypes.c_void_p(pointer))
            else:
                self.call("cuMemFree_v2", ctypes.c_ulonglong(pointer))

    def upload(self, pointer, data):
        """Waits for the whole context before and after."""
        with self.entered():
            self.call("cuCtxSynchronize")
            self.call("cuMemcpyHtoD_v2", ctypes.c_ulonglong(pointer), bytes(data), ctypes.c_size_t(len(data)))
            self.call("cuCtxSynchronize")

    def download(self, pointer, nbytes):
        """Waits for the whole context first."""
        to = ctypes.create_string_buffer(nbytes)
        with self.entered():
            self.call("cuCtxSynchronize")
            self.call("cuMemcpyDtoH_v2", to, ctypes.c_ulonglong(pointer), ctypes.c_size_t(nbytes))
        return to.raw

    # Streams and events

    def stream(self, flags=NON_BLOCKING):
        """A handle, above 2. Non-blocking ones are ordered with nothing, unless by an event."""
        stream = ctypes.c_void_p()
        with self.entered():
            self.call("cuStreamCreate", ctypes.byref(stream), flags)
        self._streams[stream.value] = flags
        return stream.value

    def destroy_stream(self, stream):
        del self._streams[stream]
        with self.entered():
            self.call("cuStreamSynchronize", ctypes.c_void_p(stream))
            self.call("cuStreamDestroy_v2", ctypes.c_void_p(stream))

    def synchronize_stream(self, stream):
        with self.entered():
            self.call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def record(self, stream):
        """An event behind what is on the stream; destroyed by close() or destroy_event()."""
        event = ctypes.c_void_p()
        with self.entered():
            self.call("cuEventCreate", ctypes.byref(event), _EVENT_WITHOUT_TIMING)
            self._events.add(event.value)  # from here on close() sees to it
            self.call("cuEventRecord", event, ctypes.c_void_p(stream))
        return event.value

    def destroy_event(self, event):
        with self.entered():
            self.call("cuEventDestroy_v2", ctypes.c_void_p(event))
            self._events.discard(event)

    def follow(self, waiter, on):
        """What is enqueued on `waiter` from now on comes after what is on `on`."""
        event = self.record(on)
        with self.entered():
            self.call("cuStreamWaitEvent", ctypes.c_void_p(waiter), ctypes.c_void_p(event), 0)
        self.destroy_event(event)

    # Work, asynchronous

    def fill(self, pointer, value, nbytes, stream):
        with self.entered():
            self.call(
                "cuMemsetD8Async",
                ctypes.c_ulonglong(pointer),
                ctypes.c_ubyte(value),
                ctypes.c_size_t(nbytes),
                ctypes.c_void_p(stream),
            )

    def copy(self, to, source, nbytes, stream):
        with self.entered():
            self.call(
                "cuMemcpyDtoDAsync_v2",
                ctypes.c_ulonglong(to),
                ctypes.c_ulonglong(source),
                ctypes.c_size_t(nbytes),
                ctypes.c_void_p(stream),
            )

    def gate(self, stream):
        """What is enqueued on the stream from now on waits until open() of the result is called."""
        return Gate(self, stream)

    # What only the simulated driver can tell

    def counts(self):
        return self.sim.counts() if self.sim else Counts()

    def report(self):
        return self.sim.reports() if self.sim else []

    def calls(self):
        """Calls of the driver's interface so far."""
        return self.counts().calls

    def ordered(self, stream, pointer, nbytes, writes=True):
        """Would this access come after all work that it conflicts with? (stream 0: of this thread.)"""
        return self.sim.ordered(stream, pointer, nbytes, writes) if self.sim else True


class Gate:
    def __init__(self, driver, stream):
        self._word = driver.alloc(4, "pinned")
        ctypes.memset(self._word, 0, 4)
        with driver.entered():
            driver.call(
                "cuStreamWaitValue32_v2",
                ctypes.c_void_p(stream),
                ctypes.c_ulonglong(self._word),
                ctypes.c_uint32(1),
                _WAIT_AT_LEAST,
            )

    def open(self):
        ctypes.c_uint32.from_address(self._word).value = 1
