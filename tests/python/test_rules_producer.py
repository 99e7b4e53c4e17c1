"""Rules P1 to P17: what our arrays say as producers of the CUDA Array Interface, on the simulated driver."""

import gc

import pytest

from consumers import CaiConsumer
from producers import CuPyLike, DeviceArray, Given, Naming, NumbaLike, TorchLike

N = 64
REQUIRED = {"shape", "typestr", "data", "version", "strides"}


def idle(bi, cuda, shape=(N,), typestr="|u1"):
    """An array of ours over memory of a producer who has no work pending, and its address."""
    producer = NumbaLike(cuda, shape, typestr)
    producer.bound = False
    return bi.buffer_interface(producer), producer.pointer


@pytest.fixture
def view(bi, cuda):
    return idle(bi, cuda)[0]


@pytest.fixture
def base(bi, cuda):
    """An array and its address."""
    return idle(bi, cuda)


def cai(array):
    return array.__cuda_array_interface__


# P1, P2: the dictionary


def test_P1_property_is_on_the_type(view):
    assert "__cuda_array_interface__" in vars(type(view))
    assert not hasattr(view, "__dict__")


def test_P1_each_access_gives_a_new_dict(view):
    first = cai(view)
    assert type(first) is dict
    first["shape"] = (99,)
    first.clear()
    second = cai(view)
    assert second is not first
    assert second["shape"] == (N,)


def test_P2_keys_and_their_types(view):
    members = cai(view)
    assert set(members) == REQUIRED | {"stream"}
    assert type(members["shape"]) is tuple and all(type(extent) is int for extent in members["shape"])
    assert type(members["typestr"]) is str
    assert type(members["data"]) is tuple and [type(item) for item in members["data"]] == [int, bool]
    assert type(members["version"]) is int and members["version"] == 3
    assert members["strides"] is None and members["stream"] is None


@pytest.mark.parametrize("version", [0, 1, 2])
def test_P2_no_stream_below_version_3(view, version):
    assert "stream" not in view.cuda_array_interface(version)


# P3, P4, P5, P16: pointer and strides


def test_P3_pointer_is_0_without_elements_only(base):
    view, pointer = base
    assert cai(view)["data"][0] == pointer
    assert cai(view[5:5])["data"] == (0, False)
    assert cai(view[N:])["data"][0] == 0
    assert cai(view[N - 1 :])["data"][0] == pointer + N - 1
    assert cai(view.reshape(N, 1)[:, 1:])["data"][0] == 0


def test_P4_no_strides_if_c_contiguous(bi, cuda):
    view, _ = idle(bi, cuda, (4, 6), "<f4")
    assert cai(view)["strides"] is None
    assert cai(view[1:3])["strides"] is None
    assert cai(view[::2])["strides"] == (48, 4)
    assert cai(view.T)["strides"] == (4, 24)
    assert cai(view[:, 2])["strides"] == (24,)


def test_P4_extents_of_1_and_no_elements_do_not_count(bi, cuda):
    view, _ = idle(bi, cuda, (4, 6), "<f4")
    assert cai(view[1:2, 1:3])["strides"] is None
    assert cai(view[:, 1:2][::4])["strides"] is None
    assert cai(view[::2][:0])["strides"] is None


def test_P5_offset_is_in_the_pointer(base):
    view, pointer = base
    part = view[10:]
    assert cai(part)["data"][0] == pointer + 10
    assert "offset" not in cai(part)
    assert part.offset == 0


