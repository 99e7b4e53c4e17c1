"""A producer of float32 arrays in host or OpenCL memory, written from docs/specification.md alone, with ctypes.

The elements in C order are 1, 2, 3, ... An array of OpenCL may have pending work, which begins when open() is called.
The structure has no `done`: a consumer makes the queue wait, or waits itself. A callback of ctypes cannot set an
exception, so a refused acquire returns -1 without one, and does not keep B-46.
"""

import ctypes
import itertools

VERSION, SIZE_MAX = 0x00000002, 4096
READONLY, C_CONTIGUOUS, F_CONTIGUOUS, READY = 1, 0x10000, 0x20000, 1
MOST = 12

Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Exchange(ctypes.Structure):
    """The structure of section 4."""

    _fields_ = (
        [("version", ctypes.c_uint32), ("struct_size", ctypes.c_uint32), ("release", Release), ("done", ctypes.c_void_p)]
        + [("owner", ctypes.c_void_p), ("descr", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p)]
        + [(name, ctypes.c_uint64) for name in ("handle", "offset", "size", "context", "stream", "event")]
        + [("flags", ctypes.c_uint32), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]
        + [("item_size", ctypes.c_uint32), ("type_code", ctypes.c_uint8), ("type_bits", ctypes.c_uint8)]
        + [("type_lanes", ctypes.c_uint16), ("ndim", ctypes.c_uint8), ("handle_kind", ctypes.c_uint8)]
        + [("order_kind", ctypes.c_uint8), ("reserved", ctypes.c_uint8)]
    )


Acquire = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_uint32, ctypes.POINTER(Exchange))


class Table(ctypes.Structure):
    """The table of section 5."""

    _fields_ = [("version", ctypes.c_uint32), ("struct_size", ctypes.c_uint32), ("acquire", Acquire)]


class OpenCL:
    """The functions of OpenCL, found when they are used first."""

    def __init__(self):
        self.library = None

    def __getattr__(self, name):
        self.library = self.library or ctypes.CDLL("libOpenCL.so.1")
        function = getattr(self.library, name)
        if name.startswith("clCreate"):
            function.restype = ctypes.c_void_p
        setattr(self, name, function)
        return function


cl = OpenCL()
POINTER, LONG = ctypes.c_void_p, ctypes.c_uint64

# Name: OpenCL, pending, shape, strides, bytes to element [0, ..., 0], flags.
KINDS = {
    "host": (False, False, (2, 3), (12, 4), 0, C_CONTIGUOUS),
    "host, strides": (False, False, (2, 3), (-24, 8), 24, 0),
    "host, no dimension": (False, False, (), (), 8, C_CONTIGUOUS | F_CONTIGUOUS),
    "host, no element": (False, False, (0, 3), (12, 4), 0, C_CONTIGUOUS | F_CONTIGUOUS),
    "host, read-only": (False, False, (3,), (4,), 0, READONLY),
    "opencl": (True, False, (5,), (4,), 8, C_CONTIGUOUS | F_CONTIGUOUS),
    "opencl, pending": (True, True, (5,), (4,), 8, C_CONTIGUOUS | F_CONTIGUOUS),
    "opencl, pending, strides": (True, True, (2, 3), (4, -8), 24, 0),
}


class Memory:
    """The attribute `buffer`: the cl_mem, or the address of element [0, ..., 0]."""

    def __init__(self, array):
        self.array = array  # is alive as long as the memory is used
        if array.is_cl:
            self.int_ptr = array.memory

    def __int__(self):
        return self.array.memory if self.array.is_cl else ctypes.addressof(self.array.host) + self.array.first


class Description:
    """The object of section 2."""

    buffer_interface_version = VERSION
    typestr, itemsize = "<f4", 4

    def __init__(self, array):
        self.buffer = Memory(array)
        self.backend, self.offset = ("opencl", array.first) if array.is_cl else ("host", 0)
        self.shape, self.strides, self.ndim = array.shape, array.strides, len(array.shape)
        self.readonly = bool(array.flags & READONLY)
        self.stream, self.context = array.queue if array.is_pending else None, array.context


