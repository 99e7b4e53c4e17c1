"""ml_dtypes: types that NumPy does not have keep their name, or are refused; never are their bytes taken for others."""

import ml_dtypes
import numpy as np
import pytest

from buffer_interface import UnsupportedError, UnsupportedTypeError, buffer_interface, empty
from peers.fixtures import nanobind_peer  # noqa: F401

# Name, DLPack code and bits.
TYPES = {
    "bfloat16": (4, 16),
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
    "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6),
    "float4_e2m1fn": (17, 4),
}
types = pytest.mark.parametrize("name", TYPES)


@types
def test_made_by_type_and_by_name(name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    for spelling in (name, dtype, getattr(ml_dtypes, name)):
        view = empty((2, 3), spelling, device="host")
        assert (view.dtype, view.itemsize, view.nbytes) == (dtype, dtype.itemsize, 6 * dtype.itemsize)
        assert view.typestr == name


@types
def test_values_survive_a_round_trip(name):
    dtype = getattr(ml_dtypes, name)
    source = np.array([0.5, 1, 2, 4], dtype=dtype)
    view = buffer_interface(source)
    assert view.dtype == source.dtype
    with view[::-1].map("r") as mapped:
        got = np.asarray(mapped).view(mapped.dtype)[..., 0].astype("f4").tolist()
    assert got == [4, 2, 1, 0.5]


@types
def test_arrays_are_imported_with_their_type(name):
    source = np.array([0.5, 1, 2], dtype=getattr(ml_dtypes, name))
    view = buffer_interface(source)
    assert view.dtype == source.dtype
    assert int(view.buffer) == source.ctypes.data


@types
def test_D9_dlpack_says_code_and_bits(name, nanobind_peer):
    view = empty(4, name, device="host")
    assert nanobind_peer.describe(view)[5:] == (*TYPES[name], 1)


@types
def test_P11_P12_protocols_that_cannot_name_it_do_not_lie(name):
    view = empty(4, name, device="host")
    for attribute in ("__array_interface__", "__array_struct__", "__cuda_array_interface__"):
        assert not hasattr(view, attribute)
    with pytest.raises(UnsupportedError):
        memoryview(view).format


def test_the_other_byte_order_is_refused():
    source = np.arange(3).astype(ml_dtypes.bfloat16)
    swapped = source.astype(source.dtype.newbyteorder("S"))
    for refused in (lambda: buffer_interface(swapped), lambda: empty(3, swapped.dtype, device="host")):
        with pytest.raises(UnsupportedTypeError, match="byte order"):
            refused()


def test_one_byte_has_no_order():
    swapped = np.dtype(ml_dtypes.float8_e5m2).newbyteorder("S")
    assert buffer_interface(np.zeros(3, ml_dtypes.float8_e5m2).view(swapped)).dtype == ml_dtypes.float8_e5m2


@pytest.mark.parametrize("name", ["int1", "uint1", "int2", "uint2", "int4", "uint4", "complex32", "bcomplex32"])
def test_types_that_the_library_lacks_are_refused_by_name(name):
    array = np.zeros(4, getattr(ml_dtypes, name))
    for refused in (lambda: buffer_interface(array), lambda: empty(4, array.dtype, device="host"),
                    lambda: empty(4, array.dtype.type, device="host")):  # fmt: skip
        with pytest.raises(UnsupportedTypeError, match=rf"^dtype\({name}\) is not supported: x.astype\(\) converts"):
            refused()
