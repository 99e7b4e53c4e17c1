"""Arrays, buffers and SVM of pyopencl, in both directions: rules O1 to O6.

pyopencl's wheel carries an OpenCL loader of its own, so every handle here crosses from one loader to another.
"""

import gc
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pyopencl as cl
import pyopencl.array
import pytest

from buffer_interface import InvalidArrayError, UnsupportedError, buffer_interface, empty, pyopencl_array, trim
from peers.fixtures import gate, new_queue, opencl_queue  # noqa: F401
from test_lifetime import comes_to

ORDERS = [np.s_[:], np.s_[::-1], np.s_[:, ::-1], np.s_[::2, 1:3], np.s_[1:, 2], np.s_[2:2], np.s_[1, 1]]


def test_an_exception_of_the_module_is_raised():
    """The type of a queue is read from the module at the first import of an array."""
    code = """
import sys, types
import buffer_interface

class Array: pass
class Memory: pass
class Queue: pass

def fail(name):
    raise KeyboardInterrupt(name)

module = types.ModuleType("pyopencl")
module.MemoryObjectHolder, module.SVMPointer, module.__getattr__ = Memory, Queue, fail
arrays = types.ModuleType("pyopencl.array")
arrays.Array = Array
sys.modules.update({"pyopencl": module, "pyopencl.array": arrays})
source = buffer_interface.zeros(3, "i4", device="opencl")
Memory.int_ptr, Queue.int_ptr = source.buffer.int_ptr, source.cl_command_queue
array = Array()
members = dict(base_data=Memory(), offset=0, shape=(3,), strides=(4,), dtype="i4", queue=Queue(), events=[])
vars(array).update(members)
try:
    buffer_interface.buffer_interface(array)
except KeyboardInterrupt as error:
    assert error.args == ("CommandQueue",)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.fixture
def numbers():
    return np.arange(12, dtype="i4").reshape(3, 4)


@pytest.fixture
def array(opencl_queue, numbers):
    return cl.array.to_device(opencl_queue, numbers)


@pytest.fixture
def buffer(opencl_queue):
    return cl.Buffer(opencl_queue.context, cl.mem_flags.READ_WRITE, 96)


@pytest.fixture
def other_queue(opencl_queue):
    """In another cl_context of the same device."""
    return new_queue(opencl_queue.context.devices)


@pytest.fixture
def enqueued_free():
    """For tests that leave shared memory to pyopencl, which frees it by clEnqueueSVMFree."""


@pytest.fixture
def allocation(opencl_queue, enqueued_free):
    flags = cl.svm_mem_flags.READ_WRITE | cl.svm_mem_flags.SVM_FINE_GRAIN_BUFFER
    return cl.SVMAllocation(opencl_queue.context, 64, 0, flags, queue=opencl_queue)


def references(memory):
    return memory.get_info(cl.mem_info.REFERENCE_COUNT)


def values(view):
    with view.map("r") as mapped:
        return np.asarray(mapped).copy()


# O1: the handle and its references


def test_O1_array_is_the_cl_mem_itself(array, opencl_queue):
    view = buffer_interface(array)
    assert (view.backend, view.shape, view.strides, view.typestr) == ("opencl", (3, 4), (16, 4), "<i4")
    assert view.buffer.int_ptr == array.base_data.int_ptr
    assert view.context == opencl_queue.context.int_ptr
    assert not view.readonly


BEFORE_THE_FIRST_USE = """
import numpy as np, pyopencl as cl, pyopencl.array
context = cl.create_some_context(interactive=False)  # Intel's queue does not keep it
queue = cl.CommandQueue(context)
array = cl.array.to_device(queue, np.arange(8, dtype="i4"))
from buffer_interface import buffer_interface
assert (buffer_interface(array).numpy() == range(8)).all()
"""


@pytest.mark.needs("opencl")
def test_O1_array_that_is_older_than_the_first_use_of_the_library():
    """PoCL 7 and the loader of the system know no object that the loader of pyopencl has made before."""
    done = subprocess.run([sys.executable, "-c", BEFORE_THE_FIRST_USE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout


def test_O1_import_is_one_reference_and_release_gives_it_back(array):
    before = references(array.base_data)
    view = buffer_interface(array)
    assert references(array.base_data) == before + 1
    part = view[1:]
    assert references(array.base_data) == before + 1
    view.release()
    view.release()
    assert references(array.base_data) == before + 1
    part.release()
    assert references(array.base_data) == before


@pytest.mark.parametrize("change", [{"strides": (4,)}, {"shape": (30, 4)}, {"offset": 8}, {"offset": -4}, {"strides": (16, 8)}])
def test_O1_refused_import_leaves_no_reference(array, change):
    for name, value in change.items():
        setattr(array, name, value)
    before = references(array.base_data), sys.getrefcount(array), sys.getrefcount(array.base_data)
    with pytest.raises(InvalidArrayError):
        buffer_interface(array)
    assert (references(array.base_data), sys.getrefcount(array), sys.getrefcount(array.base_data)) == before


def test_O1_view_outlives_the_array(numbers, opencl_queue):
    array = cl.array.to_device(opencl_queue, numbers)
    view = buffer_interface(array)
    alive = weakref.ref(array)
    del array
    gc.collect()
    assert alive() is not None
    np.testing.assert_array_equal(values(view), numbers)
    view.release()
    opencl_queue.finish()
    gc.collect()
    assert alive() is None


def test_O1_buffer_is_its_bytes(buffer):
    view = buffer_interface(buffer)
    assert (view.shape, view.typestr, view.offset) == ((96,), "|u1", 0)
    assert view.buffer.int_ptr == buffer.int_ptr


def test_O1_image_is_no_buffer(opencl_queue):
    form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNSIGNED_INT8)
    image = cl.create_image(opencl_queue.context, cl.mem_flags.READ_WRITE, form, shape=(8, 8))
    with pytest.raises(UnsupportedError, match="no buffer.*: copy its contents into a buffer"):
        buffer_interface(image)


def test_O1_pool_does_not_reuse_what_is_viewed(opencl_queue, numbers):
    pool = cl.tools.MemoryPool(cl.tools.ImmediateAllocator(opencl_queue))
    array = cl.array.to_device(opencl_queue, numbers, allocator=pool)
    view = buffer_interface(array)
    del array
    again = cl.array.zeros(opencl_queue, numbers.shape, "i4", allocator=pool)
    assert again.base_data.int_ptr != view.buffer.int_ptr
    np.testing.assert_array_equal(values(view), numbers)


# O2: sub-buffers


def test_O2_sub_buffer_is_its_root_and_an_offset(opencl_queue):
    root = cl.Buffer(opencl_queue.context, cl.mem_flags.READ_WRITE, 1024)
    view = buffer_interface(root[256:512])
    assert (view.buffer.int_ptr, view.offset, view.shape) == (root.int_ptr, 256, (256,))
    assert view[16:].offset == 272


def test_O2_array_in_a_sub_buffer(opencl_queue):
    root = cl.Buffer(opencl_queue.context, cl.mem_flags.READ_WRITE, 1024)
    array = cl.array.Array(opencl_queue, (4, 4), "f4", data=root[256:512], offset=64)
    view = buffer_interface(array)
    assert (view.buffer.int_ptr, view.offset) == (root.int_ptr, 320)


# O3: no elements


def test_O3_array_without_memory(opencl_queue):
    array = cl.array.empty(opencl_queue, (0, 3), "f4")
    assert array.base_data is None
    for one in (array, array.with_queue(None)):
        view = buffer_interface(one)
        assert (view.backend, view.shape, view.size) == ("opencl", (0, 3), 0)
        assert view.buffer.int_ptr == 0
        assert view.context == opencl_queue.context.int_ptr


def test_O3_array_without_memory_and_context(opencl_queue):
    array = cl.array.empty(opencl_queue, (0, 3), "f4").with_queue(None)
    array.context = None
    with pytest.raises(TypeError, match="a context is of type NoneType, which has no int_ptr"):
        buffer_interface(array)


def test_O3_elements_need_memory(array):
    array.base_data = None
    with pytest.raises(InvalidArrayError):
        buffer_interface(array)


def test_O3_there_and_back(opencl_queue):
    array = pyopencl_array(buffer_interface(cl.array.empty(opencl_queue, (0, 3), "f4")), opencl_queue)
    assert (array.shape, array.base_data) == ((0, 3), None)


# O4: offset and strides


@pytest.mark.parametrize("index", ORDERS)
def test_O4_base_data_and_offset(array, numbers, index):
    part = array[index]
    view = buffer_interface(part)
    assert (view.shape, view.strides, view.offset) == (part.shape, part.strides, part.offset)
    np.testing.assert_array_equal(values(view), numbers[index])


def test_O4_offset_where_data_refuses(array):
    part = array[::-1]
    with pytest.raises(cl.array.ArrayHasOffsetError):
        part.data
    assert buffer_interface(part).offset == 32


@pytest.mark.parametrize("name", ["f8", "c8", "u1", "i2", ">i4", "f2"])
def test_O4_types(opencl_queue, name):
    assert buffer_interface(cl.array.zeros(opencl_queue, 3, name)).dtype == np.dtype(name)


def test_O4_structured_type(opencl_queue):
    dtype = np.dtype([("x", "<f4"), ("n", "<i2", (2,))])
    view = buffer_interface(cl.array.Array(opencl_queue, (4,), dtype))
    assert view.dtype == dtype
    assert view["n"].shape == (4, 2)


def test_O4_subclasses_are_arrays(opencl_queue):
    class Mine(cl.array.Array):
        pass

    assert buffer_interface(Mine(opencl_queue, (2,), "f4")).shape == (2,)


@pytest.mark.parametrize("name, value", [("shape", [3, 4]), ("strides", None), ("offset", 1.5), ("queue", 7), ("base_data", 7)])
def test_O4_wrong_kinds_are_type_errors(array, name, value):
    setattr(array, name, value)
    with pytest.raises(TypeError):
        buffer_interface(array)


# O6: one cl_context


def test_O6_queue_and_memory_of_two_contexts(array, other_queue):
    array.finish()
    array.queue = other_queue
    before = references(array.base_data), sys.getrefcount(array)
    with pytest.raises(InvalidArrayError, match="another cl_context"):
        buffer_interface(array)
    assert (references(array.base_data), sys.getrefcount(array)) == before


def test_O6_producer_stream_of_another_context(array, other_queue):
    with pytest.raises(ValueError, match="context"):
        buffer_interface(array, producer_stream=other_queue)


def test_O6_pyopencl_array_with_a_queue_of_another_context(array, other_queue):
    with pytest.raises(InvalidArrayError, match="O6"):
        pyopencl_array(buffer_interface(array), other_queue)


def test_shared_virtual_memory_has_no_cl_mem_for_pyopencl_array(opencl_queue, enqueued_free):
    flags = cl.svm_mem_flags.READ_WRITE
    allocator = cl.tools.SVMAllocator(opencl_queue.context, flags=flags, queue=opencl_queue)
    view = buffer_interface(cl.array.to_device(opencl_queue, np.arange(4), allocator=allocator))
    with pytest.raises(UnsupportedError, match="no cl_mem"):
        pyopencl_array(view, opencl_queue)
    assert pyopencl_array(view.copy(), opencl_queue).get().tolist() == [0, 1, 2, 3]


# Order


def test_home_is_the_queue_of_the_array(array, opencl_queue):
    assert buffer_interface(array).stream == opencl_queue.int_ptr


def test_array_without_a_queue_is_idle(array):
    array.finish()
    assert buffer_interface(array.with_queue(None)).stream is None


def test_buffer_is_idle_unless_a_producer_stream_is_named(buffer, opencl_queue):
    assert buffer_interface(buffer).stream is None
    assert buffer_interface(buffer, producer_stream=opencl_queue).stream == opencl_queue.int_ptr


def test_producer_stream_takes_the_place_of_the_queue(array, opencl_queue):
    queue = cl.CommandQueue(opencl_queue.context)
    assert buffer_interface(array, producer_stream=queue).stream == queue.int_ptr


def test_sync_false_names_no_stream(array):
    view = buffer_interface(array, sync=False)
    assert view.stream is None
    view.fill(1)
    assert view.stream is None


def test_block_over_a_buffer_waits_at_its_end(buffer, opencl_queue, gate):
    """Nobody named a stream on which its owner could wait for us."""
    closed = gate()
    threading.Timer(0.1, closed.open).start()
    with buffer_interface(buffer) as view:
        view.hand_back(opencl_queue)
    assert closed.is_open


def test_block_over_an_array_does_not(array, opencl_queue, gate):
    closed = gate()
    with buffer_interface(array) as view:
        view.fill(1)
    assert not closed.is_open


def test_pending_work_of_the_queue_comes_first(array, numbers, opencl_queue, gate):
    closed = gate()
    array += 1
    copy = buffer_interface(array).copy()
    closed.open()
    np.testing.assert_array_equal(values(copy), numbers + 1)


def test_pending_events_come_first(numbers, opencl_queue, gate):
    """The work is on a queue that the array does not name."""
    elsewhere = cl.CommandQueue(opencl_queue.context)
    array = cl.array.to_device(opencl_queue, numbers)
    closed = gate(elsewhere)
    array.add_event(cl.enqueue_fill_buffer(elsewhere, array.base_data, np.int32(7), 0, numbers.nbytes))
    elsewhere.flush()
    copy = buffer_interface(array).copy()
    behind = cl.enqueue_marker(opencl_queue)
    opencl_queue.flush()
    time.sleep(0.05)
    assert behind.command_execution_status != cl.command_execution_status.COMPLETE
    closed.open()
    assert (values(copy) == 7).all()


def test_events_that_are_complete_are_let_go(array):
    event = array.events[-1]
    event.wait()
    before = event.get_info(cl.event_info.REFERENCE_COUNT)
    view = buffer_interface(array)
    assert event.get_info(cl.event_info.REFERENCE_COUNT) == before
    view.release()


def test_pending_events_are_let_go_with_the_array(array):
    event = cl.UserEvent(array.context)
    array.add_event(event)
    before = event.get_info(cl.event_info.REFERENCE_COUNT)
    view = buffer_interface(array)
    assert event.get_info(cl.event_info.REFERENCE_COUNT) > before
    event.set_status(cl.command_execution_status.COMPLETE)
    view.synchronize()
    view.release()
    assert comes_to(before, lambda: event.get_info(cl.event_info.REFERENCE_COUNT))


@pytest.mark.parametrize("fails_before_import", [True, False])
def test_failed_event_is_an_error_of_the_first_use(opencl_queue, fails_before_import):
    array = cl.array.zeros(opencl_queue, 4, "f4")
    event = cl.UserEvent(opencl_queue.context)
    array.add_event(event)
    if fails_before_import:
        event.set_status(-5)
    view = buffer_interface(array)
    if not fails_before_import:
        event.set_status(-5)
    with pytest.raises(RuntimeError):
        view.copy()


@pytest.fixture
def queue_references(opencl_queue):
    """A function that waits until there are so many more than now, with nothing of the queue cached."""
    trim()
    opencl_queue.finish()

    def count():
        return opencl_queue.get_info(cl.command_queue_info.REFERENCE_COUNT)

    before = None
    while before != count():  # of commands that are done, the driver lets go a little later
        before = count()
        time.sleep(0.1)
    return lambda more: comes_to(before + more, count)


def test_queue_is_held_once_however_many_views_there_are(array, queue_references):
    views = [buffer_interface(array) for _ in range(10)]
    assert queue_references(1)
    del views
    assert queue_references(1)
    trim()
    assert queue_references(0)


def test_queue_is_let_go_with_the_last_view_after_trim(array, queue_references):
    view = buffer_interface(array)
    trim()
    assert queue_references(1)
    view.release()
    assert queue_references(0)


def test_only_the_last_queue_of_a_context_is_kept(opencl_queue, array, queue_references):
    buffer_interface(array)
    other = cl.CommandQueue(opencl_queue.context)
    buffer_interface(cl.array.to_device(other, np.zeros(3)))
    assert queue_references(0)


def test_each_queue_is_known_by_its_handle(opencl_queue, array):
    other = cl.CommandQueue(opencl_queue.context)
    second = cl.array.to_device(other, np.zeros(3))
    for _ in range(3):
        assert buffer_interface(array).stream == opencl_queue.int_ptr
        assert buffer_interface(second).stream == other.int_ptr


@pytest.mark.parametrize("status", [0, 1, 3])
def test_only_complete_events_are_passed_over(array, opencl_queue, status):
    """CL_COMPLETE is 0; what is running or submitted is waited for."""
    asked = []

    class Event(cl.UserEvent):
        def get_info(self, parameter):
            assert parameter == cl.event_info.COMMAND_EXECUTION_STATUS
            asked.append("status")
            return status

        @property
        def int_ptr(self):
            asked.append("handle")
            return super().int_ptr

    event = Event(opencl_queue.context)
    event.set_status(0)
    array.add_event(event)
    values(buffer_interface(array))
    assert asked == (["status"] if status == 0 else ["status", "handle"])


def told_by_a_property(base, handle):
    class Told(base):
        @property
        def int_ptr(self):
            return handle

    return Told


def told_by_every_look_up(base, handle):
    class Told(base):
        def __getattribute__(self, name):
            return handle if name == "int_ptr" else super().__getattribute__(name)

    return Told


@pytest.mark.parametrize("tell", [told_by_a_property, told_by_every_look_up])
def test_a_handle_is_what_the_class_of_the_object_tells(opencl_queue, array, tell):
    buffer_interface(array)
    other = cl.CommandQueue(opencl_queue.context)
    array.queue = tell(cl.CommandQueue, other.int_ptr)(opencl_queue.context)
    assert buffer_interface(array).stream == other.int_ptr
    second = cl.Buffer(opencl_queue.context, cl.mem_flags.READ_WRITE, 48)
    array.base_data = tell(cl.Buffer, second.int_ptr)(opencl_queue.context, cl.mem_flags.READ_WRITE, 48)
    assert buffer_interface(array).buffer.int_ptr == second.int_ptr


def test_a_status_is_what_the_class_of_the_event_tells(opencl_queue, array):
    class Event(cl.UserEvent):
        def __getattribute__(self, name):
            return (lambda parameter: 0) if name == "get_info" else super().__getattribute__(name)

    array.add_event(Event(opencl_queue.context))
    values(buffer_interface(array))


def test_only_an_object_of_the_type_itself_has_one_handle_for_ever(opencl_queue, array):
    class Changing(cl.CommandQueue):
        @property
        def int_ptr(self):
            return handles[0]

    others = [cl.CommandQueue(opencl_queue.context) for _ in range(2)]
    handles = [others[0].int_ptr]
    second = cl.array.to_device(opencl_queue, np.zeros(3))
    second.queue = Changing(opencl_queue.context)
    for _ in range(2):
        assert buffer_interface(array).stream == opencl_queue.int_ptr
        assert buffer_interface(second).stream == others[0].int_ptr
    handles[0] = others[1].int_ptr
    assert buffer_interface(second).stream == others[1].int_ptr
    assert buffer_interface(array).stream == opencl_queue.int_ptr


def test_the_object_that_named_the_queue_is_let_go_with_it(opencl_queue):
    trim()
    queue = cl.CommandQueue(opencl_queue.context)
    array = cl.array.to_device(queue, np.zeros(3))
    count = sys.getrefcount(queue)
    for _ in range(3):
        buffer_interface(array)
        assert sys.getrefcount(queue) == count + 1
    trim()
    assert sys.getrefcount(queue) == count
    buffer_interface(array)
    buffer_interface(cl.array.to_device(opencl_queue, np.zeros(3)))
    assert sys.getrefcount(queue) == count
    assert buffer_interface(array).stream == queue.int_ptr


def test_events_may_be_in_any_sequence(opencl_queue, array):
    array.events = (cl.enqueue_marker(opencl_queue),)
    values(buffer_interface(array))
    array.events = 5
    with pytest.raises(TypeError):
        buffer_interface(array)
    array.events = [5]
    with pytest.raises(TypeError, match="^an event is of type int, which has no int_ptr$"):
        buffer_interface(array)


def test_queue_lives_as_long_as_the_view(opencl_queue, numbers):
    queue = cl.CommandQueue(opencl_queue.context)
    view = buffer_interface(cl.array.to_device(queue, numbers))
    handle = queue.int_ptr
    del queue
    gc.collect()
    assert view.stream == handle
    np.testing.assert_array_equal(values(view), numbers)


def test_out_of_order_queue(opencl_queue, numbers):
    properties = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    queue = cl.CommandQueue(opencl_queue.context, properties=properties)
    array = cl.array.to_device(queue, numbers)
    view = buffer_interface(array)
    copy = view.copy()
    view.fill(1)
    np.testing.assert_array_equal(values(copy), numbers)
    assert (values(view) == 1).all()


# SVM


def test_svm_allocation_is_its_bytes(allocation, opencl_queue):
    view = buffer_interface(allocation)
    assert (view.backend, view.shape, view.typestr) == ("opencl", (64,), "|u1")
    assert int(view.buffer) == allocation.svm_ptr
    assert view.stream == opencl_queue.int_ptr


def test_the_python_object_does_not_describe_svm(allocation):
    with pytest.raises(UnsupportedError, match="cl_mem"):
        buffer_interface(allocation).__buffer_interface__()


def test_svm_array(allocation, opencl_queue):
    array = cl.array.Array(opencl_queue, (4, 4), "i4", data=allocation)
    array.fill(3)
    assert (values(buffer_interface(array)[1:]) == 3).all()


def test_D12_svm_is_copied_to_the_host(allocation, opencl_queue):
    array = cl.array.Array(opencl_queue, (4, 4), "i4", data=allocation)
    array.fill(3)
    assert (np.from_dlpack(buffer_interface(array), device="cpu", copy=True) == 3).all()


def test_svm_is_kept(opencl_queue, allocation):
    before = sys.getrefcount(allocation)
    view = buffer_interface(allocation)
    assert sys.getrefcount(allocation) == before + 1
    view.release()
    assert sys.getrefcount(allocation) == before


def test_svm_without_a_queue(allocation, opencl_queue):
    allocation.unbind_from_queue()
    with pytest.raises(UnsupportedError, match="producer_stream"):
        buffer_interface(allocation)
    assert buffer_interface(allocation, producer_stream=opencl_queue).shape == (64,)
    allocation.bind_to_queue(opencl_queue)


def test_svm_of_host_memory_that_is_none(opencl_queue):
    memory = cl.SVM(np.zeros(16))
    with pytest.raises(InvalidArrayError, match="no SVM pointer"):
        buffer_interface(memory, producer_stream=opencl_queue)


def test_producer_stream_that_is_no_queue(allocation):
    allocation.unbind_from_queue()
    with pytest.raises(TypeError, match="int_ptr"):
        buffer_interface(allocation, producer_stream=7)


# Back: pyopencl_array


def test_back_is_the_same_memory(array, opencl_queue):
    view = buffer_interface(array)[1:, ::2]
    back = pyopencl_array(view, opencl_queue)
    assert back.base_data.int_ptr == array.base_data.int_ptr
    assert (back.shape, back.strides, back.offset, back.dtype) == ((2, 2), (16, 8), 16, array.dtype)


def test_back_counts_one_reference(array, opencl_queue):
    view = buffer_interface(array)
    before = references(array.base_data)
    back = pyopencl_array(view, opencl_queue)
    assert references(array.base_data) == before + 1
    del back
    assert references(array.base_data) == before


def test_back_keeps_the_producer(numbers, opencl_queue):
    array = cl.array.to_device(opencl_queue, numbers)
    alive = weakref.ref(array)
    view = buffer_interface(array)
    back = pyopencl_array(view, opencl_queue)[1:]
    view.release()
    del array, view
    gc.collect()
    assert alive() is not None, "a slice of the result is the memory still"
    np.testing.assert_array_equal(back.get(), numbers[1:])
    del back
    gc.collect()
    assert alive() is None


def test_back_comes_after_pending_work(array, numbers, opencl_queue, gate):
    closed = gate()
    view = buffer_interface(array)
    view.fill(5)
    queue = cl.CommandQueue(opencl_queue.context)
    back = pyopencl_array(view, queue) + 1
    closed.open()
    assert (back.get() == 6).all()


def test_work_of_pyopencl_is_handed_back(array, opencl_queue, gate):
    queue = cl.CommandQueue(opencl_queue.context)
    view = buffer_interface(array)
    back = pyopencl_array(view, queue)
    closed = gate(queue)
    back += 100
    view.hand_back(queue)
    copy = view.copy()
    closed.open()
    assert (values(copy) >= 100).all()


def test_back_over_our_own_memory(opencl_queue):
    view = empty((4, 4), "f4", device="opencl")
    context = cl.Context.from_int_ptr(view.context)
    queue = cl.CommandQueue(context)
    back = pyopencl_array(view, queue)
    back.fill(2)
    view.hand_back(queue)
    assert (values(view) == 2).all()


def test_back_takes_any_array(array, opencl_queue):
    assert pyopencl_array(array, opencl_queue).base_data.int_ptr == array.base_data.int_ptr


def test_back_refuses_host_memory(opencl_queue):
    with pytest.raises(UnsupportedError, match="host"):
        pyopencl_array(np.zeros(4), opencl_queue)


def test_back_refuses_readonly_arrays(array, opencl_queue):
    with pytest.raises(UnsupportedError, match="read-only"):
        pyopencl_array(buffer_interface(array, writable=False), opencl_queue)


def test_protocol_can_be_forced(array):
    assert buffer_interface(array, protocol="pyopencl").shape == (3, 4)
    with pytest.raises(TypeError):
        buffer_interface(np.zeros(3), protocol="pyopencl")
