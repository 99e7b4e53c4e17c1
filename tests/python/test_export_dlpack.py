"""Rules D1 to D12: what is in a capsule.

Ordering, copies and deleters on CUDA are in test_rules_ordering and test_rules_dlpack.
"""

import ctypes
import enum

import numpy as np
import pytest

import dlpack_structs as dl
from producers import CuPyLike

N = 24


@pytest.fixture
def numbers():
    return np.arange(N, dtype="<f4").reshape(4, 6)


@pytest.fixture
def view(bi, numbers):
    return bi.buffer_interface(numbers)


def taken(view, **words):
    words.setdefault("max_version", (1, 3))
    return dl.take(view.__dlpack__(**words))


def tensor_of(view, **words):
    """Members of the tensor, which is let go."""
    held = taken(view, **words)
    tensor = held.tensor
    members = {
        "data": tensor.data,
        "device": (tensor.device.device_type, tensor.device.device_id),
        "dtype": (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes),
        "shape": tensor.shape_tuple(),
        "strides": tensor.strides_tuple(),
        "byte_offset": tensor.byte_offset,
        "flags": held.flags,
    }
    held.delete()
    return members


# D1: arguments


def test_D1_methods_are_on_the_type(bi):
    assert "__dlpack__" in vars(bi.BufferInterface)
    assert "__dlpack_device__" in vars(bi.BufferInterface)


@pytest.mark.parametrize("args", [(None,), (-1,), (None, (1, 0))])
def test_D1_positional_arguments_are_refused(view, args):
    with pytest.raises(TypeError, match="D1"):
        view.__dlpack__(*args)


@pytest.mark.parametrize("name", ["strem", "", "max_versio", "Stream", "stréam"])
def test_D1_unknown_names_are_refused(view, name):
    with pytest.raises(TypeError, match="D1"):
        view.__dlpack__(**{name: None})


def test_D1_names_are_compared_by_value(view):
    words = {"".join(["max_", "version"]): (1, 0), "".join(["co", "py"]): None, "".join(["str", "eam"]): None}
    assert dl.capsule_name(view.__dlpack__(**words)) == dl.VERSIONED


def test_D1_none_everywhere_is_the_default(view):
    capsule = view.__dlpack__(stream=None, max_version=None, dl_device=None, copy=None)
    assert dl.capsule_name(capsule) == dl.UNVERSIONED


# D2: which kind of capsule


@pytest.mark.parametrize("version", [(1, 0), (1, 3), (1, 99), (2, 0), (100, 0), (1 << 80, 0)])
def test_D2_major_version_1_and_above(view, version):
    capsule = view.__dlpack__(max_version=version)
    assert dl.capsule_name(capsule) == dl.VERSIONED
    held = dl.take(capsule)
    assert (held.block.major, held.block.minor) == (1, 3)
    held.delete()


@pytest.mark.parametrize("version", [None, (0, 8), (0, 99), (-1, 0), (-(1 << 80), 0)])
def test_D2_below_it_has_no_version(view, version):
    assert dl.capsule_name(view.__dlpack__(max_version=version)) == dl.UNVERSIONED


@pytest.mark.parametrize("version", [1, "1.0", (1,), (1, 0, 0), [1, 0], (1.0, 0), ("1", "0"), (None, None)])
def test_D2_what_is_no_version(view, version):
    with pytest.raises(TypeError, match="max_version"):
        view.__dlpack__(max_version=version)


# D3: read-only


def test_D3_readonly_needs_a_version(bi):
    view = bi.buffer_interface(bytes(8))
    with pytest.raises(BufferError, match="D3"):
        view.__dlpack__()
    assert tensor_of(view)["flags"] == dl.READONLY


def test_D3_writable_has_no_flag(view):
    assert tensor_of(view)["flags"] == 0


# D4, D5, D6, D7: the layout


