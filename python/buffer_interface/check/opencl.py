"""OpenCL without a binding: what the order of work is judged with. A gate holds back the work of a queue until it is opened."""

import contextlib
import ctypes
import functools
import os
import pathlib
import time
from ctypes import c_int, c_int32, c_uint32, c_uint64, c_void_p

CONTEXT_OF_QUEUE, DEVICE_OF_QUEUE, STATUS_OF_EVENT, CONTEXT_OF_EVENT = 0x1090, 0x1091, 0x11D3, 0x11D4
DEVICES_OF_CONTEXT = 0x1081
REFERENCES_OF_QUEUE, REFERENCES_OF_EVENT = 0x1092, 0x11D2
SIZE_OF_MEMORY, PARENT_OF_MEMORY = 0x1102, 0x1107
COMPLETE = 0
QUERIES = 100  # 5 ms apart, after which a probe that nothing holds back is complete; a loaded machine delays both


def loaded():
    """Returns the paths of loaders that the process has loaded. Objects of one loader may not work with another."""
    try:
        lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return []
    paths = dict.fromkeys(line.split(maxsplit=5)[5] for line in lines if "/libOpenCL" in line)
    return [path for path in paths if pathlib.Path(path).name.startswith(("libOpenCL.", "libOpenCL-"))]


@functools.cache
def library():
    """Returns the OpenCL loader, or None. BI_OPENCL_LIBRARY names it, as for the package."""
    chosen = os.environ.get("BI_OPENCL_LIBRARY")
    for name in [chosen] if chosen else [*loaded(), "libOpenCL.so.1", "libOpenCL.so"]:
        try:
            found = ctypes.CDLL(name)
        except OSError:
            continue
        for function in ("clCreateUserEvent", "clCreateCommandQueue", "clCreateContext", "clCreateBuffer"):
            getattr(found, function).restype = c_void_p
        return found
    return None


def ask(function, handle, name, kind):
    value = kind()
    code = getattr(library(), function)(c_void_p(handle), c_uint32(name), ctypes.c_size_t(ctypes.sizeof(kind)), ctypes.byref(value), None)
    return None if code else value.value


def create(function, *arguments):
    """Calls a clCreate function without its last argument, the error code."""
    code = c_int32()
    made = getattr(library(), function)(*arguments, ctypes.byref(code))
    if code.value:
        raise RuntimeError(f"{function} returned {code.value}")
    return made


def context_of(queue):
    return ask("clGetCommandQueueInfo", queue, CONTEXT_OF_QUEUE, c_void_p)


def place_of(exchange):
    """Returns (context, device) of the queue of a structure, or of its event."""
    if exchange.stream:
        return context_of(exchange.stream), ask("clGetCommandQueueInfo", exchange.stream, DEVICE_OF_QUEUE, c_void_p)
    context = ask("clGetEventInfo", exchange.event, CONTEXT_OF_EVENT, c_void_p)
    return context, devices_of(context)[exchange.device_id]


def devices_of(context):
    """Returns the devices of a context, in its order."""
    nbytes, name = ctypes.c_size_t(), c_uint32(DEVICES_OF_CONTEXT)
    library().clGetContextInfo(c_void_p(context), name, ctypes.c_size_t(0), None, ctypes.byref(nbytes))
    devices = (c_void_p * (nbytes.value // ctypes.sizeof(c_void_p)))()
    library().clGetContextInfo(c_void_p(context), name, nbytes, devices, None)
    return list(devices)


def memory(handle):
    """Returns (cl_mem of which this one is a part, or 0; bytes)."""
    parent = ask("clGetMemObjectInfo", handle, PARENT_OF_MEMORY, c_void_p)
    return parent or 0, ask("clGetMemObjectInfo", handle, SIZE_OF_MEMORY, ctypes.c_size_t) or 0


def is_complete(event):
    return ask("clGetEventInfo", event, STATUS_OF_EVENT, c_int) == COMPLETE


@contextlib.contextmanager
def held(exchange):
    """Holds the queue and the event of a structure, so that the driver can be asked about them when their producer is gone.
    Gives a function that returns True if each of them has another reference."""
    both = ("CommandQueue", exchange.stream, REFERENCES_OF_QUEUE), ("Event", exchange.event, REFERENCES_OF_EVENT)
    kept = [named for named in both if named[1]]
    for kind, handle, _ in kept:
        getattr(library(), f"clRetain{kind}")(c_void_p(handle))
    try:
        yield lambda: all(ask(f"clGet{kind}Info", handle, count, c_uint32) > 1 for kind, handle, count in kept)
    finally:
        for kind, handle, _ in kept:
            getattr(library(), f"clRelease{kind}")(c_void_p(handle))


class Gate:
    """Called with a cl_command_queue as int, holds back all later work of the queue until open()."""

    is_opencl = True

    def __init__(self, queue):
        self._user = create("clCreateUserEvent", c_void_p(context_of(queue)))
        self._enqueue(queue, "clEnqueueBarrierWithWaitList", self._user)
        self._is_open = False

    @staticmethod
    def _enqueue(queue, function, wait_for=None):
        """Enqueues a marker or barrier. Returns its event."""
        event, waits = c_void_p(), (c_void_p * 1)(wait_for)
        getattr(library(), function)(c_void_p(queue), c_uint32(1 if wait_for else 0), waits if wait_for else None, ctypes.byref(event))
        library().clFlush(c_void_p(queue))
        return event.value

    def open(self):
        if not self._is_open:
            self._is_open = True
            library().clSetUserEventStatus(c_void_p(self._user), c_int32(COMPLETE))

    def passes(self, queue):
        """Returns True if a probe on the queue becomes complete, although the gate is closed."""
        return self.is_complete(self._enqueue(queue, "clEnqueueMarkerWithWaitList"))

    def is_complete(self, event):
        for _ in range(QUERIES):
            if is_complete(event):
                return True
            time.sleep(0.005)
        return False

    @contextlib.contextmanager
    def another(self, exchange):
        """Work of a consumer: a queue of its own with work behind a gate of its own."""
        queue = create("clCreateCommandQueue", *map(c_void_p, place_of(exchange)), c_uint64(0))
        work = Gate(queue)
        work.stream, work.event = queue, Gate._enqueue(queue, "clEnqueueMarkerWithWaitList")
        try:
            yield work
        finally:
            work.open()


def pending(count):
    """Returns (cl_mem, cl_context, cl_command_queue, gate): `count` int32 of 1, and a command behind the gate that writes 2.

    None: there is no device. The objects stay until the process ends.
    """
    platform, device = c_void_p(), c_void_p()
    cl, everything = library(), c_uint64(0xFFFFFFFF)
    if cl.clGetPlatformIDs(1, ctypes.byref(platform), None) or cl.clGetDeviceIDs(platform, everything, 1, ctypes.byref(device), None):
        return None
    context = create("clCreateContext", None, 1, ctypes.byref(device), None, None)
    queue = create("clCreateCommandQueue", c_void_p(context), device, c_uint64(0))
    nbytes, ones, twos = ctypes.c_size_t(4 * count), (c_int32 * count)(*[1] * count), c_int32(2)
    memory_ = create("clCreateBuffer", c_void_p(context), c_uint64(1 | 1 << 5), nbytes, ones)
    gate = Gate(queue)
    cl.clEnqueueFillBuffer(c_void_p(queue), c_void_p(memory_), ctypes.byref(twos), ctypes.c_size_t(4), ctypes.c_size_t(0), nbytes, 0, None, None)
    cl.clFlush(c_void_p(queue))
    return memory_, context, queue, gate
