"""Rules D8, O2 and O7 on PoCL: what DLPack has no place for can be read from the object beside it."""

import numpy
import pyopencl
import pyopencl.array
import pytest

import dlpack_structs as dl
from peers.fixtures import first_devices, new_queue

pytestmark = pytest.mark.needs("opencl")


@pytest.fixture(scope="module")
def queue():
    return new_queue(first_devices())


@pytest.fixture
def array(queue):
    return pyopencl.array.to_device(queue, numpy.arange(24, dtype="<f4").reshape(4, 6))


@pytest.fixture
def view(bi, array):
    return bi.buffer_interface(array)


def test_O7_context_is_an_int_on_the_object(view, queue):
    assert view.context == queue.context.int_ptr
    assert type(view.context) is int
    assert view[1:].context == view.context


def test_O7_queue_is_an_int_while_work_is_pending(view, queue):
    view.fill(2)
    assert view.stream == queue.int_ptr
    assert type(view.stream) is int
    view.synchronize()
    assert view.stream is None


def test_O7_device_is_platform_and_ordinal(view):
    assert type(view.device) is tuple and len(view.device) == 2
    assert view.backend == "opencl"


def test_O7_place_of_our_own_memory(bi, pocl):
    own = bi.empty((4,), "<f4", device=pocl)
    assert own.context and own.buffer.int_ptr
    assert pyopencl.MemoryObject.from_int_ptr(own.buffer.int_ptr, retain=True).size >= 16


def test_O7_dlpack_beside_the_object_is_enough(view, array, queue):
    """A consumer that has the object as well as the tensor can work on the memory, in its context, behind its work."""
    view.fill(5)
    taken = dl.take(view[1:].__dlpack__(max_version=(1, 3)))
    assert (taken.tensor.data, taken.tensor.byte_offset) == (array.base_data.int_ptr, 24)
    buffer = pyopencl.Buffer.from_int_ptr(taken.tensor.data, retain=True)
    consumer = pyopencl.CommandQueue(pyopencl.Context.from_int_ptr(view.context, retain=True))
    view.synchronize()
    out = numpy.empty(18, "<f4")
    pyopencl.enqueue_copy(consumer, out, buffer, src_offset=taken.tensor.byte_offset)
    assert (out == 5).all()
    taken.delete()


def test_D8_data_is_the_cl_mem_and_byte_offset_counts_in_it(view, array):
    taken = dl.take(view[2:, 1:].__dlpack__(max_version=(1, 3)))
    tensor = taken.tensor
    assert tensor.device.device_type == dl.OPENCL
    assert tensor.data == array.base_data.int_ptr
    assert tensor.byte_offset == 2 * 24 + 4
    assert tensor.strides_tuple() == (6, 1)
    taken.delete()


def test_O2_view_of_a_view_is_the_root_and_a_sum(view, array):
    inner = view[1:][1:, 2:][::-1]
    assert inner.buffer.int_ptr == array.base_data.int_ptr
    assert inner.offset == 3 * 24 + 8
    assert inner.strides == (-24, 4)


def test_O2_sub_buffer_is_its_root(bi, queue):
    root = pyopencl.Buffer(queue.context, pyopencl.mem_flags.READ_WRITE, 4096)
    part = root[1024:2048]
    view = bi.buffer_interface(part)
    assert (view.buffer.int_ptr, view.offset) == (root.int_ptr, 1024)
    assert (view[10:].offset, view.nbytes) == (1034, 1024)


def test_O4_array_with_an_offset_of_its_own(bi, array, queue):
    part = array[2:, 1:]
    view = bi.buffer_interface(part)
    assert (view.buffer.int_ptr, view.offset) == (array.base_data.int_ptr, part.offset)
    assert bytes(view.to("host")) == array.get(queue)[2:, 1:].tobytes()


def test_O4_negative_strides_begin_at_the_last_element(bi, queue):
    numbers = numpy.arange(32, dtype="<f4")
    view = bi.buffer_interface(pyopencl.array.to_device(queue, numbers)[::-1])
    assert (view.offset, view.strides) == (124, (-4,))
    assert bytes(view.to("host")) == numbers[::-1].tobytes()
