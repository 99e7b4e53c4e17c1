"""Arrays of pyopencl over memory of a BufferInterface."""

from ._core import InvalidArrayError, UnsupportedError, buffer_interface


def _check_queue(queue):
    from pyopencl import CommandQueue

    if not isinstance(queue, CommandQueue):
        raise TypeError(f"queue is of type {type(queue).__name__}, not a pyopencl.CommandQueue")


def _check(view, queue):
    if view.backend != "opencl":
        raise UnsupportedError(f"the array is in {view.backend} memory, not in OpenCL memory; to('opencl') copies it there")
    if view.mask is not None:
        raise UnsupportedError("the array is masked, and pyopencl has no masks: pass .mask separately")
    if view.readonly:
        raise UnsupportedError("the array is read-only, and pyopencl has no read-only arrays: use a copy()")
    if not hasattr(view.buffer, "int_ptr"):
        raise UnsupportedError("the array is in shared virtual memory, which has an address and no cl_mem: use a copy()")
    if view.context != queue.context.int_ptr:
        raise InvalidArrayError(
            f"the queue belongs to cl_context 0x{queue.context.int_ptr:x}, the array to 0x{view.context:x} [O6]"
        )


def _element_type(view):
    """Returns the dtype for pyopencl. For vectors this is a type of pyopencl."""
    dtype = view.dtype
    if dtype.subdtype is None:
        return dtype
    from pyopencl import cltypes

    scalar, (lanes,) = dtype.subdtype
    if (scalar, lanes) not in cltypes.vec_types:
        raise UnsupportedError(f"pyopencl has no vector of {lanes} elements of type {scalar}")
    return cltypes.vec_types[scalar, lanes]


def _memory(handle):
    """Returns a pyopencl buffer that keeps the memory, so that the producer does not reuse the memory."""
    from pyopencl import Buffer

    if not handle.int_ptr:
        return None
    buffer = Buffer.from_int_ptr(handle.int_ptr, retain=True)
    buffer.buffer_interface = handle
    return buffer


def pyopencl_array(array, queue):
    """Returns a pyopencl.array.Array over an array in OpenCL memory, without a copy.

    `array` is a BufferInterface, or any array that buffer_interface() imports. Work enqueued on `queue` from now on waits
    for the work that is pending on the memory. After the work of pyopencl is enqueued, call
    `hand_back(queue)` of the BufferInterface before other code uses the memory.

    The memory lives as long as `base_data` of the result, even if the BufferInterface is released before.

    UnsupportedError: the memory is not OpenCL's, the array is read-only or masked, or pyopencl does not have its element
    type. Shared virtual memory has no cl_mem, so it is refused too. InvalidArrayError: the queue belongs to another cl_context.
    """
    from pyopencl.array import Array

    _check_queue(queue)
    view = buffer_interface(array)
    _check(view, queue)
    dtype = _element_type(view)
    view.acquire(queue)
    return Array(queue, view.shape, dtype, strides=view.strides, data=_memory(view.buffer), offset=view.offset)
