"""What a library in Python needs for the exchange structure of docs/specification.md, wherever its memory is.

A producer derives from Export, and passes its type to install(). A consumer derives from Lease, and calls check() and
read_type(). The module imports NumPy only. BufferError names the rule.
"""

import ctypes
import itertools
import json
import math
import os
import sys

import numpy as np

VERSION, SIZE_MAX, INT64_MAX = 0x00000002, 4096, 2**63 - 1
READONLY, C_CONTIGUOUS, F_CONTIGUOUS, READY = 1, 0x10000, 0x20000, 1
DESCRIBED = 3
MEMBERS = (
    "I version I struct_size P release P done P owner P descr P shape P strides Q handle Q offset Q size Q context Q stream Q event "
    "I flags i device_type i device_id I item_size B type_code B type_bits H type_lanes B ndim B handle_kind B order_kind B reserved"
).split()
TYPES = {"I": ctypes.c_uint32, "i": ctypes.c_int32, "Q": ctypes.c_uint64, "P": ctypes.c_void_p, "B": ctypes.c_uint8, "H": ctypes.c_uint16}
CODES = {"i": (0, (1, 2, 4, 8)), "u": (1, (1, 2, 4, 8)), "f": (2, (2, 4, 8)), "c": (5, (8, 16)), "b": (6, (1,))}
KINDS = {code: (kind, sizes) for kind, (code, sizes) in CODES.items()}


class Exchange(ctypes.Structure):
    """The structure of section 4."""

    _fields_ = [(name, TYPES[kind]) for kind, name in zip(MEMBERS[::2], MEMBERS[1::2])]


Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Done = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64)
Acquire = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_uint32, ctypes.c_void_p)


class Table(ctypes.Structure):
    """The table of section 5."""

    _fields_ = [("version", ctypes.c_uint32), ("struct_size", ctypes.c_uint32), ("acquire", Acquire)]


# The producer


def is_described(dtype):
    """Returns True if the type has a name of section 3."""
    if dtype.fields:
        return all(is_described(dtype[name].base) for name in dtype.names)
    return dtype.kind in "iufcbSUV"


class Export:
    """Keeps what a structure points to. A library adds ORDER (its order_kind), Error (what its calls raise), and three methods:

    place(x)                     writes handle, offset, size and what belongs to them
    order(x, is_ready)           names the order of the work; with `is_ready` waits for it instead
    hand_back(stream, event)     orders later work after a consumer's, without waiting
    """

    def __init__(self, array):
        self.array, self.process = array, os.getpid()
        self.shape, self.strides = ((ctypes.c_int64 * len(n))(*n) for n in (array.shape, array.strides))

    def scalar(self):
        """Returns (type, count) of the lanes of an element."""
        return self.array.dtype, 1

    def contiguity(self):
        """Returns whether the elements follow each other by rows, and by columns."""
        return self.array.flags["C_CONTIGUOUS"], self.array.flags["F_CONTIGUOUS"]

    def describe_type(self, x):
        dtype, (scalar, lanes) = self.array.dtype, self.scalar()
        code, sizes = CODES.get(scalar.kind, (None, ()))
        x.item_size = dtype.itemsize
        if scalar.isnative and scalar.itemsize in sizes:
            x.type_code, x.type_bits, x.type_lanes = code, 8 if code == 6 else 8 * scalar.itemsize, lanes
        elif dtype.subdtype is None and is_described(dtype):
            self.descr = json.dumps(dtype.descr if dtype.fields else dtype.str).encode()
            x.type_code, x.type_bits, x.type_lanes = DESCRIBED, 8, x.item_size if x.item_size < 65536 else 0
            x.descr = ctypes.cast(ctypes.c_char_p(self.descr), ctypes.c_void_p)
        else:
            raise BufferError(f"elements of type {dtype} are not exchanged [B-25]")

    def describe(self, x):
        x.shape, x.strides, x.ndim = ctypes.addressof(self.shape), ctypes.addressof(self.strides), len(self.shape)
        is_c, is_f = self.contiguity()
        x.flags = (C_CONTIGUOUS if is_c else 0) | (F_CONTIGUOUS if is_f else 0)
        self.describe_type(x)
        self.place(x)


exports, numbers = {}, itertools.count(1)  # each Export by the number in `owner`


@Release
def release(address):
    x = Exchange.from_address(address)
    x.release = None
    del exports[x.owner]


@Done
def done(address, order_kind, stream, event):
    export = exports[Exchange.from_address(address).owner]
    if order_kind != export.ORDER or not (stream or event) or os.getpid() != export.process:
        return -1
    try:
        export.hand_back(stream, event)
    except Exception:  # the caller is C, and gets no exception
        return -1
    return 0


for function in (release, done):  # a structure may outlive this module (B-41), so neither callback is ever freed
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(function))


def fill(make, array, address, wishes):
    """Writes the structure at `address`. `make` is a type of Export."""
    out = Exchange.from_address(address)
    size = out.struct_size
    if out.version != VERSION or not ctypes.sizeof(Exchange) <= size <= SIZE_MAX:
        raise BufferError(f"version {out.version:#x} with {size} bytes is not {VERSION:#x} with {ctypes.sizeof(Exchange)} bytes [B-7]")
    if wishes & 0xFFFF & ~READY:
        raise BufferError(f"the wishes {wishes:#x} contain an unknown demand [B-48]")
    export, number, x = make(array), next(numbers), Exchange(version=VERSION, struct_size=size, owner=0)
    export.describe(x)
    export.order(x, wishes & READY)
    exports[number] = export
    x.owner, x.release, x.done = number, ctypes.cast(release, ctypes.c_void_p), ctypes.cast(done, ctypes.c_void_p)
    ctypes.memset(address, 0, size)
    ctypes.memmove(address, ctypes.addressof(x), ctypes.sizeof(x))


