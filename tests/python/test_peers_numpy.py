"""
NumPy as a peer, the newest and the oldest that is supported (requirements-oldest.txt): whatever way it gives and takes
arrays, both see the same bytes. Needs nothing else.
"""

import sys

import numpy as np
import pytest

from buffer_interface import UnsupportedError, buffer_interface, empty, full

NUMPY_2 = np.lib.NumpyVersion(np.__version__) >= "2.0.0"

LAYOUTS = {
    "dense": lambda: np.arange(24, dtype="f4").reshape(2, 3, 4),
    "fortran": lambda: np.asfortranarray(np.arange(24, dtype="i2").reshape(4, 6)),
    "steps": lambda: np.arange(60, dtype="f8").reshape(6, 10)[1::2, 2::3],
    "negative": lambda: np.arange(12, dtype="c8").reshape(3, 4)[::-1, ::-2],
    "broadcast": lambda: np.broadcast_to(np.arange(4, dtype="u2"), (3, 4)),
    "scalar": lambda: np.array(7, dtype="i8"),
    "empty": lambda: np.zeros((0, 3), dtype="f4"),
    "bool": lambda: np.array([True, False, True]),
    "extent one": lambda: np.arange(8, dtype="f4").reshape(8, 1)[:1],
}
layouts = pytest.mark.parametrize("layout", LAYOUTS)
protocols = pytest.mark.parametrize("protocol", [None, "dlpack", "buffer", "array_interface", "array_struct"])


def first_byte(array):
    return array.__array_interface__["data"][0] if array.size else None


def assert_same(a, b):
    """Same place, same layout, same bytes."""
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    assert first_byte(a) == first_byte(b)
    assert all(n < 2 or s == t for n, s, t in zip(a.shape, a.strides, b.strides)) or not a.size
    np.testing.assert_array_equal(a, b)


def dlpack_takes(array):
    """The DLPack of NumPy 1 has no versions, so it gives no read-only array; and no bool."""
    return NUMPY_2 or (array.flags.writeable and array.dtype.kind != "b")


@layouts
@protocols
def test_numpy_to_us_and_back(layout, protocol):
    source = LAYOUTS[layout]()
    if protocol == "dlpack" and not dlpack_takes(source):
        with pytest.raises(BufferError):
            buffer_interface(source, protocol=protocol)
        return
    with buffer_interface(source, protocol=protocol) as view:
        assert (view.shape, view.dtype, view.backend) == (source.shape, source.dtype, "host")
        assert view.readonly == (not source.flags.writeable) or protocol == "dlpack"
        assert_same(np.asarray(view), source)


@layouts
@pytest.mark.parametrize("way", [np.asarray, lambda a: np.array(memoryview(a), copy=False), np.from_dlpack])
def test_us_to_numpy(layout, way):
    source = LAYOUTS[layout]()
    view = buffer_interface(source)
    if way is np.from_dlpack and not dlpack_takes(source):
        with pytest.raises((BufferError, RuntimeError)):
            way(view)
        return
    got = way(view)
    assert_same(got, source)
    if source.size and source.flags.writeable and got.flags.writeable:
        got[...] = 1
        np.testing.assert_array_equal(source, 1)


def test_all_ways_of_the_result_are_writable():
    view = buffer_interface(np.zeros(4, "f4"))
    np.asarray(view)[0] = 1
    memoryview(view).cast("B")[4] = 2
    assert np.asarray(view).view("u1").tolist() == [0, 0, 128, 63, 2] + [0] * 11


def test_structured_arrays_keep_names_and_padding():
    dtype = np.dtype({"names": ["x", "n"], "formats": ["<f8", "<i2"], "offsets": [0, 8], "itemsize": 16})
    source = np.zeros(3, dtype)
    source["x"], source["n"] = [1, 2, 3], [4, 5, 6]
    view = buffer_interface(source)
    got = np.asarray(view)
    assert got.dtype["x"] == "<f8" and got.dtype["n"] == "<i2" and got.dtype.itemsize == 16
    np.testing.assert_array_equal(got["n"], source["n"])
    np.testing.assert_array_equal(np.asarray(view["x"]), source["x"])


def test_other_byte_order_is_kept():
    source = np.arange(5, dtype=">i4")
    view = buffer_interface(source)
    assert view.dtype == source.dtype
    np.testing.assert_array_equal(np.asarray(view), source)
    with pytest.raises(UnsupportedError):
        view.__dlpack__(max_version=(1, 3))


@pytest.mark.parametrize("protocol", [None, "buffer"])
def test_masked_arrays_do_not_lose_their_mask(protocol):
    masked = np.ma.masked_array(np.arange(3.0), mask=[0, 1, 0])
    with pytest.raises(UnsupportedError, match="mask"):
        buffer_interface(masked, protocol=protocol)
    assert np.asarray(buffer_interface(masked.data)).tolist() == [0, 1, 2]


def test_numpy_functions_take_our_arrays():
    a, b = full((2, 3), 2, "f4", device="host"), empty((2, 3), "f4", device="host")
    np.copyto(np.asarray(b), np.asarray(a))
    assert np.add(a, b).tolist() == [[4.0] * 3] * 2
    assert np.sum(a) == 12


def test_references_come_back():
    source = np.zeros(100)
    before = sys.getrefcount(source)
    for way in (np.asarray, memoryview, np.from_dlpack):
        view = buffer_interface(source)
        got = way(view)
        view.release()
        assert got[3] == 0 and sys.getrefcount(source) > before
        del got
        assert sys.getrefcount(source) == before