@pytest.mark.parametrize(
    "key",
    [np.s_[:], np.s_[::2], np.s_[:, ::-1], np.s_[::-2, 1:5:3], np.s_[1:2, ::2], np.s_[:, 3:4], np.s_[None, 2, None]],
    ids=str,
)
def test_D4_D7_strides_in_elements_and_no_byte_offset(bi, numbers, key):
    part = numbers[key]
    members = tensor_of(bi.buffer_interface(numbers)[key] if key != np.s_[:] else bi.buffer_interface(part))
    expected = tuple(s // 4 if n > 1 else 1 for n, s in zip(part.shape, part.strides))
    assert members["shape"] == part.shape
    assert members["strides"] == expected
    assert members["data"] == part.ctypes.data
    assert members["byte_offset"] == 0


def test_D4_strides_that_are_no_multiples_are_refused(bi):
    field = np.zeros(4, dtype=[("a", "u1"), ("b", "<f4")])["b"]
    with pytest.raises(bi.UnsupportedError, match="D4"):
        bi.buffer_interface(field).__dlpack__(max_version=(1, 3))


def test_D5_without_dimensions_there_is_no_shape(bi):
    number = np.array(3.5)
    members = tensor_of(bi.buffer_interface(number))
    assert members["shape"] is None and members["strides"] is None
    assert ctypes.c_double.from_address(members["data"]).value == 3.5


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3, 4)])
def test_D6_without_elements_there_is_no_pointer(bi, shape):
    members = tensor_of(bi.buffer_interface(np.zeros(shape, "<i2")))
    assert (members["data"], members["byte_offset"], members["shape"]) == (None, 0, shape)


# D8: OpenCL


def test_D8_opencl_is_a_cl_mem_and_an_offset(bi, pocl):
    view = bi.empty((8, 4), "<i2", device=pocl)[2:, 1:]
    members = tensor_of(view)
    assert members["device"] == view.__dlpack_device__() == (dl.OPENCL, 0)
    assert members["data"] == view.buffer.int_ptr
    assert members["byte_offset"] == view.offset == 18
    assert members["strides"] == (4, 1)


def test_D8_opencl_memory_without_elements(bi, pocl):
    members = tensor_of(bi.empty((0,), "<i2", device=pocl))
    assert (members["data"], members["byte_offset"]) == (None, 0)


# D9: types

TYPES = [
    ("|b1", (dl.BOOL, 8, 1)),
    ("|i1", (dl.INT, 8, 1)),
    ("<i8", (dl.INT, 64, 1)),
    ("<u2", (dl.UINT, 16, 1)),
    ("<f2", (dl.FLOAT, 16, 1)),
    ("<f8", (dl.FLOAT, 64, 1)),
    ("<c8", (dl.COMPLEX, 64, 1)),
    ("<c16", (dl.COMPLEX, 128, 1)),
]


@pytest.mark.parametrize("typestr, triple", TYPES)
def test_D9_types_of_the_array_interface(bi, typestr, triple):
    assert tensor_of(bi.buffer_interface(np.zeros(3, typestr)))["dtype"] == triple


SMALL = [
    ("bfloat16", (dl.BFLOAT, 16, 1), 0),
    ("float8_e3m4", (7, 8, 1), 0),
    ("float8_e4m3fn", (10, 8, 1), 0),
    ("float8_e5m2", (12, 8, 1), 0),
    ("float8_e8m0fnu", (14, 8, 1), 0),
    ("float6_e2m3fn", (15, 6, 1), dl.PADDED),
    ("float4_e2m1fn", (17, 4, 1), dl.PADDED),
    ("float32x4", (dl.FLOAT, 32, 4), 0),
]


@pytest.mark.parametrize("name, triple, flags", SMALL)
def test_D9_types_that_only_dlpack_has(bi, name, triple, flags):
    members = tensor_of(bi.empty((3,), name, device="host"))
    assert (members["dtype"], members["flags"]) == (triple, flags)


@pytest.mark.parametrize("name", ["float6_e2m3fn", "float4_e2m1fn"])
def test_D9_padding_cannot_be_said_without_a_version(bi, name):
    with pytest.raises(BufferError, match="D9"):
        bi.empty((3,), name, device="host").__dlpack__()


@pytest.mark.parametrize("dtype", [">f4", "V5", [("a", "<f4"), ("b", "<i2")], "S3", "<U2"], ids=str)
def test_D9_types_without_a_triple_are_refused(bi, dtype):
    with pytest.raises(bi.UnsupportedError, match="D9"):
        bi.buffer_interface(np.zeros(2, dtype)).__dlpack__(max_version=(1, 3))


def test_D9_a_copy_in_host_memory_needs_a_triple(bi, pocl):
    array = bi.empty((3,), "S5", device=pocl)
    with pytest.raises(bi.UnsupportedError, match="D9"):
        array.__dlpack__(dl_device=(1, 0), copy=True)


# D10: the device


def test_D10_device_is_two_plain_ints(view):
    device = view.__dlpack_device__()
    assert device == (dl.CPU, 0)
    assert type(device) is tuple and [type(number) for number in device] == [int, int]