name_of_capsule = b"buffer_interface.c_api"
new_capsule, get_pointer = ctypes.pythonapi.PyCapsule_New, ctypes.pythonapi.PyCapsule_GetPointer
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
tables = []  # live as long as the process


def install(kind, make, acquire):
    """Makes the type `kind` a producer. `acquire` is the address of adopt_acquire of acquire.c."""
    tables.append(Table(VERSION, ctypes.sizeof(Table), Acquire(acquire)))
    kind._fill_exchange = lambda array, address, wishes: fill(make, array, address, wishes)
    kind.__buffer_interface_c__ = new_capsule(ctypes.addressof(tables[-1]), name_of_capsule, None)


# The consumer


def require(condition, what):
    if not condition:
        raise BufferError(what)


def check(x, order_kind):
    """The check of section 9 for memory of a device with this kind of order, without the kind of handle and the flags of
    contiguity. Returns shape and strides."""
    require(x.version == VERSION and ctypes.sizeof(x) <= x.struct_size <= SIZE_MAX, f"version {x.version:#x} or size {x.struct_size} [B-9]")
    require(x.release, "the structure was released [B-39]")
    require(not (x.flags & 0xFFFF or x.reserved), "the array is read-only, or has an unknown flag [B-11]")
    require(x.device_id >= 0, f"device_id is {x.device_id} [B-23]")
    is_ordered = bool(x.stream or x.event)
    require(x.order_kind == is_ordered * order_kind and (x.stream or x.done or not x.event), "order_kind, stream, event and done [B-32]")
    require(x.ndim <= 64 and (not x.ndim or x.shape and x.strides) and x.handle + x.size < 2**64, "ndim, shape, strides or size [B-14]")
    shape, strides = (tuple((ctypes.c_int64 * x.ndim).from_address(at)) if x.ndim else () for at in (x.shape, x.strides))
    require(all(extent >= 0 for extent in shape), f"the shape {shape} has a negative extent [B-15]")
    if 0 not in shape:
        reaches = [(extent - 1) * stride for extent, stride in zip(shape, strides)]
        below, above = -sum(reach for reach in reaches if reach < 0), sum(reach for reach in reaches if reach > 0)
        require(max(below, above, math.prod(shape)) <= INT64_MAX, "the elements are too many, or reach too far [B-16]")
        is_inside = below <= x.offset <= INT64_MAX and x.offset + above + x.item_size <= x.size
        require((x.handle or not (below or above or x.item_size)) and is_inside, "an element lies outside of the memory [B-17]")
    return shape, strides


def read_type(x, vectors=()):
    """Returns the type of NumPy. `vectors` has those of more than one lane, by type and lanes."""
    require((x.type_code == DESCRIBED) == bool(x.descr), "the type has no name, or two [B-26]")
    if x.descr:
        dtype = np.lib.format.descr_to_dtype(json.loads(ctypes.string_at(x.descr)))
        require(x.type_bits == 8 and x.type_lanes == (x.item_size if x.item_size < 65536 else 0), "lanes or bits [B-26]")
    else:
        kind, sizes = KINDS.get(x.type_code, ("", ()))
        require(x.type_bits % 8 == 0 and x.type_bits // 8 in sizes, f"no type with code {x.type_code} and {x.type_bits} bits [B-25]")
        dtype = np.dtype(f"{kind}{x.type_bits // 8}")
        require(x.type_lanes == 1 or (dtype, x.type_lanes) in vectors, f"there are no vectors of {x.type_lanes} lanes")
        dtype = dtype if x.type_lanes == 1 else vectors[dtype, x.type_lanes]
    require(dtype.itemsize == x.item_size, f"item_size {x.item_size} does not go with {dtype} [B-27]")
    return dtype


class Lease:
    """Holds a structure of another producer. When it ends, the memory is handed back and released.

    A library adds the method hand_back(). `is_used` is True once work may have been enqueued.
    """

    is_used = False

    def __init__(self, producer):
        capsule = getattr(type(producer), "__buffer_interface_c__", None)
        require(capsule is not None, f"{type(producer).__name__} has no __buffer_interface_c__")
        address = get_pointer(capsule, name_of_capsule)
        version, size = (ctypes.c_uint32 * 2).from_address(address)
        require(version == VERSION and size >= ctypes.sizeof(Table), f"version {version:#x} of __buffer_interface_c__ is not known [B-45]")
        self.x, self.process = Exchange(version=VERSION, struct_size=ctypes.sizeof(Exchange)), os.getpid()
        Table.from_address(address).acquire(producer, 0, ctypes.addressof(self.x))

    def done(self, order_kind, stream, event):
        """Calls the producer's function. Returns False if there is none, or if it cannot follow."""
        return bool(self.x.done) and Done(self.x.done)(ctypes.addressof(self.x), order_kind, stream, event) == 0

    def __del__(self):
        if not getattr(self, "x", None) or not self.x.release or sys.is_finalizing() or os.getpid() != self.process:
            return
        try:
            if self.is_used:
                self.hand_back()
        finally:
            Release(self.x.release)(ctypes.addressof(self.x))
