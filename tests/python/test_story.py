"""
The story that this package is for: somebody computes with pyopencl, hands his array on while the device still works,
and nobody waits for anything by hand.
"""

import threading
from types import SimpleNamespace

import numpy as np
import pyopencl
import pyopencl.array
import pytest

from buffer_interface import buffer_interface, pyopencl_array
from peers.fixtures import gate, new_queue, opencl_queue  # noqa: F401

SLOW = """
__kernel void slow(__global float *a, int rounds)
{
	size_t i = get_global_id(0);
	float x = a[i];
	for (int j = 0; j < rounds; j++)
		x = x * 0.5f + (float)i * 0.5f;
	a[i] = x;
}
__kernel void add_one(__global float *a) { a[get_global_id(0)] += 1; }
"""


@pytest.fixture(scope="module")
def kernels(opencl_queue):
    program = pyopencl.Program(opencl_queue.context, SLOW).build()
    return SimpleNamespace(slow=pyopencl.Kernel(program, "slow"), add_one=pyopencl.Kernel(program, "add_one"))


@pytest.fixture
def mate(opencl_queue):
    """Another queue of the same context, as a second library would have it."""
    return pyopencl.CommandQueue(opencl_queue.context)


def start_work(array, kernels):
    """Afterwards a[i] is i."""
    event = kernels.slow(array.queue, (array.size,), None, array.base_data, np.int32(1000))
    array.add_event(event)
    return event


def is_complete(event):
    return event.command_execution_status == pyopencl.command_execution_status.COMPLETE


def test_the_story(opencl_queue, mate, kernels, gate):
    array = pyopencl.array.zeros(opencl_queue, (16, 64), "f4")
    opencl_queue.finish()
    closed = gate()
    work = start_work(array, kernels)

    view = buffer_interface(array)
    part = view[::-2, 8:40:2]
    assert (view.buffer.int_ptr, view.offset, view.strides) == (array.base_data.int_ptr, 0, (256, 4))
    assert (part.buffer.int_ptr, part.offset) == (array.base_data.int_ptr, 15 * 256 + 32)
    assert (part.shape, part.strides, part.dtype) == ((8, 16), (-512, 8), np.dtype("f4"))
    assert part.context == opencl_queue.context.int_ptr and part.stream == opencl_queue.int_ptr

    theirs = pyopencl_array(view, mate)
    kernels.add_one(mate, (theirs.size,), None, theirs.base_data)
    view.hand_back(mate)
    assert not is_complete(work)
    threading.Timer(0.1, closed.open).start()
    expected = np.arange(16 * 64, dtype="f4").reshape(16, 64) + 1
    with part.map("r") as mapped:
        assert is_complete(work)
        np.testing.assert_array_equal(np.asarray(mapped), expected[::-2, 8:40:2])
    np.testing.assert_array_equal(array.get(), expected)


def test_nothing_waits_before_the_map(opencl_queue, mate, kernels, gate):
    """The same with work that cannot end before the gate is open: whoever waited would wait for ever."""
    array = pyopencl.array.zeros(opencl_queue, (4, 8), "f4")
    opencl_queue.finish()
    closed = gate()
    work = start_work(array, kernels)
    view = buffer_interface(array)
    part = view[1:3, ::2]
    theirs = pyopencl_array(part.T, mate)
    assert (theirs.base_data.int_ptr, theirs.offset, theirs.strides) == (array.base_data.int_ptr, 32, (8, 32))
    event = kernels.add_one(mate, (32,), None, theirs.base_data)
    mate.flush()
    part.hand_back(mate)
    assert not is_complete(work) and not is_complete(event)
    threading.Timer(0.1, closed.open).start()
    with part.map("r") as mapped:
        np.testing.assert_array_equal(np.asarray(mapped), np.arange(1, 33).reshape(4, 8)[1:3, ::2])


def test_work_on_a_queue_that_the_array_does_not_name(opencl_queue, mate, kernels, gate):
    """pyopencl says so with the array's events."""
    array = pyopencl.array.zeros(opencl_queue, 32, "f4")
    opencl_queue.finish()
    closed = gate(mate)
    work = kernels.slow(mate, (32,), None, array.base_data, np.int32(100))
    array.add_event(work)
    mate.flush()
    view = buffer_interface(array)
    assert not is_complete(work)
    threading.Timer(0.1, closed.open).start()
    with view.map("r") as mapped:
        assert np.asarray(mapped).tolist() == list(range(32))


def test_a_block_acquires_and_hands_back(opencl_queue, mate, kernels, gate):
    """`stream=`: acquired at import, handed back at the end of the block, both without a wait of the host."""
    array = pyopencl.array.zeros(opencl_queue, 32, "f4")
    closed = gate()
    start_work(array, kernels)
    with buffer_interface(array, stream=mate) as view:
        memory = pyopencl.MemoryObject.from_int_ptr(view.buffer.int_ptr)
        event = kernels.add_one(mate, (32,), None, memory)
    last = kernels.add_one(opencl_queue, (32,), None, array.base_data)
    assert not is_complete(event) and not is_complete(last)
    closed.open()
    assert array.get().tolist() == [i + 2 for i in range(32)]


def test_the_array_may_go_while_its_work_is_pending(opencl_queue, kernels, gate):
    array = pyopencl.array.zeros(opencl_queue, 32, "f4")
    closed = gate()
    start_work(array, kernels)
    view = buffer_interface(array)[8:]
    del array
    closed.open()
    with view.map("r") as mapped:
        assert np.asarray(mapped).tolist() == list(range(8, 32))


def test_releasing_while_work_is_pending_waits_for_nothing(opencl_queue, kernels, gate):
    array = pyopencl.array.zeros(opencl_queue, 32, "f4")
    closed = gate()
    work = start_work(array, kernels)
    for _ in range(10):
        buffer_interface(array)[4:].release()
    assert not is_complete(work)
    closed.open()
    assert array.get().tolist() == list(range(32))


def test_copies_to_numpy_are_the_one_wait(opencl_queue, kernels, gate):
    array = pyopencl.array.zeros(opencl_queue, (4, 8), "f4")
    closed = gate()
    start_work(array, kernels)
    threading.Timer(0.1, closed.open).start()
    host = buffer_interface(array)[:, ::-1].to("host")
    np.testing.assert_array_equal(np.asarray(host), np.arange(32).reshape(4, 8)[:, ::-1])


def test_a_queue_of_the_other_context_is_ordered_through_the_host(opencl_queue, kernels):
    """Two contexts share no events: a copy between them is right, and is the place where the host waits."""
    other = new_queue(opencl_queue.context.devices)
    array = pyopencl.array.zeros(opencl_queue, 64, "f4")
    start_work(array, kernels)
    target = pyopencl.array.zeros(other, 64, "f4")
    buffer_interface(target)[...] = array
    assert target.get().tolist() == list(range(64))
