"""Rules of order across libraries: C5 to C8, D11, E9 and E10. No test waits on the host before it has looked.

Producers and consumers are those of producers.py and consumers.py, each on a stream of its own with work pending. What is
not ordered is a report of the simulator, which fails the test.
"""

import gc
import itertools
import weakref

import pytest

import dlpack_structs as dl
from consumers import CaiConsumer, DLPackConsumer
from cuda_sim import LEGACY, PER_THREAD
from producers import (
    CuPyLike,
    DeviceArray,
    Given,
    JaxLike,
    Mapping0,
    Naming,
    NumbaLike,
    OldTorchLike,
    TorchLike,
    Version0,
    Version1,
)

N = 64
# Those that say in one way or another where their work is. TorchLike does by __dlpack__.
SAYING = [CuPyLike, NumbaLike, TorchLike, OldTorchLike, JaxLike]
WRITABLE = [CuPyLike, NumbaLike, TorchLike]


def seeds(count=3):
    return [pytest.param({"seed": seed}, id=f"seed{seed}") for seed in range(1, count + 1)]


# C7: ours after theirs, theirs after ours


@pytest.mark.parametrize("cuda_options", seeds(), indirect=False)
@pytest.mark.parametrize("kind", SAYING)
def test_C7_our_work_comes_after_the_producers(bi, cuda, kind):
    producer = kind(cuda)
    producer.fill(5)
    view = bi.buffer_interface(producer)
    assert bytes(view.to("host")) == bytes([5]) * N


@pytest.mark.parametrize("cuda_options", seeds(), indirect=False)
@pytest.mark.parametrize("kind", WRITABLE)
def test_C7_the_producers_next_work_comes_after_ours(bi, cuda, kind):
    producer = kind(cuda)
    producer.fill(5)
    view = bi.buffer_interface(producer, protocol="cuda_array_interface", producer_stream=producer.stream)
    view.fill(6)
    producer.fill(7)
    assert producer.bytes() == bytes([7]) * N


def test_C7_copy_between_two_producers(bi, cuda):
    source, target = CuPyLike(cuda), NumbaLike(cuda)
    source.fill(5)
    target.fill(1)
    bi.copyto(target, source)
    source.fill(9)
    assert cuda.ordered(target.stream, target.pointer, N)
    assert target.bytes() == bytes([5]) * N


def test_C7_work_on_a_stream_of_the_user(bi, cuda):
    producer = CuPyLike(cuda)
    producer.fill(5)
    stream = cuda.stream()
    with bi.buffer_interface(producer, stream=stream):
        cuda.fill(producer.pointer, 6, N, stream)
    producer.fill(7)
    assert producer.bytes() == bytes([7]) * N


def test_C7_acquire_and_hand_back_by_hand(bi, cuda):
    producer = CuPyLike(cuda)
    producer.fill(5)
    view = bi.buffer_interface(producer)
    stream = cuda.stream()
    view.acquire(stream)
    cuda.fill(producer.pointer, 6, N, stream)
    view.hand_back(stream)
    view.fill(7)
    assert producer.bytes() == bytes([7]) * N


def test_C7_operation_on_a_stream_of_the_user(bi, cuda):
    producer, stream = CuPyLike(cuda), cuda.stream()
    producer.fill(5)
    view = bi.buffer_interface(producer)
    duplicate = view.copy(stream=stream)
    producer.fill(7)
    assert bytes(duplicate.to("host")) == bytes([5]) * N


@pytest.mark.parametrize("kind", SAYING)
def test_C7_nobody_waits_on_the_host(bi, cuda, kind):
    bi.empty(1, "u1", device="cuda")  # opens the context, in which a driver may wait for earlier work
    producer, stream = kind(cuda), cuda.stream()
    producer.fill(5)
    waits = cuda.counts().host_waits
    view = bi.buffer_interface(producer)
    view.copy()
    view.acquire(stream)
    assert cuda.counts().host_waits == waits


