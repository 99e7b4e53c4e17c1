"""Arrays of one library and ours, there and back, on a real GPU: the same for every library that has an adapter.

Work is late on purpose (a stream that waits for the CPU, or a long kernel), so that whoever does not wait finds other
values. Memory is written over after it is let go, so that whoever kept too little finds other values too.
"""

import gc
import sys
import time
import weakref

import numpy as np
import pytest

import adapters
import buffer_interface as bi
from buffer_interface import buffer_interface

PEER = adapters.chosen()
SHAPE = (6, 8)[-PEER.ndim :]
REFUSALS = (BufferError, TypeError, ValueError, RuntimeError)
gives = pytest.mark.parametrize("protocol", PEER.gives)
takes = pytest.mark.parametrize("way", PEER.takes)
EACH_TYPE = [(protocol, dtype) for protocol in PEER.gives for dtype in PEER.dtypes[protocol]]


class Method:
    """DLPack by its method alone: the exchange table of the array's type is out of sight."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)


class Unversioned(Method):
    """As libraries did it before there were versions."""

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__(stream=stream)


dlpack_ways = pytest.mark.parametrize("seen_as", [Method, Unversioned] if adapters.DLPACK in PEER.gives else [])


def dtype_of(name):
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def sample(dtype, shape=SHAPE):
    count = int(np.prod(shape))
    return (np.arange(count) % 2 if dtype == "|b1" else np.arange(count)).astype(dtype_of(dtype)).reshape(shape)


def some(protocol):
    """One type of a library; a float if it has one."""
    types = PEER.dtypes[protocol]
    return "<f4" if "<f4" in types else types[0]


def same(found, expected):
    found = np.asarray(found)
    assert found.shape == expected.shape and found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


def values_of(view):
    return np.asarray(view.to("host").map().numpy())


def ours(values):
    view = bi.from_numpy(values, device="cuda:0")
    view.synchronize()
    return view


def litter(values, protocol):
    """Takes memory that is free and writes over it, ours and the library's, so that nothing that was there is left."""
    blocks = [bi.full(values.nbytes, 0xA5, "u1", device="cuda:0") for _ in range(16)]
    blocks[-1].synchronize()
    return blocks + [PEER.array(np.full(SHAPE, 90, some(protocol))) for _ in range(16)]


