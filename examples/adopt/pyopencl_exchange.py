"""Makes pyopencl.array.Array a producer and a consumer of the exchange structure of docs/specification.md.

It uses nothing of this library. install() takes the address of adopt_acquire of acquire.c, and sets Array.__buffer_interface_c__.

- Producer: the home stream is the queue of the array, on which pyopencl enqueues its work. `done` enqueues a barrier there.
- Consumer: from_buffer_interface() makes an Array that works on the caller's queue, and hand_back() ends its use.

Refused: arrays without a queue, shared virtual memory, and types that pyopencl does not have. BufferError names the rule.
"""

import ctypes
import itertools
import json
import os
import sys

import numpy as np
import pyopencl as cl
import pyopencl.cltypes
from pyopencl.array import Array

VERSION, SIZE_MAX, INT64_MAX = 0x00000002, 4096, 2**63 - 1
READONLY, C_CONTIGUOUS, F_CONTIGUOUS, READY = 1, 0x10000, 0x20000, 1
OPENCL_DEVICE, CL_MEM, OPENCL_ORDER, DESCRIBED = 4, 3, 3, 3
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


def follow(queue, events):
    """Orders later work on `queue` after `events`, also if it is out of order. Waits for nothing. Returns an event."""
    barrier = cl.enqueue_barrier(queue, wait_for=events)
    queue.flush()
    return barrier


def mark(queue):
    """Returns an event of all work that the queue has now."""
    marker = cl.enqueue_marker(queue)
    queue.flush()
    return marker


# The producer


def is_described(dtype):
    """Returns True if the type has a name of section 3."""
    if dtype.fields:
        return all(is_described(dtype[name].base) for name in dtype.names)
    return dtype.kind in "iufcbSUV"


class Export:
    """Keeps what a structure points to. `queue` is the one that was named, whatever becomes of the attribute."""

    def __init__(self, array):
        self.array, self.queue, self.base, self.process = array, array.queue, array.base_data, os.getpid()
        self.shape, self.strides = ((ctypes.c_int64 * len(n))(*n) for n in (array.shape, array.strides))

    def describe_type(self, x):
        dtype, lanes = self.array.dtype, 1
        scalar, count = cl.cltypes.vec_type_to_scalar_and_count.get(dtype, (dtype, 1))
        if scalar.itemsize * count == dtype.itemsize:  # not the vectors of 3, which have a gap
            dtype, lanes = scalar, count
        code, sizes = CODES.get(dtype.kind, (None, ()))
        x.item_size = self.array.dtype.itemsize
        if dtype.isnative and dtype.itemsize in sizes:
            x.type_code, x.type_bits, x.type_lanes = code, 8 if code == 6 else 8 * dtype.itemsize, lanes
        elif dtype.subdtype is None and is_described(dtype):
            self.descr = json.dumps(dtype.descr if dtype.fields else dtype.str).encode()
            x.type_code, x.type_bits, x.type_lanes = DESCRIBED, 8, x.item_size if x.item_size < 65536 else 0
            x.descr = ctypes.cast(ctypes.c_char_p(self.descr), ctypes.c_void_p)
        else:
            raise BufferError(f"elements of type {dtype} are not exchanged [B-25]")

    def describe_memory(self, x):
        if not self.array.size:
            return
        if not isinstance(self.base, cl.MemoryObjectHolder):
            raise BufferError("the array is in shared virtual memory; only a cl_mem is exchanged")
        root, origin = self.base, 0
        if (parent := self.base.get_info(cl.mem_info.ASSOCIATED_MEMOBJECT)) is not None:
            root, origin = parent, self.base.get_info(cl.mem_info.OFFSET)
        x.handle, x.offset, x.size = root.int_ptr, origin + self.array.offset, root.get_info(cl.mem_info.SIZE)
        x.flags |= READONLY if root.get_info(cl.mem_info.FLAGS) & cl.mem_flags.READ_ONLY else 0

    def describe(self, x):
        x.shape, x.strides, x.ndim = ctypes.addressof(self.shape), ctypes.addressof(self.strides), len(self.shape)
        flags, context = self.array.flags, self.queue.context
        x.flags = (C_CONTIGUOUS if flags.c_contiguous else 0) | (F_CONTIGUOUS if flags.f_contiguous else 0)
        self.describe_type(x)
        self.describe_memory(x)
        x.device_type, x.handle_kind, x.context = OPENCL_DEVICE, CL_MEM, context.int_ptr
        x.device_id = context.devices.index(self.queue.device)

    def order(self, x, is_ready):
        if self.array.events:
            follow(self.queue, [*self.array.events])
        if is_ready:
            self.queue.finish()
        else:
            x.order_kind, x.stream = OPENCL_ORDER, self.queue.int_ptr

    def hand_back(self, stream, event):
        if not event and stream == self.queue.int_ptr:
            return self.queue.flush()
        end = cl.Event.from_int_ptr(event) if event else mark(cl.CommandQueue.from_int_ptr(stream))
        events = self.array.events
        events.append(follow(self.queue, [end]))  # add_event() may wait
        while len(events) > 12 and events[0].command_execution_status == cl.command_execution_status.COMPLETE:
            del events[0]


