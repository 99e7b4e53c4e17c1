"""examples/adopt: pyopencl as a producer and a consumer of the exchange structure, beside this library and itself."""

import ctypes
import gc
import pathlib
import time

import numpy as np
import pyopencl as cl
import pyopencl.array
import pytest

import adopted
import buffer_interface as bi
from adopted import pyopencl_exchange as px
from buffer_interface import buffer_interface
from buffer_interface.check import command
from peers.fixtures import first_devices, gate, new_queue, opencl_queue  # noqa: F401

pytestmark = pytest.mark.needs("opencl")
JUDGED = {"pyopencl_arrays": {"B-7", "B-17", "B-20", "B-46", "B-51"}, "pyopencl_pending": {"B-30", "B-33", "B-36", "B-37", "B-47"}}
VECTOR, STRUCTURE = cl.cltypes.double2, np.dtype([("x", "<f4"), ("n", "<i2", (3,))], align=True)


@pytest.fixture(scope="module", autouse=True)
def installed():
    adopted.install()
    yield
    del cl.array.Array.__buffer_interface_c__, cl.array.Array._fill_exchange


@pytest.fixture(autouse=True)
def everything_is_released():
    yield
    gc.collect()
    assert not px.exports


@pytest.fixture
def array(opencl_queue):
    return cl.array.to_device(opencl_queue, np.arange(8, dtype="i4"))


@pytest.fixture
def ours():
    """An array of this library, and two queues of pyopencl in its context."""
    view = bi.from_numpy(np.arange(8, dtype="i4"), device="opencl")
    context = cl.Context.from_int_ptr(view.context)
    return view, cl.CommandQueue(context), cl.CommandQueue(context)


def taken(array):
    return buffer_interface(array, protocol="native")


def is_complete(queue):
    """Returns True if the queue has done all its work 50 ms from now."""
    marker = px.mark(queue)
    time.sleep(0.05)
    return marker.command_execution_status == cl.command_execution_status.COMPLETE


@pytest.mark.parametrize("factory", JUDGED)
def test_checker_finds_no_broken_rule(factory, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(__file__).parent))
    monkeypatch.setenv("BI_CUDA_LIBRARY", "no-cuda-driver-in-this-test")
    _, results = command.collect({"target": f"adopted:{factory}", "consumer": False, "protocols": ["buffer-interface"]}, 20)
    assert [result for result in results if result["status"] == "broken"] == []
    assert {result["rule"] for result in results if result["status"] == "holds"} > JUDGED[factory]


# The library takes arrays of pyopencl


@pytest.mark.parametrize("dtype", ["f4", "c8", "u1", ">i4", "S3", VECTOR, STRUCTURE], ids=str)
def test_types_go_to_the_library_and_back(opencl_queue, dtype):
    array = cl.array.Array(opencl_queue, (2, 3), dtype)
    view = taken(array)
    assert (view.shape, view.strides, view.itemsize) == (array.shape, array.strides, array.dtype.itemsize)
    assert view.dtype == (np.dtype(("f8", 2)) if dtype is VECTOR else array.dtype)
    back = px.from_buffer_interface(view, opencl_queue)
    assert (back.dtype, back.base_data.int_ptr) == (array.dtype, array.base_data.int_ptr)


def test_library_waits_for_work_of_the_queue(array, gate):
    closed = gate()
    array += 1
    copy = taken(array).copy()
    closed.open()
    assert copy.tolist() == list(range(1, 9))


def test_library_waits_for_events_of_another_queue(array, opencl_queue, gate):
    elsewhere = cl.CommandQueue(opencl_queue.context)
    closed = gate(elsewhere)
    array.add_event(cl.enqueue_fill_buffer(elsewhere, array.base_data, np.int32(7), 0, array.nbytes))
    elsewhere.flush()
    copy = taken(array).copy()
    is_early = is_complete(opencl_queue)
    closed.open()  # before an assertion, which would print the arrays
    assert not is_early
    assert copy.tolist() == [7] * 8


def test_pyopencl_waits_for_what_the_library_hands_back(array, opencl_queue, gate):
    elsewhere = cl.CommandQueue(opencl_queue.context)
    with taken(array) as view:
        closed = gate(elsewhere)
        cl.enqueue_fill_buffer(elsewhere, array.base_data, np.int32(7), 0, array.nbytes)
        view.hand_back(elsewhere)
    result = array + 1
    is_early = is_complete(opencl_queue)
    closed.open()  # before an assertion, which would print the arrays
    assert not is_early
    assert result.get().tolist() == [8] * 8


def test_view_outlives_the_array(array):
    view = taken(array)
    del array
    gc.collect()
    assert view.tolist() == list(range(8))


# pyopencl takes arrays


def test_pyopencl_waits_for_the_library(ours, gate):
    view, queue, elsewhere = ours
    closed = gate(elsewhere)
    memory = cl.MemoryObject.from_int_ptr(view.buffer.int_ptr)
    cl.enqueue_fill_buffer(elsewhere, memory, np.int32(7), 0, view.nbytes)
    view.hand_back(elsewhere)
    result = px.from_buffer_interface(view, queue) + 1
    is_early = is_complete(queue)
    closed.open()  # before an assertion, which would print the arrays
    assert not is_early
    assert result.get().tolist() == [8] * 8