def test_C7_sync_false_waits_for_nobody(bi, cuda):
    producer = CuPyLike(cuda)
    producer.fill(5)
    before = cuda.counts().waits
    view = bi.buffer_interface(producer, sync=False)
    stream = cuda.stream()
    view.acquire(stream)
    view.hand_back(stream)
    assert cuda.counts().waits == before
    assert cuda.ordered(stream, producer.pointer, N) is (cuda.sim is None)


def test_C7_race_is_seen_where_nobody_orders(bi, cuda):
    """The proof of the proofs: the same work without the protocol is reported."""
    producer = CuPyLike(cuda)
    producer.fill(5)
    other = cuda.stream()
    assert not cuda.ordered(other, producer.pointer, N) or cuda.sim is None
    bi.buffer_interface(producer).acquire(other)
    assert cuda.ordered(other, producer.pointer, N)


def test_C7_end_of_with_waits_where_no_stream_was_named(bi, cuda):
    producer = Naming(cuda)
    with bi.buffer_interface(producer) as view:
        view.fill(4)
        assert not cuda.ordered(producer.stream, producer.pointer, N) or cuda.sim is None
    producer.fill(7)
    assert producer.bytes() == bytes([7]) * N


@pytest.mark.parametrize("version", [Version0, Version1, TorchLike])
def test_C7_producer_stream_for_those_who_name_none(bi, cuda, version):
    producer = version(cuda)
    producer.fill(5)
    view = bi.buffer_interface(producer, protocol="cuda_array_interface", producer_stream=producer.stream)
    assert bytes(view.to("host")) == bytes([5]) * N
    view.fill(6)
    producer.fill(7)


def test_C7_per_thread_default_stream_of_a_producer(bi, cuda):
    producer = Naming(cuda, stream=PER_THREAD)
    producer.named = PER_THREAD
    producer.fill(5)
    assert bytes(bi.buffer_interface(producer).to("host")) == bytes([5]) * N


@pytest.mark.parametrize("pools", [0, 1])
@pytest.mark.parametrize("cuda_options", [{"pools": 0, "seed": 4}, {"pools": 1, "seed": 5}])
def test_C7_chains_of_libraries(bi, cuda, pools):
    """Work goes from a producer through us to a consumer and back, ten times, with every protocol."""
    producer = CuPyLike(cuda, kind="pool" if pools and cuda_pools(cuda) else "plain")
    view = bi.buffer_interface(producer)
    consumers = itertools.cycle([CaiConsumer(cuda), DLPackConsumer(cuda), CaiConsumer(cuda, LEGACY)])
    for value, consumer in zip(range(10), consumers):
        producer.fill(value)
        view.acquire(consumer.stream)
        consumer.take(view)
        consumer.fill(value + 1)
        view.hand_back(consumer.stream)
        if isinstance(consumer, DLPackConsumer):
            consumer.delete()
        view.fill(value + 2)
    producer.fill(100)
    assert producer.bytes() == bytes([100]) * N


def cuda_pools(cuda):
    try:
        cuda.free(cuda.alloc(8, "pool"))
    except RuntimeError:
        return False
    return True


# C1, C2, C5, C6, C8: what comes with the order


@pytest.mark.parametrize("version", [Version0, Version1, TorchLike, CuPyLike])
def test_C1_each_version_is_taken(bi, cuda, version):
    view = bi.buffer_interface(version(cuda, (4, 3), "<f4"), protocol="cuda_array_interface")
    assert view.shape == (4, 3) and view.strides == (12, 4)


def test_C1_version_4_is_refused_by_number(bi, cuda):
    array = DeviceArray(cuda)
    with pytest.raises(BufferError, match=r"4.*\[C1\]"):
        bi.buffer_interface(Given({**array._members(), "version": 4}))


def test_C2_mapping_of_version_0_only(bi, cuda):
    members = DeviceArray(cuda)._members()
    assert bi.buffer_interface(Given(Mapping0(members))).shape == (N,)
    with pytest.raises(TypeError):
        bi.buffer_interface(Given(Mapping0({**members, "version": 3})))


