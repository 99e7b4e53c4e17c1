"""libgpuarray, the array library of Theano. The installed library is opened; its structs are those of version 0.7."""

import ctypes
from ctypes import POINTER, byref, c_int, c_size_t, c_ssize_t, c_uint, c_void_p
from time import perf_counter

import drivers
from native import Missing, Unavailable, WrongResult

TYPES = {1: 2, 2: 4, 4: 6, 8: 10}  # item size: GA_UBYTE, GA_USHORT, GA_UINT, GA_ULONGLONG
C_ORDER = 0


class GpuArray(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("dimensions", POINTER(c_size_t)), ("strides", POINTER(c_ssize_t)),
                ("offset", c_size_t), ("nd", c_uint), ("flags", c_int), ("typecode", c_int)]


def load():
    try:
        return ctypes.CDLL("libgpuarray.so.3")
    except OSError as missing:
        raise Missing(missing) from missing


class Library:
    """The library with one context for each device, which stays open."""

    opened = {}

    def __init__(self, spec):
        self.functions = load()
        self.context = self.open(spec)

    @classmethod
    def of(cls, spec):
        if spec not in cls.opened:
            cls.opened[spec] = cls(spec)
        return cls.opened[spec]

    def open(self, spec):
        properties, context = c_void_p(), c_void_p()
        self.call("gpucontext_props_new", byref(properties))
        self.call("gpucontext_props_opencl_dev", properties, *drivers.place_of(spec))
        self.call("gpucontext_init", byref(context), b"opencl", properties)
        return context

    def call(self, name, *arguments):
        if rc := getattr(self.functions, name)(*arguments):
            raise Unavailable(f"{name} failed: {rc}")

    def array(self, layout, address, count):
        """Returns a view of new memory with these bytes."""
        rc = c_int()
        self.functions.gpudata_alloc.restype = c_void_p
        self.functions.gpudata_alloc.argtypes = [c_void_p, c_size_t, c_void_p, c_int, POINTER(c_int)]
        self.functions.gpudata_release.argtypes = [c_void_p]
        self.functions.gpudata_write.argtypes = [c_void_p, c_size_t, c_void_p, c_size_t]
        data = self.functions.gpudata_alloc(self.context, count, None, 0, byref(rc))
        if not data:
            raise Unavailable(f"gpudata_alloc failed: {rc.value}")
        self.call("gpudata_write", data, 0, address, count)
        found, axes = GpuArray(), len(layout.shape)
        self.call("GpuArray_fromdata", byref(found), c_void_p(data), c_size_t(layout.offset),
                  c_int(TYPES[layout.item_size]), c_uint(axes), (c_size_t * axes)(*layout.shape),
                  (c_ssize_t * axes)(*layout.strides), c_int(1))
        self.functions.gpudata_release(data)  # the array has a reference of its own
        return found


def add(report, runners, array, spec):
    """Adds GpuArray_setarray from a strided view into a dense array, verified, or the reason why it is missing."""
    try:
        if array.layout.item_size not in TYPES:
            raise Missing(f"libgpuarray has no type of {array.layout.item_size} bytes")
        runners["libgpuarray, all cores"] = setarray(Library.of(spec), array)
    except Unavailable as why:
        report.skip("libgpuarray", why)


def setarray(library, array):
    layout = array.layout
    source, destination = library.array(layout, array.source, layout.source_bytes), GpuArray()
    axes = len(layout.shape)
    library.call("GpuArray_empty", byref(destination), library.context, c_int(TYPES[layout.item_size]), c_uint(axes),
                 (c_size_t * axes)(*layout.shape), c_int(C_ORDER))
    copy, wait = library.functions.GpuArray_setarray, library.functions.GpuArray_sync

    def runner(n):
        start = perf_counter()
        for _ in range(n):
            if copy(byref(destination), byref(source)):
                raise WrongResult("GpuArray_setarray failed")
        wait(byref(destination))
        return perf_counter() - start

    runner(1)
    array.clear()
    library.call("GpuArray_read", c_void_p(array.destination), c_size_t(layout.bytes), byref(destination))
    array.check(f"libgpuarray, {layout.name}")
    array.jobs.append(Held(library, source, destination))
    return runner


class Held:
    """Arrays that are released with the array that they copy."""

    def __init__(self, library, *arrays):
        self.library, self.arrays = library, arrays

    def release(self):
        for array in self.arrays:
            self.library.functions.GpuArray_clear(byref(array))
