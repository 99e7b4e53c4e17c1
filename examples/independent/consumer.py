"""A consumer of float32 arrays in host or OpenCL memory, written from docs/specification.md alone, with ctypes.

It adds the elements up and replaces them. On OpenCL it works on a queue of its own, and waits for no device.
"""

import ctypes
import itertools

VERSION, SIZE_MAX = 0x00000002, 4096
LIMIT = 4096  # elements
MEMBERS = (
    "version I struct_size I release P done P owner P descr P shape P strides P handle Q offset Q size Q context Q stream Q event Q "
    "flags I device_type i device_id i item_size I type_code B type_bits B type_lanes H ndim B handle_kind B order_kind B reserved B"
).split()
TYPES = {"I": ctypes.c_uint32, "i": ctypes.c_int32, "P": ctypes.c_void_p, "Q": ctypes.c_uint64, "B": ctypes.c_uint8, "H": ctypes.c_uint16}


class Exchange(ctypes.Structure):
    """The structure of section 4."""

    _fields_ = [(name, TYPES[letter]) for name, letter in zip(MEMBERS[::2], MEMBERS[1::2])]


Done = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64)
POINTER, LONG = ctypes.c_void_p, ctypes.c_uint64
get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def acquire(array):
    """The structure of an array whose type has the capsule of section 5."""
    table = get_pointer(type(array).__buffer_interface_c__, b"buffer_interface.c_api")
    version, size = (ctypes.c_uint32 * 2).from_address(table)
    if version != VERSION or size < 8 + ctypes.sizeof(ctypes.c_void_p):
        raise BufferError("the version of __buffer_interface_c__ is not known [B-45]")
    function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_uint32, ctypes.c_void_p)
    x = Exchange(version=VERSION, struct_size=ctypes.sizeof(Exchange))
    function(POINTER.from_address(table + 8).value)(array, 0, ctypes.addressof(x))
    return x


def describe(array):
    """The same from the object of section 2, by the method; the object lives as long as the result."""
    given = type(array).__buffer_interface__(array)
    typestr = getattr(given, "typestr", None) or given.dtype.str
    if given.buffer_interface_version != VERSION or typestr != "<f4":
        raise BufferError("version or typestr [B-3]")
    backend = getattr(given, "backend", "opencl" if hasattr(given.buffer, "int_ptr") else "cuda")
    if backend == "cuda" or getattr(given, "mask", None) is not None:
        raise BufferError("memory of CUDA, or a masked array")
    stream, readonly = getattr(given, "stream", None), getattr(given, "readonly", False)
    x = Exchange(version=VERSION, struct_size=ctypes.sizeof(Exchange), flags=bool(readonly), type_code=2, type_bits=32)
    is_cl = backend == "opencl"
    x.handle, x.offset = given.buffer.int_ptr if is_cl else int(given.buffer), given.offset
    if not is_cl:  # offset 0: the lowest element may lie before the address
        below = -sum((extent - 1) * stride for extent, stride in zip(given.shape, given.strides) if stride < 0)
        x.handle, x.offset = x.handle - below, below
    x.size, x.type_lanes, x.item_size, x.ndim = 2**40, 1, 4, len(given.shape)
    x.device_type, x.handle_kind, x.context = (4, 3, given.context) if is_cl else (1, 1, 0)
    x.order_kind, x.stream = (3, stream) if stream else (0, 0)
    x.kept = array, given, *((ctypes.c_int64 * x.ndim)(*numbers) for numbers in (given.shape, given.strides))
    x.shape, x.strides = (ctypes.addressof(numbers) for numbers in x.kept[2:])
    return x


def is_dense(shape, strides):
    """Whether the elements have no gaps, from the innermost axis to the outermost."""
    step = 4
    for extent, stride in zip(shape, strides):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True


