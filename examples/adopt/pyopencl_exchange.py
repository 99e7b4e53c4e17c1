"""Makes pyopencl.array.Array a producer and a consumer of the exchange structure of docs/specification.md.

install() takes the address of adopt_acquire of acquire.c, and sets Array.__buffer_interface_c__.

- Producer: the home stream is the queue of the array, on which pyopencl enqueues its work. `done` enqueues a barrier there.
- Consumer: from_buffer_interface() makes an Array that works on the caller's queue, and hand_back() ends its use.

Refused: arrays without a queue, shared virtual memory, and types that pyopencl does not have. BufferError names the rule.
"""

import exchange_structure as structure
import pyopencl as cl
import pyopencl.cltypes
from exchange_structure import READONLY, exports, read_type, require  # noqa: F401
from pyopencl.array import Array

OPENCL_DEVICE, CL_MEM, OPENCL_ORDER = 4, 3, 3


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


class Export(structure.Export):
    """`queue` is the one that was named, whatever becomes of the attribute."""

    ORDER, Error = OPENCL_ORDER, cl.Error

    def __init__(self, array):
        require(array.queue is not None, "the array has no queue: use with_queue(queue)")
        super().__init__(array)
        self.queue, self.base = array.queue, array.base_data

    def scalar(self):
        scalar, count = cl.cltypes.vec_type_to_scalar_and_count.get(self.array.dtype, (self.array.dtype, 1))
        if scalar.itemsize * count == self.array.dtype.itemsize:  # not the vectors of 3, which have a gap
            return scalar, count
        return super().scalar()

    def contiguity(self):
        flags = self.array.flags
        return flags.c_contiguous, flags.f_contiguous

    def place(self, x):
        context = self.queue.context
        x.device_type, x.handle_kind, x.context = OPENCL_DEVICE, CL_MEM, context.int_ptr
        x.device_id = context.devices.index(self.queue.device)
        if not self.array.size:
            return
        require(isinstance(self.base, cl.MemoryObjectHolder), "the array is in shared virtual memory; only a cl_mem is exchanged")
        root, origin = self.base, 0
        if (parent := self.base.get_info(cl.mem_info.ASSOCIATED_MEMOBJECT)) is not None:
            root, origin = parent, self.base.get_info(cl.mem_info.OFFSET)
        x.handle, x.offset, x.size = root.int_ptr, origin + self.array.offset, root.get_info(cl.mem_info.SIZE)
        x.flags |= READONLY if root.get_info(cl.mem_info.FLAGS) & cl.mem_flags.READ_ONLY else 0

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


def install(acquire):
    """Makes Array a producer. `acquire` is the address of adopt_acquire."""
    structure.install(Array, Export, acquire)


# The consumer


def check(x, context):
    """Returns shape and strides."""
    layout = structure.check(x, OPENCL_ORDER)
    place = x.handle_kind, x.device_type
    require(place == (CL_MEM, OPENCL_DEVICE), f"handle_kind {place[0]} on device_type {place[1]} is not a cl_mem [B-21]")
    require(x.context == context.int_ptr, f"the array belongs to cl_context {x.context:#x}, the queue to {context.int_ptr:#x}")
    return layout


class Lease(structure.Lease):
    def wait_for_producer(self, queue):
        """Makes the queue wait for the array, on the device. Returns the events to wait for on other queues."""
        self.queue, self.is_used = queue, True
        if not self.x.order_kind or self.x.stream == queue.int_ptr:
            return []
        event = self.x.event
        return [follow(queue, [cl.Event.from_int_ptr(event) if event else mark(cl.CommandQueue.from_int_ptr(self.x.stream))])]

    def hand_back(self):
        """The three ways of B-35."""
        if self.done(OPENCL_ORDER, self.queue.int_ptr, 0):
            return
        if not self.x.stream:
            self.queue.finish()
        elif self.x.stream != self.queue.int_ptr:
            follow(cl.CommandQueue.from_int_ptr(self.x.stream), [mark(self.queue)])
        else:
            self.queue.flush()


def from_buffer_interface(producer, queue):
    """Returns an Array over the memory of `producer`, without a copy. Later work on `queue` waits for the producer's work.

    The memory is released with the last Array over it. Call hand_back() before the producer uses the memory again.
    BufferError: the memory is not a cl_mem of the queue's context, is read-only, or has a type that pyopencl does not have.
    """
    lease = Lease(producer)
    shape, strides = check(lease.x, queue.context)
    dtype = read_type(lease.x, cl.cltypes.vec_types)
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