@pytest.mark.parametrize("has_done", [True, False])
def test_library_waits_for_what_pyopencl_hands_back(ours, gate, has_done):
    view, queue, _ = ours
    view.fill(1)
    array = px.from_buffer_interface(view, queue)
    closed = gate(queue)
    array += 2
    if not has_done:  # then the queue of the producer waits, if it named one
        array.base_data.lease.x.done = None
        if not array.base_data.lease.x.stream:
            closed.open()
    px.hand_back(array)
    copy = view.copy()
    closed.open()
    assert copy.tolist() == [3] * 8


@pytest.mark.parametrize("has_done", [True, False])
def test_pyopencl_takes_its_own_arrays_on_another_queue(array, opencl_queue, gate, has_done):
    queue = cl.CommandQueue(opencl_queue.context)
    first, second = gate(), gate(queue)
    array += 1
    other = px.from_buffer_interface(array, queue)
    other *= 2
    if not has_done:
        other.base_data.lease.x.done = None
    px.hand_back(other)
    result = array + 1
    first.open()
    is_early = is_complete(opencl_queue)
    second.open()  # before an assertion, which would print the arrays
    assert not is_early
    assert result.get().tolist() == [2 * (i + 1) + 1 for i in range(8)]


def test_last_array_hands_back_and_releases(array, opencl_queue, gate):
    queue = cl.CommandQueue(opencl_queue.context)
    other = px.from_buffer_interface(array, queue)
    part = other[2:]
    closed = gate(queue)
    part.fill(5)
    del other
    gc.collect()
    assert len(px.exports) == 1
    del part
    gc.collect()
    assert not px.exports
    is_early = is_complete(opencl_queue)  # `done` orders all work of the queue, also work that does not wait for array.events
    result = array + 1
    closed.open()  # before an assertion, which would print the arrays
    assert not is_early
    assert result.get().tolist() == [1, 2] + [6] * 6


def test_no_elements(opencl_queue):
    array = px.from_buffer_interface(cl.array.empty(opencl_queue, (0, 3), "f4"), opencl_queue)
    assert (array.shape, array.base_data) == ((0, 3), None)
    px.hand_back(array)


# Refusals


def test_producer_refuses(array, opencl_queue):
    with pytest.raises(BufferError, match="no queue"):
        taken(array.with_queue(None))
    for dtype in ("M8[s]", [("a", "i4"), ("when", "M8[s]", 2)]):
        with pytest.raises(BufferError, match="B-25"):
            taken(cl.array.Array(opencl_queue, (2,), dtype))


def test_consumer_refuses_arrays_that_it_cannot_use(array, opencl_queue):
    read_only = cl.Buffer(opencl_queue.context, cl.mem_flags.READ_ONLY, 64)
    for producer, why in [
        (bi.full(4, 1, "f4", device="host"), "B-21"),
        (cl.array.Array(opencl_queue, (4,), "f4", data=read_only), "B-11"),
        (np.ones(3), "no __buffer_interface_c__"),
    ]:
        with pytest.raises(BufferError, match=why):
            px.from_buffer_interface(producer, opencl_queue)
    with pytest.raises(BufferError, match="the queue to"):
        px.from_buffer_interface(array, new_queue(first_devices()))


@pytest.mark.parametrize(
    "rule, members",
    [
        ("B-9", {"version": 0x30000}),
        ("B-9", {"struct_size": 120}),
        ("B-11", {"flags": 2}),
        ("B-11", {"reserved": 1}),
        ("B-23", {"device_id": -1}),
        ("B-39", {"release": None}),
        ("B-21", {"handle_kind": 5}),
        ("B-32", {"order_kind": 1}),
        ("B-32", {"stream": 0}),
        ("B-32", {"stream": 0, "event": 1, "done": None}),
        ("B-14", {"ndim": 65}),
        ("B-14", {"strides": None}),
        ("B-14", {"size": 2**64 - 1}),
        ("B-15", {"shape": [-1]}),
        ("B-16", {"shape": [2**62]}),
        ("B-17", {"offset": 4}),
        ("B-17", {"shape": [9]}),
        ("B-17", {"handle": 0}),
        ("B-26", {"type_code": 3}),
        ("B-25", {"type_bits": 12}),
        ("B-27", {"item_size": 2}),
    ],
)
def test_consumer_checks_the_structure(array, opencl_queue, rule, members):
    lease = px.Lease(array)
    x = px.structure.Exchange.from_buffer_copy(lease.x)
    for name, value in members.items():
        if isinstance(value, list):
            members[name] = (ctypes.c_int64 * 1)(*value)
            value = ctypes.addressof(members[name])
        setattr(x, name, value)
    with pytest.raises(BufferError, match=rf"\[{rule}\]"):
        px.check(x, opencl_queue.context)
        px.read_type(x)