def test_P16_negative_strides_stay(base):
    view, pointer = base
    backward = cai(view[::-2])
    assert backward["strides"] == (-2,)
    assert backward["data"][0] == pointer + N - 1
    assert backward["shape"] == (N // 2,)


def test_P16_zero_strides_stay(bi, cuda):
    view, pointer = idle(bi, cuda, (3,), "<f4")
    wide = cai(view.broadcast_to((5, 3)))
    assert wide["strides"] == (0, 4)
    assert wide["data"] == (pointer, True)


# P6, P7, P8: the stream


@pytest.mark.parametrize("named", [1, 2, "handle"])
def test_P6_stream_is_never_0(bi, cuda, named):
    producer = Naming(cuda, stream=named if named != "handle" else None)
    producer.named = producer.stream
    producer.fill(1)
    stream = cai(bi.buffer_interface(producer))["stream"]
    assert stream in (1, producer.stream) if named != 2 else stream > 2
    assert type(stream) is int and stream != 0


def test_P6_P7_own_work_names_the_context_stream(view):
    assert cai(view)["stream"] is None
    view.fill(3)
    assert cai(view)["stream"] > 2
    view.synchronize()
    assert cai(view)["stream"] is None


def test_P7_consumer_that_follows_the_stream_has_no_race(cuda, view):
    view.fill(3)
    consumer = CaiConsumer(cuda).take(view)
    assert consumer.copied() == bytes([3]) * N
    consumer.fill(4)
    consumer.hand_back()
    view.fill(5)
    assert CaiConsumer(cuda).take(view).copied() == bytes([5]) * N


def test_P7_streams_7_9_15_are_joined_into_the_exported_one(cuda, view):
    """The example of the interface's document: work on three streams, one is exported."""
    pointer = cai(view)["data"][0]
    streams = [cuda.stream() for _ in range(3)]
    for index, stream in enumerate(streams):
        cuda.fill(pointer + 16 * index, index + 7, 16, stream)
    view.join(*streams)
    exported = cai(view)["stream"]
    assert cuda.ordered(exported, pointer, N)
    assert CaiConsumer(cuda).take(view[:48]).copied() == bytes([7] * 16 + [8] * 16 + [9] * 16)


def test_P7_state_is_not_asked_of_the_driver(cuda, view):
    view.fill(3)
    cuda.synchronize()
    assert cai(view)["stream"] is not None


def test_P8_stream_outlives_what_closes_the_contexts(bi, cuda, view):
    view.fill(1)
    stream = cai(view)["stream"]
    bi._core._close_contexts()
    gc.collect()
    cuda.fill(cai(view)["data"][0], 2, N, stream)
    cuda.synchronize_stream(stream)


def test_P8_stream_of_the_producer_is_kept_with_the_producer(bi, cuda):
    producer = CuPyLike(cuda)
    producer.fill(1)
    view = bi.buffer_interface(producer)
    assert cai(view)["stream"] == producer.stream
    part = view[3:]
    del view
    gc.collect()
    assert cai(part)["stream"] == producer.stream


# P9, P10, P11, P12: mask and types


def masked(cuda):
    array, mask = DeviceArray(cuda), DeviceArray(cuda, typestr="|b1")
    named = Given({**mask._members(), "version": 3, "stream": None})
    return Given({**array._members(), "version": 3, "stream": None, "mask": named})


def test_P9_no_mask_no_key(view):
    assert "mask" not in cai(view)


def test_P9_mask_is_an_object_with_the_interface(bi, cuda):
    view = bi.buffer_interface(masked(cuda), mask="keep")
    mask = cai(view)["mask"]
    assert cai(mask)["typestr"] == "|b1"
    assert cai(mask)["shape"] == (N,)


def test_P9_version_0_cannot_have_a_mask(bi, cuda):
    view = bi.buffer_interface(masked(cuda), mask="keep")
    with pytest.raises(bi.UnsupportedError):
        view.cuda_array_interface(0)
    assert "mask" in view.cuda_array_interface(1)


def test_P10_no_descr_for_simple_types(view):
    assert cai(view).get("descr", [("", "|u1")]) == [("", "|u1")]


def test_P10_descr_of_a_structured_type_is_complete(bi, cuda):
    descr = [("x", "<f4"), ("", "|V4"), ("n", "<i8")]
    array = DeviceArray(cuda, (4,), "|V16")
    producer = Given({**array._members(), "version": 3, "stream": None, "descr": descr})
    members = cai(bi.buffer_interface(producer))
    assert members["typestr"] == "|V16"
    assert members["descr"] == descr


@pytest.mark.parametrize("typestr", ["|b1", "|i1", "<i2", "<u4", "<f2", "<f4", "<f8", "<c8", "<c16"])
def test_P11_typestr_is_native(bi, cuda, typestr):
    view, _ = idle(bi, cuda, (4,), typestr)
    assert cai(view)["typestr"] == typestr


def test_P11_other_byte_order_is_not_exported(view):
    assert not hasattr(view.view(">i2"), "__cuda_array_interface__")


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "uint8x2"])
def test_P12_types_without_a_name_are_not_there(view, name):
    named = view.view(name)
    assert not hasattr(named, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match=r"\[P12\]"):
        named.__cuda_array_interface__