exports, numbers = {}, itertools.count(1)  # each Export by the number in `owner`


@Release
def release(address):
    x = Exchange.from_address(address)
    x.release = None
    del exports[x.owner]


@Done
def done(address, order_kind, stream, event):
    export = exports[Exchange.from_address(address).owner]
    if order_kind != OPENCL_ORDER or not (stream or event) or os.getpid() != export.process:
        return -1
    try:
        export.hand_back(stream, event)
    except cl.Error:
        return -1
    return 0


def fill(array, address, wishes):
    """The method Array._fill_exchange: writes the structure at `address`."""
    out = Exchange.from_address(address)
    size = out.struct_size
    if out.version != VERSION or not ctypes.sizeof(Exchange) <= size <= SIZE_MAX:
        raise BufferError(f"version {out.version:#x} with {size} bytes is not {VERSION:#x} with {ctypes.sizeof(Exchange)} bytes [B-7]")
    if wishes & 0xFFFF & ~READY:
        raise BufferError(f"the wishes {wishes:#x} contain an unknown demand [B-48]")
    if array.queue is None:
        raise BufferError("the array has no queue: use with_queue(queue)")
    export, number, x = Export(array), next(numbers), Exchange(version=VERSION, struct_size=size, owner=0)
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


def install(acquire):
    """Makes Array a producer. `acquire` is the address of adopt_acquire."""
    tables.append(Table(VERSION, ctypes.sizeof(Table), Acquire(acquire)))
    Array._fill_exchange = fill
    Array.__buffer_interface_c__ = new_capsule(ctypes.addressof(tables[-1]), name_of_capsule, None)


# The consumer


def require(condition, what):
    if not condition:
        raise BufferError(what)


def check(x, context):
    """The check of section 9, without the flags of contiguity, which are not used here. Returns shape and strides."""
    require(x.version == VERSION and ctypes.sizeof(x) <= x.struct_size <= SIZE_MAX, f"version {x.version:#x} or size {x.struct_size} [B-9]")
    require(not (x.flags & 0xFFFF or x.reserved) and x.device_id >= 0, "read-only, which pyopencl does not have, or an unknown flag [B-11]")
    place = x.handle_kind, x.device_type
    require(place == (CL_MEM, OPENCL_DEVICE), f"handle_kind {place[0]} on device_type {place[1]} is not a cl_mem [B-21]")
    require(x.context == context.int_ptr, f"the array belongs to cl_context {x.context:#x}, the queue to {context.int_ptr:#x}")
    is_ordered = bool(x.stream or x.event)
    require(x.order_kind == is_ordered * OPENCL_ORDER and (x.stream or x.done or not x.event), "order_kind, stream, event and done [B-32]")
    require(x.ndim <= 64 and (not x.ndim or x.shape and x.strides) and x.handle + x.size < 2**64, "ndim, shape, strides or size [B-14]")
    shape, strides = (tuple((ctypes.c_int64 * x.ndim).from_address(at)) if x.ndim else () for at in (x.shape, x.strides))
    require(all(extent >= 0 for extent in shape), f"the shape {shape} has a negative extent [B-15]")
    if 0 not in shape:
        reaches = [(extent - 1) * stride for extent, stride in zip(shape, strides)]
        below, above = -sum(reach for reach in reaches if reach < 0), sum(reach for reach in reaches if reach > 0)
        require(max(below, above, np.prod(shape, dtype=object)) <= INT64_MAX, "the elements are too many, or reach too far [B-16]")
        is_inside = below <= x.offset <= INT64_MAX and x.offset + above + x.item_size <= x.size
        require(x.handle and is_inside, "an element lies outside of the memory [B-17]")
    return shape, strides