@pytest.mark.parametrize(
    "kind, device", [("plain", (dl.CUDA, 0)), ("pool", (dl.CUDA, 0)), ("managed", (dl.CUDA_MANAGED, 0))]
)
def test_D10_device_is_that_of_the_tensor(bi, cuda, kind, device):
    view = bi.buffer_interface(CuPyLike(cuda, kind=kind))
    assert view.__dlpack_device__() == device == tensor_of(view)["device"]


def test_D10_second_device(bi, second):
    with second.entered():
        array = CuPyLike(second)
    view = bi.buffer_interface(array)
    assert view.__dlpack_device__() == (dl.CUDA, 1) == tensor_of(view)["device"]


def test_D10_types_that_dlpack_lacks_have_a_device_all_the_same(bi):
    assert bi.buffer_interface(np.zeros(2, "V3")).__dlpack_device__() == (dl.CPU, 0)


# D12: the host


class Kind(enum.IntEnum):
    CPU = 1


@pytest.mark.parametrize("device", [(1, 0), (Kind.CPU, 0), (True, False)])
def test_D12_own_device_is_no_copy(view, numbers, device):
    assert tensor_of(view, dl_device=device)["data"] == numbers.ctypes.data


@pytest.mark.parametrize("device", [(1, 1), (2, 0), (4, 0), (3, 0)])
def test_D12_host_memory_is_on_no_other_device(bi, view, device):
    with pytest.raises(bi.UnsupportedError, match="D12"):
        view.__dlpack__(dl_device=device)


@pytest.mark.parametrize("device", [1, (1,), "cpu", (1, None)])
def test_D12_what_is_no_device(view, device):
    with pytest.raises(TypeError, match="dl_device"):
        view.__dlpack__(dl_device=device)


def test_D12_opencl_is_copied_to_the_host(bi, pocl, numbers):
    view = bi.from_numpy(numbers, device=pocl)[::-1, ::2]
    copied = np.from_dlpack(view, device="cpu", copy=True)
    assert (copied == numbers[::-1, ::2]).all()
    assert taken_is_copied(view)
    with pytest.raises(bi.UnsupportedError, match="D12"):
        view.__dlpack__(dl_device=(1, 0), copy=False)


def taken_is_copied(view):
    members = tensor_of(view, dl_device=(1, 0))
    return members["device"] == (dl.CPU, 0) and members["flags"] & dl.COPIED


@pytest.mark.parametrize("name", ["float6_e2m3fn", "float4_e2m1fn"])
def test_D12_types_with_padding_are_copied_to_the_host(bi, pocl, name):
    assert tensor_of(bi.empty((3,), name, device=pocl), dl_device=(1, 0))["flags"] == dl.COPIED | dl.PADDED


def test_D12_strides_that_dlpack_cannot_name_are_copied_to_the_host(bi, pocl):
    whole = np.arange(18, dtype="u1").reshape(2, 9)
    view = bi.from_numpy(whole, device=pocl)[:, 1:].view("<f4")
    held = taken(view, dl_device=(1, 0))
    assert held.tensor.strides_tuple() == (2, 1) and held.flags & dl.COPIED
    assert ctypes.string_at(held.tensor.data, 16) == whole[:, 1:].tobytes()
    held.delete()


def test_D12_truth_of_copy_is_asked_as_python_asks(view, numbers):
    class Undecided:
        def __bool__(self):
            raise ArithmeticError

    assert tensor_of(view, copy=np.False_)["data"] == numbers.ctypes.data
    with pytest.raises(ArithmeticError):
        view.__dlpack__(copy=Undecided())


# L1: released arrays


def test_L1_released_arrays_give_nothing(bi, view):
    capsule = view.__dlpack__(max_version=(1, 3))
    view.release()
    for call in (view.__dlpack__, view.__dlpack_device__):
        with pytest.raises(bi.InvalidArrayError):
            call()
    held = dl.take(capsule)
    assert ctypes.c_float.from_address(held.tensor.data + 4).value == 1
    held.delete()


# Pending work of a device on host memory


def test_D11_host_memory_is_shown_when_the_device_is_done(bi, cuda):
    source = CuPyLike(cuda)
    source.fill(7)
    host = bi.empty((64,), "|u1", device="host")
    bi.copyto(host, bi.buffer_interface(source))
    assert (np.from_dlpack(host) == 7).all()


@pytest.mark.parametrize("stream", [0, 1, 2, 1 << 70, -(1 << 70), "1"])
def test_D11_host_memory_has_no_stream(bi, view, stream):
    with pytest.raises(bi.UnsupportedError, match="D11"):
        view.__dlpack__(stream=stream)