def test_P12_bfloat16_as_void_on_request_only(view):
    named = view.view("bfloat16")
    members = named.cuda_array_interface(bfloat16_as_void=True)
    assert members["typestr"].endswith("V2")
    assert members["shape"] == (N // 2,)


# P13, P14: what may be done with it


def test_P13_readonly_is_true(bi, cuda):
    array = DeviceArray(cuda)
    members = array._members()
    reader = bi.buffer_interface(Given({**members, "data": (array.pointer, True), "version": 3}))
    writer = bi.buffer_interface(Given({**members, "version": 3}))
    assert cai(reader)["data"] == (array.pointer, True)
    assert cai(reader[3:])["data"][1] is True
    assert cai(writer)["data"][1] is False
    assert cai(bi.buffer_interface(writer, writable=False))["data"][1] is True


def test_P14_host_memory_has_no_such_attribute(bi):
    view = bi.buffer_interface(bytearray(8))
    assert not hasattr(view, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match=r"\[P14\]"):
        view.__cuda_array_interface__


def test_P14_opencl_memory_has_no_such_attribute(bi, pocl):
    assert not hasattr(bi.empty((4,), "<f4", device=pocl), "__cuda_array_interface__")


@pytest.mark.parametrize("kind", ["plain", "pool", "managed", "pinned"])
def test_P14_memory_that_devices_reach_has_it(bi, cuda, kind):
    array = DeviceArray(cuda, kind=kind)
    view = bi.buffer_interface(Given({**array._members(), "version": 2}))
    assert cai(view)["data"][0] == array.pointer


# P15, P17: reading, versions


@pytest.mark.parametrize("is_pending", [False, True])
def test_P15_reading_makes_no_driver_call(cuda, view, is_pending):
    if is_pending:
        view.fill(1)
    before = cuda.calls()
    reads = [cai(view) for _ in range(3)]
    assert cuda.calls() == before
    assert reads[0] == reads[1] == reads[2]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_P17_versions_below_3_wait_first(cuda, view, version):
    view.fill(6)
    waits = cuda.counts().host_waits
    members = view.cuda_array_interface(version)
    assert members.get("version", 0) == version
    assert cuda.counts().host_waits > waits or cuda.sim is None
    assert cuda.ordered(0, members["data"][0], N)


@pytest.mark.parametrize("option", ["sync", "synchronize", "bfloat16_as_void"])
def test_an_option_that_is_none_is_refused(view, option):
    with pytest.raises(TypeError, match=f"{option} is None, not True or False"):
        view.cuda_array_interface(**{option: None})


def test_P17_opt_out_of_waiting(cuda, view):
    view.fill(6)
    waits = cuda.counts().host_waits
    assert "stream" not in view.cuda_array_interface(2, sync=False)
    assert view.cuda_array_interface(3, sync=False)["stream"] is None
    assert cuda.counts().host_waits == waits
    view.synchronize()


def test_P17_synchronise_first_names_no_stream(cuda, view):
    view.fill(6)
    members = view.cuda_array_interface(synchronize=True)
    assert members["version"] == 3 and members["stream"] is None
    assert cuda.ordered(0, members["data"][0], N)


@pytest.mark.parametrize("version", [-1, 4, 1 << 40])
def test_P17_other_versions_do_not_exist(bi, view, version):
    with pytest.raises((ValueError, OverflowError)):
        view.cuda_array_interface(version)


def test_P7_P17_pytorch_like_producer_comes_out_as_version_3(bi, cuda):
    producer = TorchLike(cuda)
    producer.fill(9)
    view = bi.buffer_interface(producer)
    assert cai(view)["version"] == 3
    assert CaiConsumer(cuda).take(view).copied() == bytes([9]) * N
