"""The jobs of bench/c, loaded beside the library that is measured. A job is a runner for timing.compare."""

import ctypes
import math
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_long, c_size_t, c_void_p

from verify import WrongResult

HOST, DEVICE = 0, 1
STRIDED = 0
COPY, FILL, WRITE, READ, FRESH, ALLOCATE, OPEN = range(7)


class Unavailable(Exception):
    """Something that a row needs cannot be had; the message says why."""


class Missing(Unavailable):
    """A peer or a GPU is not installed, or a peer cannot do the operation. Nothing is wrong with the other rows."""


class Request(ctypes.Structure):
    """struct bench_request."""

    _fields_ = [("operation", c_int), ("source", c_int), ("destination", c_int), ("pinned", c_int), ("exported", c_int),
                ("unpooled", c_int), ("every", c_long)]


def request(operation=COPY, source=DEVICE, destination=DEVICE, pinned=0, exported=0, every=1, unpooled=0):
    return Request(operation, source, destination, pinned, exported, unpooled, every)


SIGNATURES = {
    "message": (c_char_p,),
    "time": (c_double, c_void_p, c_long), "verify": (c_int, c_void_p), "fetch": (c_int, c_void_p, c_void_p),
    "release": (None, c_void_p),
    "array_create": (c_void_p, c_int, POINTER(c_int64), POINTER(c_int64), c_int64, c_int64, c_size_t),
    "array_release": (None, c_void_p), "array_source": (c_void_p, c_void_p), "array_destination": (c_void_p, c_void_p),
    "array_plan": (c_char_p, c_void_p), "array_check": (c_int, c_void_p, c_void_p, c_int),
    "memcpy": (c_void_p, c_void_p), "naive": (c_void_p, c_void_p), "malloc_copy": (c_void_p, c_void_p),
    "library": (c_void_p, c_void_p, c_char_p, POINTER(Request)), "memcpy_beside": (c_void_p, c_void_p),
    "opencl": (c_void_p, c_void_p, c_int, c_int, POINTER(Request), c_void_p),
    "opencl_use_kernel": (c_int, c_void_p),
    "launch": (c_void_p, c_char_p, c_char_p, c_int, c_int, c_int),
    "opencl_launch": (c_void_p, c_int, c_int, c_char_p, c_int, c_int, c_int), "launch_verify": (c_int, c_void_p),
    "uses": (c_void_p, c_char_p, c_int, c_int), "uses_verify": (c_int, c_void_p),
    "cuda": (c_void_p, c_void_p, c_int, POINTER(Request)),
    "view": (c_void_p, c_char_p, c_int), "view_plain": (c_void_p,),
    "gpuarray_view": (c_void_p, c_int, c_int, c_int),
    "device": (c_char_p, c_int), "library_version": (c_char_p,),
}


class Native:
    """Both libraries. The measured one is loaded first with global symbols, so that the jobs find its functions."""

    def __init__(self, library, jobs):
        self.library = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        self.jobs = ctypes.CDLL(str(jobs))
        for name, (result, *arguments) in SIGNATURES.items():
            function = getattr(self.jobs, f"bench_{name}")
            function.restype, function.argtypes = result, arguments

    def call(self, name, *arguments):
        return getattr(self.jobs, f"bench_{name}")(*arguments)

    def message(self):
        return self.call("message").decode()

    def version(self):
        return self.call("library_version").decode()

    def devices(self):
        """Dictionaries of the usable devices, the best first."""
        found = []
        while line := self.call("device", len(found)):
            found.append(dict(zip(("spec", "kind", "name", "driver"), line.decode(errors="replace").split("\t"))))
        return found

    def set_threads(self, count):
        """Sets the number of threads of copies; 0: the default. Returns False if the library has no such choice."""
        function = getattr(self.library, "bi_set_threads", None)
        if function is None:
            return False
        if function(c_int(count), None):
            raise WrongResult(f"bi_set_threads({count}) failed")
        return True

    def job(self, name, *arguments, threads=0):
        """A job of bench/c as a runner. `threads` is set before each turn; 0: the library's default."""
        handle = self.call(name, *arguments)
        if not handle:
            raise Unavailable(self.message())
        return Job(self, name, handle, threads)


class Job:
    """A runner around a job. Called with n it returns seconds. It must have been verified."""

    def __init__(self, native, name, handle, threads):
        self.native, self.name, self.handle, self.threads = native, name, handle, threads
        self.is_verified = False

    def __call__(self, n):
        if not self.is_verified:
            raise WrongResult(f"{self.name} would be timed before its result was compared")
        return self.seconds(n)

    def seconds(self, n):
        self.native.set_threads(self.threads)
        seconds = self.native.call("time", self.handle, n)
        if seconds < 0:
            raise WrongResult(f"{self.name}: {self.native.message()}")
        return seconds

    def on(self, threads):
        """Returns a runner of the same job, so on the same arrays, with another number of threads."""
        return Job(self.native, self.name, self.handle, threads)

    def verify(self, what, check="verify"):
        self.native.set_threads(self.threads)
        if self.native.call(check, self.handle):
            raise WrongResult(f"{what}, {self.name}: {self.native.message()}")
        self.is_verified = True

    def fetch(self, count):
        """Returns the bytes of the destination."""
        found = (ctypes.c_ubyte * count)()
        if self.native.call("fetch", self.handle, found):
            raise WrongResult(f"{self.name}: {self.native.message()}")
        return found

    def release(self):
        self.native.call("release", self.handle)


class Array:
    """struct bench_array: a source with a layout on the host, and a dense destination. Owns the jobs made with it."""

    def __init__(self, native, layout):
        self.native, self.layout, self.jobs = native, layout, []
        numbers = c_int64 * max(1, len(layout.shape))
        self.handle = native.call("array_create", len(layout.shape), numbers(*layout.shape), numbers(*layout.strides),
                                  layout.offset, layout.item_size, layout.source_bytes)
        if not self.handle:
            raise Unavailable(native.message())

    def __enter__(self):
        return self

    def release_jobs(self):
        """The last one first: it may use the memory of an earlier one."""
        for job in reversed(self.jobs):
            job.release()
        self.jobs.clear()

    def __exit__(self, *_):
        self.release_jobs()
        self.native.call("array_release", self.handle)

    @property
    def source(self):
        return self.native.call("array_source", self.handle)

    @property
    def destination(self):
        return self.native.call("array_destination", self.handle)

    def job(self, name, *arguments, threads=0):
        job = self.native.job(name, self.handle, *arguments, threads=threads)
        self.jobs.append(job)
        return job

    def memcpy_beside(self, job):
        """memcpy by one thread between the arrays of a copy of the library, on the host or a CPU device."""
        self.jobs.append(self.native.job("memcpy_beside", job.handle))
        return self.jobs[-1]

    def check(self, what, address=None):
        """Compares these bytes, or those of the destination, with the elements of the layout."""
        if self.native.call("array_check", self.handle, address or self.destination, STRIDED):
            raise WrongResult(f"{what}: {self.native.message()}")

    def clear(self):
        ctypes.memset(self.destination, 0xEE, self.layout.bytes)


class Layout:
    """Strides in bytes into a source of `source_bytes`."""

    def __init__(self, name, shape, strides, item_size, offset=0, source_bytes=None):
        self.name, self.shape, self.strides = name, tuple(shape), tuple(strides)
        self.item_size, self.offset = item_size, offset
        self.bytes = math.prod(self.shape) * item_size
        self.source_bytes = source_bytes or self.bytes