def comes_true(condition, seconds=5):
    """Some libraries let go on a thread of theirs, and ours when work is done and it is asked for something."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        gc.collect()
        bi.trim()
        time.sleep(0.01)
    return condition()


# The library's arrays as ours


@pytest.mark.parametrize("protocol, dtype", EACH_TYPE)
def test_its_array_is_described(peer, protocol, dtype):
    values = sample(dtype)
    array = peer.array(values)
    address, shape, strides = peer.layout(array)
    view = buffer_interface(array, protocol=protocol)
    assert (view.backend, view.device, view.typestr) == ("cuda", 0, bi.from_numpy(values, device="host").typestr)
    assert (int(view.buffer), view.shape) == (address, tuple(shape))
    assert view.strides == (strides or values.strides)
    assert view.readonly == (protocol in peer.readonly)
    same(values_of(view), values)


@gives
@pytest.mark.needs("strided")
def test_its_strides_are_kept(peer, protocol):
    values = sample(some(protocol))
    array = peer.array(values)
    for part, expected in ((array[::2, 1:], values[::2, 1:]), (array.T, values.T), (array[1:, ::3].T, values[1:, ::3].T)):
        view = buffer_interface(part, protocol=protocol)
        assert (int(view.buffer), view.shape, view.strides) == peer.layout(part)
        same(values_of(view), expected)


@gives
@pytest.mark.needs("strided")
@pytest.mark.needs("negative")
def test_its_negative_strides_are_kept(peer, protocol):
    values = sample(some(protocol))
    part = peer.array(values)[::-1, ::-2]
    if protocol in peer.wrong_negative:
        with pytest.raises(bi.InvalidArrayError, match="E7"):
            buffer_interface(part, protocol=protocol)
        return
    view = buffer_interface(part, protocol=protocol)
    assert view.strides == values[::-1, ::-2].strides
    same(values_of(view), values[::-1, ::-2])


@gives
@pytest.mark.needs("empty")
def test_its_empty_array(peer, protocol):
    view = buffer_interface(peer.array(np.empty((0, 3), some(protocol))), protocol=protocol)
    assert (view.shape, view.size, view.typestr) == ((0, 3), 0, some(protocol))
    assert values_of(view).shape == (0, 3)


@gives
@pytest.mark.needs("late_work")
def test_its_pending_work_comes_first(peer, driver, protocol):
    values = np.full(SHAPE, 7, some(protocol))
    with peer.pending(driver, values) as (array, stream):
        view = buffer_interface(array, protocol=protocol, **peer.said(protocol, array, stream))
        same(values_of(view), values)


@dlpack_ways
@pytest.mark.needs("late_work")
def test_its_pending_work_comes_first_by_the_method(peer, driver, seen_as):
    values = np.full(SHAPE, 7, some("dlpack"))
    with peer.pending(driver, values) as (array, stream):
        view = buffer_interface(seen_as(array), protocol="dlpack", **peer.said("dlpack", array, stream))
        same(values_of(view), values)


@dlpack_ways
def test_both_kinds_of_capsule(peer, seen_as):
    values = sample(some("dlpack"))
    array = peer.array(values)
    view = buffer_interface(seen_as(array), protocol="dlpack")
    assert int(view.buffer) == peer.layout(array)[0]
    assert view.readonly == (seen_as is Unversioned or "dlpack" in peer.readonly)
    same(values_of(view), values)


@gives
def test_its_array_is_kept_and_let_go(peer, protocol):
    array = peer.array(sample(some(protocol)))
    gc.collect()
    before = sys.getrefcount(array)
    view = buffer_interface(array, protocol=protocol)
    part = view[1:]
    view.release()
    part.release()
    assert comes_true(lambda: sys.getrefcount(array) == before)


@gives
def test_its_memory_is_not_used_again_meanwhile(peer, protocol):
    values = sample(some(protocol))
    view = buffer_interface(peer.array(values), protocol=protocol)
    gc.collect()
    blocks = litter(values, protocol)
    same(values_of(view), values)
    del blocks


@gives
def test_read_only_stays_so(peer, protocol):
    view = buffer_interface(peer.array(sample(some(protocol))), protocol=protocol, writable=False)
    assert view.readonly and view[1:].readonly and view.__cuda_array_interface__["data"][1] is True
    with pytest.raises(REFUSALS):
        view.fill(0)
    with pytest.raises(BufferError):
        view.__dlpack__()


@pytest.mark.parametrize("protocol", [protocol for protocol in PEER.readonly if protocol == adapters.CAI])
def test_what_is_read_only_there_is_refused_as_writable(peer, protocol):
    """Not so with DLPack without a version, which cannot say it."""
    with pytest.raises(BufferError):
        buffer_interface(peer.array(sample(some(protocol))), protocol=protocol, writable=True)


@gives
@pytest.mark.needs("fill")
def test_what_we_write_it_sees(peer, protocol):
    array = peer.array(sample(some(protocol)))
    with buffer_interface(array, protocol=protocol) as view:
        view.fill(3)
    same(peer.numpy(array), np.full(SHAPE, 3, some(protocol)))


@gives
@pytest.mark.needs("stream")
def test_stream_is_acquired_and_handed_back(peer, driver, protocol):
    """Work of ours on its stream, between two pieces of work of its own there."""
    values = np.full(SHAPE, 7, some(protocol))
    with peer.pending(driver, values) as (array, stream):
        with buffer_interface(array, protocol=protocol, stream=stream, **peer.said(protocol, array, stream)) as view:
            copied = view.copy(stream=stream)
            view.fill(3, stream=stream)
        peer.fill(array, values.flat[0] + 1)
    same(values_of(copied), values)
    same(peer.numpy(array), values + 1)


# Our arrays as the library's


@takes
@pytest.mark.parametrize("dtype", PEER.takes_dtypes)
def test_it_takes_ours(peer, way, dtype):
    values = sample(dtype)
    view = ours(values)
    if dtype == "bfloat16" and way not in peer.owning and refuses(peer, way, view):
        return  # the CUDA Array Interface has no name for it, and this way knows no other protocol
    array = peer.takes[way](view)
    address, shape, strides = peer.layout(array)
    assert (address, tuple(shape)) == (int(view.buffer), view.shape)
    assert tuple(strides or view.strides) == view.strides
    same(peer.numpy(array), values)


def refuses(peer, way, view):
    try:
        peer.takes[way](view)
    except (AttributeError, *REFUSALS):
        return True
    return False


@takes
@pytest.mark.needs("strided")
def test_it_takes_our_strides(peer, way):
    values = sample("<f4")
    view = ours(values)
    for part, expected in ((view[::2, 1:], values[::2, 1:]), (view.T, values.T)):
        array = peer.takes[way](part)
        assert peer.layout(array) == (int(part.buffer), part.shape, part.strides)
        same(peer.numpy(array), expected)


@takes
@pytest.mark.needs("negative")
def test_it_takes_negative_strides(peer, way):
    values = sample("<f4")[..., ::-1]
    array = peer.takes[way](ours(sample("<f4"))[..., ::-1])
    assert tuple(peer.layout(array)[2]) == values.strides
    same(peer.numpy(array), values)


@takes
@pytest.mark.needs("empty")
def test_it_takes_our_empty_array(peer, way):
    array = peer.takes[way](bi.empty((0, 3), "f4", device="cuda:0"))
    assert tuple(peer.layout(array)[1]) == (0, 3)


def late_fill(driver, view, value):
    """Work on our own stream that begins late."""
    view.fill(0)
    home = view.stream
    view.synchronize()
    adapters.delay(driver, home)
    view.fill(value)


def ordered_by_the_user(peer, way, view, stream):
    if way in peer.heedless:
        view.acquire(stream)


@takes
@pytest.mark.needs("copied")
def test_our_pending_work_comes_first(peer, driver, way):
    view, stream = bi.zeros(SHAPE, "f4", device="cuda:0"), peer.stream and peer.stream()
    with peer.on(stream):
        peer.copied(peer.takes[way](view))  # what it compiles for this is compiled before
        driver.synchronize()
        late_fill(driver, view, 7)
        ordered_by_the_user(peer, way, view, stream)
        copied = peer.copied(peer.takes[way](view))
    same(peer.numpy(copied), np.full(SHAPE, 7, "f4"))


@takes
@pytest.mark.needs("stream")
@pytest.mark.needs("fill")
def test_its_late_work_comes_before_our_next(peer, driver, way):
    """It works on a stream of its own; the user hands the memory back with the library's stream object."""
    view = bi.zeros(SHAPE, "f4", device="cuda:0")
    late_fill(driver, view, 7)
    stream = peer.stream()
    ordered_by_the_user(peer, way, view, stream)
    with peer.on(stream):
        array = peer.takes[way](view)
        peer.fill(array, np.float32(8))
        driver.synchronize()
        peer.late(driver, stream)
        peer.fill(array, np.float32(9))
    view.hand_back(stream)
    same(values_of(view), np.full(SHAPE, 9, "f4"))


