"""examples/adopt/numba_exchange.py: arrays for the checker, and tests on the simulated CUDA driver.

Numba holds its context until the process ends, and other tests begin new runs of the simulator. So test_adopt.py runs this file
in a process of its own. The simulator reports work that is not ordered, whatever the schedule is.
"""

import ctypes
import gc
import threading

import buffer_interface as bi
import cuda_sim
import field
import numpy as np
import pytest
from buffer_interface import buffer_interface
from numba.cuda.cudadrv import driver
from peers import compiled

cuda = field.numba_cuda()
acquire = compiled.adopt_acquire()

import numba_exchange as nx  # noqa: E402

nx.install(acquire)
simulator = cuda_sim.open_simulator()
STRUCTURE = np.dtype([("x", "<f4"), ("n", "<i2")], align=True)


def numba_arrays():
    """Arrays of Numba without pending work."""
    made = field.numba_arrays()
    del made["mapped"]  # memory of the host
    return {**made, "reversed": cuda.to_device(np.arange(6.0))[::-1]}


numba_pending = field.numba_pending


@pytest.fixture(autouse=True)
def all_work_is_ordered():
    """Numba frees memory without a look at pending work, so it frees between the tests, when all work is done."""
    before = len(simulator.reports())
    with cuda.defer_cleanup():
        yield
        gc.collect()
        cuda.synchronize()
    assert not nx.exports
    assert simulator.reports()[before:] == []


def made(value, stream=0):
    """An array of 8 bytes that work on `stream` sets."""
    array = cuda.device_array(8, "u1", stream=stream)
    put(array, value, stream)
    return array


def put(array, value, stream=0):
    """Enqueues a command that sets all bytes."""
    driver.device_memset(array, value, array.nbytes, stream=stream or cuda.legacy_default_stream())


def numbers(array):
    return array.copy_to_host().tolist()


def taken(array):
    return buffer_interface(array, protocol="native")


# The library takes arrays of Numba


@pytest.mark.parametrize("dtype", ["f4", "c8", "?", "u1", "i8", STRUCTURE], ids=str)
def test_types_go_to_the_library_and_back(dtype):
    array = cuda.device_array((2, 3), dtype)
    view = taken(array)
    assert (view.shape, view.strides, view.dtype) == (array.shape, array.strides, array.dtype)
    back = nx.from_buffer_interface(view)
    assert (back.dtype, back.device_ctypes_pointer.value) == (array.dtype, array.device_ctypes_pointer.value)


@pytest.mark.parametrize("has_stream", [True, False])
def test_library_waits_for_work_of_the_stream(has_stream):
    array = made(7, cuda.stream() if has_stream else 0)
    assert taken(array).copy().tolist() == [7] * 8


def test_numba_waits_for_what_the_library_hands_back():
    stream, elsewhere = cuda.stream(), cuda.stream()
    array = made(1, stream)
    with taken(array) as view:
        view.acquire(elsewhere)
        put(array, 7, elsewhere)
        view.hand_back(elsewhere)
    assert numbers(array) == [7] * 8


def test_managed_memory():
    array = cuda.managed_array(8, "u1", stream=cuda.stream())
    put(array, 3, array.stream)
    assert taken(array).copy().tolist() == [3] * 8


def test_view_outlives_the_array():
    view = taken(made(5, cuda.stream()))
    gc.collect()
    assert view.tolist() == [5] * 8


# Numba takes arrays


@pytest.mark.parametrize("has_done", [True, False])
def test_arrays_of_the_library_are_ordered_both_ways(has_done):
    view = bi.full(8, 1, "u1", device="cuda")
    array = nx.from_buffer_interface(view, cuda.stream())
    assert numbers(array) == [1] * 8
    put(array, 2, array.stream)
    if not has_done:  # then the producer's stream waits, or the host does
        array.gpu_data.owner.x.done = None
    nx.hand_back(array)
    assert view.copy().tolist() == [2] * 8


@pytest.mark.parametrize("has_done", [True, False])
def test_own_arrays_on_another_stream(has_done):
    array = made(1, cuda.stream())
    other = nx.from_buffer_interface(array, cuda.stream())
    put(other, 2, other.stream)
    if not has_done:
        other.gpu_data.owner.x.done = None
    nx.hand_back(other)
    put(array, 3, array.stream)
    assert numbers(array) == [3] * 8


def test_a_stream_that_was_bound_later_is_handed_back_too():
    array = made(1, cuda.stream())
    other = nx.from_buffer_interface(array, cuda.stream()).bind(cuda.per_thread_default_stream())
    nx.ended(cuda.current_context(), array.stream).wait(other.stream)
    put(other, 2, other.stream)
    nx.hand_back(other)
    put(array, 3, array.stream)
    assert numbers(array) == [3] * 8


def test_last_array_hands_back_and_releases():
    array = made(1, cuda.stream())
    other = nx.from_buffer_interface(array, cuda.stream())
    part = other[2:]
    put(part, 5, part.stream)
    del other
    gc.collect()
    assert len(nx.exports) == 1
    del part
    gc.collect()
    assert not nx.exports
    put(array, 6, array.stream)
    assert numbers(array) == [6] * 8


def test_no_elements():
    array = nx.from_buffer_interface(cuda.device_array((0, 3), "f4"))
    assert array.shape == (0, 3)
    nx.hand_back(array)


# Refusals


def test_producer_refuses():
    with pytest.raises(BufferError, match="B-32"):
        taken(made(1).bind(cuda.per_thread_default_stream()))
    with pytest.raises(BufferError, match="B-25"):
        taken(cuda.device_array(3, "M8[s]"))


def test_consumer_refuses_arrays_that_it_cannot_use():
    for producer, why in [
        (bi.full(4, 1, "f4", device="host"), "B-21"),
        (bi.full(4, 1, "f4", device="cuda:1"), "B-23"),
        (bi.full(4, 1, ">i4", device="cuda"), "no type for >i4"),
        (np.ones(3), "no __buffer_interface_c__"),
    ]:
        with pytest.raises(BufferError, match=why):
            nx.from_buffer_interface(producer)


@pytest.mark.parametrize("rule, members", [("B-32", {"stream": 2}), ("B-21", {"handle_kind": 3}), ("CUcontext", {"context": 8})])
def test_consumer_checks_the_structure(rule, members):
    lease = nx.Lease(made(1))
    x = nx.structure.Exchange.from_buffer_copy(lease.x)
    for name, value in members.items():
        setattr(x, name, value)
    with pytest.raises(BufferError, match=rule):
        nx.check(x, cuda.current_context())


def test_functions_leave_the_current_context_of_a_thread():
    array, other = made(1, cuda.stream()), cuda.stream()
    library, seen = cuda_sim.open_library(), []

    def use():
        lease = nx.Lease(array)
        assert lease.done(1, int(other), 0)
        del lease
        current = ctypes.c_void_p(8)
        library.cuCtxGetCurrent(ctypes.byref(current))
        seen.append(current.value)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert seen == [None]


def test_done_refuses_an_order_of_another_kind():
    lease = nx.Lease(made(1))
    assert not lease.done(3, 8, 0)
    assert not lease.done(1, 0, 0)