@pytest.mark.parametrize("stream", [None, 1, "handle"])
def test_C5_without_elements_nothing_is_asked(bi, cuda, stream):
    array = DeviceArray(cuda, (0, 4), "<f4")
    named = array.stream if stream == "handle" else stream
    value = {**array._members(), "data": (0, False), "version": 3, "stream": named}
    start = cuda.calls()
    view = bi.buffer_interface(Given(value))
    assert view.shape == (0, 4)
    names = cuda.sim.calls(start) if cuda.sim else []
    assert not [name for name in names if "PointerGet" in name or "AddressRange" in name]


def test_C6_stream_0_is_refused_in_every_version(bi, cuda):
    members = DeviceArray(cuda)._members()
    for version in range(4):
        with pytest.raises(BufferError, match=r"\[C6\]"):
            bi.buffer_interface(Given({**members, "version": version, "stream": 0}))


@pytest.mark.parametrize("stream", [LEGACY, PER_THREAD])
def test_C6_default_streams_are_honoured(bi, cuda, stream):
    producer = Naming(cuda, stream=stream)
    producer.named = stream
    producer.fill(3)
    assert bytes(bi.buffer_interface(producer).to("host")) == bytes([3]) * N


def test_C6_stream_counts_in_older_versions_too(bi, cuda):
    array = DeviceArray(cuda)
    array.fill(3)
    view = bi.buffer_interface(Given({**array._members(), "version": 2, "stream": array.stream}))
    assert bytes(view.to("host")) == bytes([3]) * N


@pytest.mark.parametrize("kind", [CuPyLike, TorchLike])
def test_C8_the_object_is_kept_not_only_its_dict(bi, cuda, kind):
    producer = kind(cuda)
    alive = weakref.ref(producer)
    view = bi.buffer_interface(producer)
    part = view[3:]
    del producer, view
    gc.collect()
    assert alive() is not None
    part.release()
    cuda.synchronize()
    bi.trim()
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("kind", [CuPyLike, NumbaLike, JaxLike])
def test_C14_one_look_at_the_attribute(bi, cuda, kind):
    producer = kind(cuda)
    bi.buffer_interface(producer, protocol="cuda_array_interface")
    assert producer.reads == 1
    bi.buffer_interface(producer)
    assert producer.reads == 2


def test_C15_current_context_stays(bi, cuda, second):
    elsewhere = NumbaLike(second)
    current = cuda.current()
    view = bi.buffer_interface(elsewhere)
    assert cuda.current() == current
    assert view.device == 1


def test_C15_context_of_nobody_is_made(bi, cuda):
    producer = NumbaLike(cuda)
    with cuda.left():
        view = bi.buffer_interface(producer)
        assert cuda.current() == 0
        view.release()


# D11: the stream of __dlpack__


@pytest.fixture
def pending(bi, cuda):
    """An array with work of its producer on the producer's stream."""
    producer = CuPyLike(cuda)
    producer.fill(5)
    return bi.buffer_interface(producer), producer.pointer


@pytest.mark.parametrize("stream", [LEGACY, PER_THREAD, "handle"])
def test_D11_stream_comes_after_our_work(cuda, pending, stream):
    consumer = DLPackConsumer(cuda, None if stream == "handle" else stream).take(pending[0])
    assert cuda.ordered(consumer.stream, pending[1], N)
    assert consumer.copied() == bytes([5]) * N
    consumer.delete()


def test_D11_none_is_the_legacy_default_stream(cuda, pending):
    consumer = DLPackConsumer(cuda, LEGACY).take(pending[0], stream=None)
    assert cuda.ordered(LEGACY, pending[1], N)
    consumer.delete()


def test_D11_minus_1_waits_for_nothing(cuda, pending):
    before = cuda.counts().waits
    consumer = DLPackConsumer(cuda).take(pending[0], stream=-1)
    assert cuda.counts().waits == before
    assert not cuda.ordered(consumer.stream, pending[1], N) or cuda.sim is None
    consumer.delete()