@takes
def test_it_keeps_our_memory(peer, way):
    values = sample("<f4")
    view = ours(values)
    array = peer.takes[way](view)
    if way in peer.owning:
        view.release()
    del view
    gc.collect()
    bi.trim()
    blocks = litter(values, PEER.gives[0])
    same(peer.numpy(array), values)
    del blocks


@takes
def test_it_lets_go_of_ours(peer, way):
    view = ours(sample("<f4"))
    before, seen = sys.getrefcount(view), weakref.ref(view)
    array = peer.takes[way](view)
    peer.numpy(array)
    del array
    assert comes_true(lambda: sys.getrefcount(view) == before)
    del view
    assert comes_true(lambda: seen() is None)


@takes
def test_read_only_is_refused_or_said(peer, way):
    """It may refuse; whatever it does, the array stays read-only here, and its elements are what they were."""
    values = sample("<f4")
    view = buffer_interface(ours(values), writable=False)
    try:
        array = peer.takes[way](view)
    except REFUSALS:
        return
    same(peer.numpy(array), values)
    assert view.readonly


@takes
def test_there_and_back(peer, way):
    """The same memory, and as much of it."""
    view = ours(sample("<f4"))
    array = peer.takes[way](view)
    if not any(hasattr(array, name) for name in ("__cuda_array_interface__", "__dlpack__")):
        return  # a consumer only
    again = buffer_interface(array)
    assert (int(again.buffer), again.shape, again.strides) == (int(view.buffer), view.shape, view.strides)
    assert bi.shares_memory(view, again)


@pytest.mark.needs("from_capsule")
@pytest.mark.parametrize("version", [None, (1, 0), (1, 3)])
def test_capsules_of_both_kinds(peer, version):
    values = sample("<f4")
    view = ours(values)
    capsule = view.__dlpack__(stream=1, max_version=version)
    array = peer.from_capsule(capsule)
    assert peer.layout(array)[0] == int(view.buffer)
    with pytest.raises(REFUSALS):
        peer.from_capsule(capsule)
    same(peer.numpy(array), values)


# Streams


@pytest.mark.needs("stream")
def test_stream_objects_are_streams(peer, driver):
    stream = peer.stream()
    view = bi.zeros(64, "u1", device="cuda:0")
    view.acquire(stream)
    peer.late(driver, stream)
    driver.fill(int(view.buffer), 5, 64, peer.handle(stream))
    view.hand_back(stream)
    assert bytes(values_of(view)) == bytes([5]) * 64


@pytest.mark.needs("stream")
def test_streams_are_joined(peer, driver):
    streams, into = [peer.stream() for _ in range(3)], peer.stream()
    view = bi.zeros(192, "u1", device="cuda:0")
    for number, stream in enumerate(streams):
        view.acquire(stream)
        peer.late(driver, stream)
        driver.fill(int(view.buffer) + 64 * number, number + 1, 64, peer.handle(stream))
    bi.join(streams, into, "cuda:0")
    view.hand_back(into)
    assert bytes(values_of(view)) == bytes([1] * 64 + [2] * 64 + [3] * 64)
    view.join(*streams)


@pytest.mark.needs("stream")
def test_library_operations_run_on_its_stream(peer, driver):
    stream = peer.stream()
    view = bi.full(64, 4, "u1", device="cuda:0")
    peer.late(driver, stream)
    copied = view.copy(stream=stream)
    view.fill(6, stream=stream)
    assert bytes(values_of(copied)) == bytes([4]) * 64 and bytes(values_of(view)) == bytes([6]) * 64
