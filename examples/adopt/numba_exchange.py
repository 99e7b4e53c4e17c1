"""Makes the arrays of numba.cuda producers and consumers of the exchange structure of docs/specification.md.

install() takes the address of adopt_acquire of acquire.c, and sets __buffer_interface_c__ of DeviceNDArray and of managed arrays.

- Producer: the home stream is the stream of the array, as in __cuda_array_interface__; without one it is the default stream,
  which is ordered with all streams that Numba makes. `done` makes the home stream wait for the consumer.
- Consumer: from_buffer_interface() makes a DeviceNDArray that works on the caller's stream, and hand_back() ends its use.

Refused: mapped arrays, which are memory of the host, and types that Numba does not have. BufferError names the rule. The module
is written for Numba's own bindings of the driver, not for those of cuda-python (NUMBA_CUDA_USE_NVIDIA_BINDING).
"""

import exchange_structure as structure
from exchange_structure import exports, read_type, require  # noqa: F401
from numba import cuda
from numba.core.errors import NumbaError
from numba.cuda.cudadrv import devicearray, devices, driver
from numba.np import numpy_support

CUDA_ORDER, CUDA_MEMORY, CUDA_DEVICE, MANAGED, LEGACY, PER_THREAD = 1, 2, 2, 13, 1, 2


def number(stream):
    """Returns the number of a stream of Numba in the structure; its default stream is CUDA's legacy one."""
    return int(stream) or LEGACY


def ended(context, stream):
    """Returns an event of all work that the stream has now. `stream` is one of Numba, or a number."""
    event = context.create_event(timing=False)
    event.record(context.create_external_stream(stream) if isinstance(stream, int) else stream)
    return event


# The producer


class Export(structure.Export):
    """Its functions are called on any thread, and leave the current context as it was."""

    ORDER, Error = CUDA_ORDER, driver.CudaDriverError

    def __init__(self, array):
        super().__init__(array)
        self.context = array.gpu_data.context
        self.stream = array.stream or self.context.get_legacy_default_stream()
        require(number(self.stream) != PER_THREAD, "the per-thread default stream has no name [B-32]")

    def entered(self):
        return cuda.gpus[self.context.device.id]

    def place(self, x):
        is_managed = isinstance(self.array, devicearray.ManagedNDArray)
        x.handle_kind, x.device_type, x.device_id = CUDA_MEMORY, MANAGED if is_managed else CUDA_DEVICE, self.context.device.id
        if self.array.size:
            with self.entered():
                first, end = driver.device_extents(self.array)
            x.handle, x.size, x.offset = first, end - first, self.array.device_ctypes_pointer.value - first

    def order(self, x, is_ready):
        if is_ready:
            with self.entered():
                self.stream.synchronize()
        else:
            x.order_kind, x.stream = CUDA_ORDER, number(self.stream)

    def hand_back(self, stream, event):
        with self.entered():
            end = driver.Event(self.context, driver.drvapi.cu_event(event)) if event else ended(self.context, stream)
            end.wait(self.stream)


def install(acquire):
    """Makes the arrays producers. `acquire` is the address of adopt_acquire."""
    for kind in (devicearray.DeviceNDArray, devicearray.ManagedNDArray):
        structure.install(kind, Export, acquire)


# The consumer


def check(x, context):
    """Returns shape and strides."""
    layout = structure.check(x, CUDA_ORDER)
    place = x.handle_kind, x.device_type
    require(place in ((CUDA_MEMORY, CUDA_DEVICE), (CUDA_MEMORY, MANAGED)), f"handle_kind {place[0]} on device_type {place[1]} is not CUDA's [B-21]")
    require(x.device_id == context.device.id, f"the array is on device {x.device_id}, the current one is {context.device.id} [B-23]")
    require(x.context in (0, context.handle.value), f"the array belongs to another CUcontext, {x.context:#x}")
    require(not (x.stream == PER_THREAD), "the per-thread default stream is named [B-32]")
    return layout


class Lease(structure.Lease):
    """The owner of the memory of a DeviceNDArray."""

    def wait_for_producer(self, context, stream):
        """Makes the stream wait for the array, on the device."""
        self.context, self.stream, self.is_used = context, stream, True
        if self.x.event:
            driver.Event(context, driver.drvapi.cu_event(self.x.event)).wait(stream)
        elif self.x.order_kind and self.x.stream != number(stream):
            ended(context, self.x.stream).wait(stream)

    def hand_back(self):
        """The three ways of B-35."""
        with cuda.gpus[self.context.device.id]:
            end = ended(self.context, self.stream)
            if self.done(CUDA_ORDER, 0, end.handle.value):
                return
            if self.x.stream:
                end.wait(self.context.create_external_stream(self.x.stream))
            else:
                end.synchronize()


@devices.require_context
def from_buffer_interface(producer, stream=None):
    """Returns a DeviceNDArray over the memory of `producer`, without a copy. Later work on `stream`, or on the default stream,
    waits for the producer's work.

    The memory is released with the last array over it. Call hand_back() before the producer uses the memory again.
    BufferError: the memory is not in the current CUDA context, is read-only, or has a type that Numba does not have.
    """
    lease, context = Lease(producer), cuda.current_context()
    x, stream = lease.x, stream or context.get_legacy_default_stream()
    shape, strides = check(x, context)
    dtype = read_type(x)
    try:
        numpy_support.from_dtype(dtype)
    except NumbaError:
        raise BufferError(f"Numba has no type for {dtype}") from None
    data = None
    if 0 not in shape:
        size = driver.memory_size_from_info(shape, strides, dtype.itemsize)
        data = driver.MemoryPointer(context, driver.get_devptr_for_active_ctx(x.handle + x.offset), size=size, owner=lease)
        lease.wait_for_producer(context, stream)
    return devicearray.DeviceNDArray(shape=shape, strides=strides, dtype=dtype, stream=stream, gpu_data=data)


def hand_back(array):
    """Orders the work that `array.stream` has now before later work of the producer. Waits for nothing if the producer has
    `done` or names a stream."""
    lease = array.gpu_data.owner
    if not isinstance(lease, Lease):
        return  # no elements
    if number(array.stream) != number(lease.stream):
        ended(lease.context, array.stream).wait(lease.stream)
    lease.hand_back()