@pytest.mark.parametrize("stream", [0, -2, -(1 << 70), 1 << 70])
def test_D11_numbers_that_are_no_streams(pending, stream):
    with pytest.raises((ValueError, OverflowError)):
        pending[0].__dlpack__(stream=stream)


@pytest.mark.parametrize("stream", ["1", 1.0, object(), True, False])
def test_D11_what_is_no_number(pending, stream):
    with pytest.raises(TypeError):
        pending[0].__dlpack__(stream=stream)


def test_D11_host_has_no_stream(bi):
    view = bi.buffer_interface(bytearray(8))
    for stream in (None, -1):
        dl.take(view.__dlpack__(stream=stream)).delete()
    for stream in (0, 1, 2, 77):
        with pytest.raises((BufferError, ValueError)):
            view.__dlpack__(stream=stream)


def test_D11_opencl_takes_none_only(bi, pocl):
    view = bi.empty((4,), "<f4", device=pocl)
    dl.take(view.__dlpack__()).delete()
    for stream in (-1, 0, 1, 2):
        with pytest.raises(BufferError):
            view.__dlpack__(stream=stream)


# E9, E10: asking others


def test_E9_device_of_the_tensor_is_current_within_the_call(bi, cuda, second):
    producer = TorchLike(second)
    view = bi.buffer_interface(producer, protocol="dlpack")
    assert producer.device_at_export == 1
    assert view.device == 1
    assert cuda.current_device() == 0


def test_E9_without_any_context(bi, cuda, second):
    producer = TorchLike(second)
    with cuda.left():
        bi.buffer_interface(producer, protocol="dlpack")
        assert cuda.current() == 0
    assert producer.device_at_export == 1


@pytest.mark.parametrize("kind", [CuPyLike, TorchLike, OldTorchLike, JaxLike])
def test_E10_stream_is_always_passed(bi, cuda, kind):
    producer = kind(cuda)
    producer.fill(5)
    view = bi.buffer_interface(producer, protocol="dlpack")
    assert producer.asked["stream"] not in (None, 0, -1)
    assert bytes(view.to("host")) == bytes([5]) * N


def test_E10_sync_false_passes_minus_1(bi, cuda):
    producer = CuPyLike(cuda)
    bi.buffer_interface(producer, protocol="dlpack", sync=False)
    assert producer.asked["stream"] == -1


class NoStream(CuPyLike):
    """Works on a non-blocking stream, and orders nothing behind it."""

    def __dlpack__(self):
        return self._tensor(versioned=False)


def test_E10_a_producer_without_the_argument_stream_is_refused(bi, cuda):
    producer = NoStream(cuda)
    with pytest.raises(TypeError, match=r"of type NoStream fails .*: .*unexpected.* producer_stream= .* sync=False .*\[E10\]"):
        bi.buffer_interface(producer, protocol="dlpack")
    for options in ({"sync": False}, {"producer_stream": producer.stream}):
        assert bi.buffer_interface(producer, protocol="dlpack", **options).shape == producer.shape


class NoStreamAtAll(OldTorchLike):
    """The dictionary names no stream either."""

    def __dlpack__(self):
        return self._tensor(versioned=False)


def test_E10_a_dictionary_is_read_where_dlpack_takes_no_stream(bi, cuda):
    producer = NoStreamAtAll(cuda)
    view = bi.buffer_interface(producer)
    assert (view.shape, view.stream, producer.reads) == (producer.shape, None, 1)
    with pytest.raises(TypeError, match="E10"):
        bi.buffer_interface(producer, protocol="dlpack")


def test_E10_no_default_stream_of_a_thread_is_passed(bi, cuda):
    """PyTorch refuses 2, and 0 means two things: our own stream is neither."""
    producer = TorchLike(cuda)
    producer.fill(5)
    stream = cuda.stream()
    with bi.buffer_interface(producer, protocol="dlpack", stream=stream):
        assert producer.asked["stream"] > 2
        cuda.fill(producer.pointer, 6, N, stream)
    producer.fill(7)
    assert producer.bytes() == bytes([7]) * N