class Consumer:
    """Reads all elements and replaces them by a value. Raises BufferError for arrays that it cannot use."""

    def __init__(self, x, value):
        self.queue, self.cl = None, None
        try:
            shape, strides = self.check(x)
            places = [
                x.offset + sum(i * stride for i, stride in zip(index, strides))
                for index in itertools.product(*map(range, shape))
            ]
            if places and (not x.handle or min(places) < 0 or max(places) > x.size - 4):
                raise BufferError("an element lies outside of the memory [B-17]")
            self.values = (ctypes.c_float * len(places))()
            (self.use_cl if places and x.handle_kind == 3 else self.use_host)(x, places, ctypes.c_float(value))
        finally:
            if x.release:
                ctypes.CFUNCTYPE(None, ctypes.c_void_p)(x.release)(ctypes.addressof(x))

    @staticmethod
    def check(x):
        if x.version != VERSION or not ctypes.sizeof(x) <= x.struct_size <= SIZE_MAX:
            raise BufferError("version or size [B-9]")
        if x.flags & 0xFFFF or x.reserved:
            raise BufferError("read-only, or an unknown flag [B-11]")
        if (x.type_code, x.type_bits, x.type_lanes, x.item_size) != (2, 32, 1, 4) or x.descr or x.ndim > 64:
            raise BufferError("not of type float32")
        if (x.handle_kind, x.device_type, bool(x.context)) not in ((1, 1, False), (1, 3, False), (3, 4, True)):
            raise BufferError("not in host memory or in a cl_mem [B-21]")
        if x.order_kind != (3 if x.stream or x.event else 0) or (x.handle_kind == 1 and x.order_kind):
            raise BufferError("order [B-32]")
        if not 0 <= x.device_id < 64:
            raise BufferError(f"device_id is {x.device_id}, not in 0..63 [B-23]")
        if x.ndim and not (x.shape and x.strides):
            raise BufferError("shape or strides is NULL [B-14]")
        shape, strides = ([*(ctypes.c_int64 * x.ndim).from_address(at)] if x.ndim else [] for at in (x.shape, x.strides))
        count = 1
        for extent in shape:
            count *= extent
            if extent < 0 or extent > LIMIT or count > LIMIT:
                raise BufferError("too many elements")
        if x.handle + x.size >= 1 << 64:
            raise BufferError("the memory ends beyond the address space [B-14]")
        for flag, axes in (0x10000, range(x.ndim - 1, -1, -1)), (0x20000, range(x.ndim)):
            if count and x.flags & flag and not is_dense([shape[i] for i in axes], [strides[i] for i in axes]):
                raise BufferError("a flag of contiguity is not true [B-18]")
        return shape, strides

    def use_host(self, x, places, value):
        for k, at in enumerate(places):
            element = ctypes.c_float.from_address(x.handle + at)
            self.values[k] = element.value
            element.value = value.value

    def use_cl(self, x, places, value):
        self.cl = cl = ctypes.CDLL("libOpenCL.so.1")
        cl.clCreateCommandQueue.restype = ctypes.c_void_p
        devices, event, memory, stream = (POINTER * 64)(), POINTER(x.event or None), POINTER(x.handle), POINTER(x.stream)
        cl.clGetContextInfo(POINTER(x.context), 0x1081, LONG(ctypes.sizeof(devices)), devices, None)
        self.queue = queue = POINTER(cl.clCreateCommandQueue(POINTER(x.context), POINTER(devices[x.device_id]), LONG(0), None))
        if x.stream and not x.event:
            self.mark(stream, event)
        if x.order_kind:  # the queue waits for the array's order [B-34]
            cl.clEnqueueBarrierWithWaitList(queue, 1, ctypes.byref(event), None)
            if not x.event:
                cl.clReleaseEvent(event)
        for k, at in enumerate(places):
            element = ctypes.addressof(self.values) + 4 * k
            cl.clEnqueueReadBuffer(queue, memory, 0, LONG(at), LONG(4), POINTER(element), 0, None, None)
        for at in places:
            cl.clEnqueueFillBuffer(queue, memory, ctypes.byref(value), LONG(4), LONG(at), LONG(4), 0, None, None)
        cl.clFlush(queue)
        self.hand_back(x, stream)

    def mark(self, queue, event):
        self.cl.clEnqueueMarkerWithWaitList(queue, 0, None, ctypes.byref(event))
        self.cl.clFlush(queue)

    def hand_back(self, x, stream):
        """The three ways of B-35."""
        if x.done and Done(x.done)(ctypes.addressof(x), 3, self.queue.value, 0) == 0:
            return
        if not x.stream:
            self.cl.clFinish(self.queue)
            return
        end = POINTER()
        self.mark(self.queue, end)
        self.cl.clEnqueueBarrierWithWaitList(stream, 1, ctypes.byref(end), None)
        self.cl.clReleaseEvent(end)
        self.cl.clFlush(stream)

    def finish(self):
        """Waits for the work, and returns the sum of the elements."""
        if self.queue:
            self.cl.clFinish(self.queue)
            self.cl.clReleaseCommandQueue(self.queue)
            self.queue = None
        return sum(self.values)
