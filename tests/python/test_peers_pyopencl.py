"""
pyopencl on PoCL, beyond what test_pyopencl.py says of the importer: kernels of both, random views, several queues, and
counts of references that only the driver knows.
"""

import numpy as np
import pyopencl
import pyopencl.array
import pytest

import buffer_interface as bi
from buffer_interface import buffer_interface, pyopencl_array
from peers.fixtures import new_queue, opencl_queue  # noqa: F401

SOURCE = """
__kernel void add(__global float *a, ulong offset, float x) { a[offset / 4 + get_global_id(0)] += x; }
"""


@pytest.fixture(scope="module")
def add(opencl_queue):
    return pyopencl.Program(opencl_queue.context, SOURCE).build().add


def references(memory):
    return memory.get_info(pyopencl.mem_info.REFERENCE_COUNT)


def random_view(random, array):
    """The same random basic index of a NumPy array and of our object."""
    index = []
    for extent in array.shape:
        start, step = random.integers(0, extent), int(random.choice([1, 2, 3, -1, -2]))
        index.append(slice(int(start), None, step) if random.random() < 0.8 else int(start))
    return tuple(index)


def test_random_views_have_the_same_bytes(opencl_queue):
    random = np.random.default_rng(1)
    for _ in range(200):
        numbers = random.integers(0, 100, random.integers(1, 7, random.integers(1, 4))).astype("i4")
        array = pyopencl.array.to_device(opencl_queue, numbers)
        index = random_view(random, numbers)
        with buffer_interface(array)[index] as view, view.map("r") as mapped:
            np.testing.assert_array_equal(np.asarray(mapped), numbers[index])


def test_a_kernel_of_pyopencl_works_on_memory_of_ours():
    """Memory that this library allocated, in its own context, as an array of pyopencl."""
    view = bi.full(16, 1, "f4", device="opencl")
    context = pyopencl.Context.from_int_ptr(view.context)
    queue = pyopencl.CommandQueue(context)
    array = pyopencl_array(view[4:], queue)
    assert (array + 1).get().tolist() == [2] * 12
    array += 2
    view.hand_back(queue)
    assert np.asarray(view.to("host")).tolist() == [1] * 4 + [3] * 12


def test_a_kernel_works_on_an_imported_view_by_handle_and_offset(opencl_queue, add):
    array = pyopencl.array.zeros(opencl_queue, 16, "f4")
    part = buffer_interface(array)[4:8]
    memory = pyopencl.MemoryObject.from_int_ptr(part.buffer.int_ptr)
    add(opencl_queue, (4,), None, memory, np.uint64(part.offset), np.float32(5))
    assert array.get().tolist() == [0] * 4 + [5] * 4 + [0] * 8


def test_O1_one_import_is_one_reference(opencl_queue):
    memory = pyopencl.Buffer(opencl_queue.context, pyopencl.mem_flags.READ_WRITE, 64)
    before = references(memory)
    view = buffer_interface(memory)
    assert references(memory) == before + 1
    parts = [view[i:] for i in range(10)]
    assert references(memory) == before + 1
    view.release()
    for part in parts:
        assert references(memory) == before + 1
        part.release()
    assert references(memory) == before


def test_arrays_go_there_and_back(opencl_queue):
    array = pyopencl.array.to_device(opencl_queue, np.arange(24, dtype="f8").reshape(4, 6))
    view = buffer_interface(array)[1:, ::2]
    back = pyopencl_array(view, opencl_queue)
    assert (back.shape, back.strides, back.offset) == ((3, 3), (48, 16), 48)
    assert back.base_data.int_ptr == array.base_data.int_ptr
    again = buffer_interface(back)
    assert (again.buffer.int_ptr, again.offset, again.strides) == (view.buffer.int_ptr, view.offset, view.strides)
    opencl_queue.finish()


def test_computing_with_what_comes_back(opencl_queue):
    array = pyopencl.array.to_device(opencl_queue, np.arange(8, dtype="f4"))
    back = pyopencl_array(buffer_interface(array), opencl_queue)
    assert (back + 1).get().tolist() == list(range(1, 9))


def test_what_is_no_queue_is_named(opencl_queue):
    array = pyopencl.array.zeros(opencl_queue, 4, "f4")
    for queue, name in [(None, "NoneType"), (opencl_queue.context, "Context"), (3, "int")]:
        with pytest.raises(TypeError, match=f"queue is of type {name}, not a pyopencl.CommandQueue"):
            pyopencl_array(array, queue)


def test_O6_a_queue_of_another_context_is_refused(opencl_queue):
    other = new_queue(opencl_queue.context.devices)
    view = buffer_interface(pyopencl.array.zeros(opencl_queue, 4, "f4"))
    with pytest.raises((BufferError, ValueError), match="context"):
        pyopencl_array(view, other)
    with pytest.raises((BufferError, ValueError), match="context"):
        view.acquire(other)


def test_memory_pool_buffers(opencl_queue):
    from pyopencl.tools import ImmediateAllocator, MemoryPool

    pool = MemoryPool(ImmediateAllocator(opencl_queue))
    array = pyopencl.array.to_device(opencl_queue, np.arange(8, dtype="i4"), allocator=pool)
    view = buffer_interface(array)
    assert np.asarray(view.to("host")).tolist() == list(range(8))
    active = pool.active_blocks
    del array
    assert pool.active_blocks == active, "the block is not the pool's while a view of it lives"
    view.release()
    assert pool.active_blocks == active - 1


def test_an_array_of_pyopencl_keeps_the_block_of_a_pool(opencl_queue):
    """Its cl_mem alone would live, and the pool would give it to somebody else."""
    from pyopencl.tools import ImmediateAllocator, MemoryPool

    pool = MemoryPool(ImmediateAllocator(opencl_queue))
    array = pyopencl.array.to_device(opencl_queue, np.arange(8, dtype="i4"), allocator=pool)
    view = buffer_interface(array)
    back = pyopencl_array(view, opencl_queue)
    view.release()
    del array, view
    assert pool.active_blocks == 1
    assert back.get().tolist() == list(range(8))
    del back
    assert pool.active_blocks == 0


def test_copies_between_pyopencl_and_numpy(opencl_queue):
    array = pyopencl.array.zeros(opencl_queue, (4, 4), "i4")
    bi.copyto(buffer_interface(array)[::2, ::-1], np.arange(8, dtype="i4").reshape(2, 4))
    assert array.get()[::2].tolist() == [[3, 2, 1, 0], [7, 6, 5, 4]]
    target = np.zeros((4, 4), "i4")
    bi.copyto(target, array)
    np.testing.assert_array_equal(target, array.get())