class Array:
    """An array and its memory."""

    releases = 0
    is_cl, gate = False, None  # if the constructor raises

    def __init__(self, name):
        self.is_cl, self.is_pending, self.shape, self.strides, self.first, self.flags = KINDS[name]
        self.context = self.queue = self.gate = None
        self.host = (ctypes.c_float * MOST)()
        for k, at in enumerate(self.places()):
            self.host[at] = k + 1
        if self.is_cl:
            self.open_cl()

    def places(self):
        """Numbers of the floats in the memory that are the elements in C order."""
        for index in itertools.product(*map(range, self.shape)):
            yield (self.first + sum(i * stride for i, stride in zip(index, self.strides))) // 4

    def open_cl(self):
        platform, device = POINTER(), POINTER()
        cl.clGetPlatformIDs(1, ctypes.byref(platform), None)
        cl.clGetDeviceIDs(platform, LONG(0xFFFFFFFF), 1, ctypes.byref(device), None)
        self.context = cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None)
        self.queue = cl.clCreateCommandQueue(POINTER(self.context), device, LONG(0), None)
        self.memory = cl.clCreateBuffer(POINTER(self.context), LONG(1), LONG(4 * MOST), None, None)
        if self.is_pending:
            self.gate = cl.clCreateUserEvent(POINTER(self.context), None)
            cl.clEnqueueBarrierWithWaitList(POINTER(self.queue), 1, ctypes.byref(POINTER(self.gate)), None)
        for i, value in enumerate(self.host):
            value = ctypes.c_float(value)
            place = LONG(4 * i), LONG(4)
            cl.clEnqueueFillBuffer(POINTER(self.queue), POINTER(self.memory), ctypes.byref(value), LONG(4), *place, 0, None, None)
        (cl.clFlush if self.is_pending else cl.clFinish)(POINTER(self.queue))

    def open(self):
        if self.gate:
            cl.clSetUserEventStatus(POINTER(self.gate), 0)

    def read(self):
        """The sum of the elements, after all work of the producer and its consumers."""
        if self.is_cl:
            place = LONG(0), LONG(4 * MOST)
            cl.clEnqueueReadBuffer(POINTER(self.queue), POINTER(self.memory), 1, *place, self.host, 0, None, None)
        return sum(self.host[at] for at in self.places())

    def __del__(self):
        if self.is_cl:
            cl.clReleaseMemObject(POINTER(self.memory))
            cl.clReleaseCommandQueue(POINTER(self.queue))
            cl.clReleaseContext(POINTER(self.context))
        if self.gate:
            cl.clReleaseEvent(POINTER(self.gate))

    def __buffer_interface__(self, flags=0, /):
        if flags & 0xFFFF:
            raise BufferError(f"flags is {flags:#x}, and this producer fulfils no demand [B-48]")
        return Description(self)


exported = {}  # of each structure: what keeps it alive, by the number in its `owner`
numbers = itertools.count(1)


@Release
def release(self):
    array = Exchange.from_address(self)
    del exported[array.owner]
    array.release = Release()
    Array.releases += 1


# A structure may be released when this module is gone (B-41), so the callback is never freed.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(release))


@Acquire
def acquire(array, wishes, out):
    x, size = out.contents, out.contents.struct_size
    x.release = Release()
    if x.version != VERSION or not ctypes.sizeof(Exchange) <= size <= SIZE_MAX or wishes & 0xFFFF:
        return -1
    number = next(numbers)
    shape, strides = ((ctypes.c_int64 * len(array.shape))(*numbers) for numbers in (array.shape, array.strides))
    exported[number] = array, shape, strides
    ctypes.memset(out, 0, size)
    x.version, x.struct_size, x.release, x.owner = VERSION, size, release, number
    x.shape, x.strides = ctypes.addressof(shape), ctypes.addressof(strides)
    x.handle = array.memory if array.is_cl else ctypes.addressof(array.host)
    x.offset, x.size, x.flags, x.item_size = array.first, 4 * MOST, array.flags, 4
    x.type_code, x.type_bits, x.type_lanes, x.ndim = 2, 32, 1, len(array.shape)
    x.device_type, x.handle_kind, x.context = (4, 3, array.context) if array.is_cl else (1, 1, 0)
    x.order_kind, x.stream = (3, array.queue) if array.is_pending else (0, 0)
    return 0


# Table and name live as long as the process.
table, name_of_capsule = Table(VERSION, ctypes.sizeof(Table), acquire), b"buffer_interface.c_api"
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
Array.__buffer_interface_c__ = new_capsule(ctypes.addressof(table), name_of_capsule, None)