def read_type(x):
    require((x.type_code == DESCRIBED) == bool(x.descr), "the type has no name, or two [B-26]")
    if x.descr:
        dtype = np.lib.format.descr_to_dtype(json.loads(ctypes.string_at(x.descr)))
        require(x.type_bits == 8 and x.type_lanes == (x.item_size if x.item_size < 65536 else 0), "lanes or bits [B-26]")
    else:
        kind, sizes = KINDS.get(x.type_code, ("", ()))
        require(x.type_bits % 8 == 0 and x.type_bits // 8 in sizes, f"no type with code {x.type_code} and {x.type_bits} bits [B-25]")
        dtype = np.dtype(f"{kind}{x.type_bits // 8}")
        dtype = dtype if x.type_lanes == 1 else cl.cltypes.vec_types.get((dtype, x.type_lanes))
        require(dtype is not None, f"pyopencl has no vectors of {x.type_lanes} lanes")
    require(dtype.itemsize == x.item_size, f"item_size {x.item_size} does not go with {dtype} [B-27]")
    return dtype


class Lease:
    """Holds a structure of another producer. When it ends, the memory is handed back and released."""

    queue = None

    def __init__(self, producer):
        capsule = getattr(type(producer), "__buffer_interface_c__", None)
        require(capsule is not None, f"{type(producer).__name__} has no __buffer_interface_c__")
        address = get_pointer(capsule, name_of_capsule)
        version, size = (ctypes.c_uint32 * 2).from_address(address)
        require(version == VERSION and size >= ctypes.sizeof(Table), f"version {version:#x} of __buffer_interface_c__ is not known [B-45]")
        self.x, self.process = Exchange(version=VERSION, struct_size=ctypes.sizeof(Exchange)), os.getpid()
        Table.from_address(address).acquire(producer, 0, ctypes.addressof(self.x))

    def wait_for_producer(self, queue):
        """Makes the queue wait for the array, on the device. Returns the events to wait for on other queues."""
        self.queue = queue
        if not self.x.order_kind or self.x.stream == queue.int_ptr:
            return []
        event = self.x.event
        return [follow(queue, [cl.Event.from_int_ptr(event) if event else mark(cl.CommandQueue.from_int_ptr(self.x.stream))])]

    def hand_back(self):
        """The three ways of B-35."""
        if self.x.done and Done(self.x.done)(ctypes.addressof(self.x), OPENCL_ORDER, self.queue.int_ptr, 0) == 0:
            return
        if not self.x.stream:
            self.queue.finish()
        elif self.x.stream != self.queue.int_ptr:
            follow(cl.CommandQueue.from_int_ptr(self.x.stream), [mark(self.queue)])
        else:
            self.queue.flush()

    def __del__(self):
        if not getattr(self, "x", None) or not self.x.release or sys.is_finalizing() or os.getpid() != self.process:
            return
        try:
            if self.queue is not None:
                self.hand_back()
        finally:
            Release(self.x.release)(ctypes.addressof(self.x))


def from_buffer_interface(producer, queue):
    """Returns an Array over the memory of `producer`, without a copy. Later work on `queue` waits for the producer's work.

    The memory is released with the last Array over it. Call hand_back() before the producer uses the memory again.
    BufferError: the memory is not a cl_mem of the queue's context, is read-only, or has a type that pyopencl does not have.
    """
    lease = Lease(producer)
    shape, strides = check(lease.x, queue.context)
    dtype = read_type(lease.x)
    base = None
    if 0 not in shape:
        base = cl.Buffer.from_int_ptr(lease.x.handle, retain=True)
        base.lease = lease
    events = lease.wait_for_producer(queue)
    return Array(queue, shape, dtype, data=base, offset=lease.x.offset if base else 0, strides=strides, events=events)


def hand_back(array):
    """Orders the work that `array.queue` and `array.events` have now before later work of the producer. Waits for nothing
    if the producer has `done` or names a queue."""
    if array.base_data is None:
        return
    lease = array.base_data.lease
    if array.events:
        follow(lease.queue, array.events)
    if array.queue != lease.queue:
        follow(lease.queue, [mark(array.queue)])
    lease.hand_back()
