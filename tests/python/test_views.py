"""Indexing, axes, shapes and types: NumPy's results and NumPy's exceptions, without a copy."""

import ctypes
import operator
import random
import sys

import numpy as np
import pytest

import buffer_interface as bi
from buffer_interface import buffer_interface

POINT = np.dtype([("x", "<f4"), ("at", "<i2", (3,)), ("name", "S2")])
HUGE = 10**30


def place(array):
    """Where the elements are: the same numbers mean the same view."""
    return array.__array_interface__["data"][0], array.shape, array.dtype


def same(view, expected):
    """The view is what NumPy's is: same memory, same elements, and strides wherever they matter."""
    got = np.asarray(view)
    assert got.shape == expected.shape and got.dtype == expected.dtype
    if expected.size:
        assert place(got) == place(expected)
        steps = [(a, b) for a, b, extent in zip(view.strides, expected.strides, expected.shape) if extent > 1]
        assert all(a == b for a, b in steps)
    np.testing.assert_array_equal(got, expected)


@pytest.fixture
def array():
    return np.arange(2 * 3 * 4 * 5, dtype="<i4").reshape(2, 3, 4, 5)


@pytest.fixture
def view(array):
    return buffer_interface(array)


KEYS = [
    (),
    0,
    -1,
    np.int64(1),
    slice(None),
    slice(None, None, -1),
    slice(5, None, -2),
    slice(-HUGE, HUGE),
    slice(HUGE, -HUGE, -1),
    slice(-HUGE, None, -1),
    slice(None, -HUGE),
    slice(None, None, HUGE),
    slice(None, None, -HUGE),
    slice(1, 1),
    slice(np.int8(0), np.int8(2)),
    None,
    Ellipsis,
    (Ellipsis, 2),
    (None, 1, None, Ellipsis, None, slice(3, 0, -2)),
    (1, 2, 3, 4),
    (1, 2, 3, 4, Ellipsis),
    (slice(None, None, -1),) * 4,
    (None,) * 60,
    (Ellipsis,) + (None,) * 60,
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_index_as_numpy(view, array, key):
    expected = array[key]
    same(view[key], expected if isinstance(expected, np.ndarray) else array[key + (Ellipsis,)])


def random_item(rng, extent):
    limits = [rng.choice([None, rng.randint(-extent - 2, extent + 2)]) for _ in range(2)]
    whole = slice(*limits, rng.choice([None, 1, 2, -1, -3]))
    return rng.choice([whole, whole, rng.randint(-extent, extent - 1)])


def random_key(rng, shape):
    """Items for some axes at the front and some at the end, an ellipsis between them, new axes anywhere."""
    front = rng.randint(0, len(shape))
    back = rng.randint(0, len(shape) - front)
    items = [random_item(rng, extent) for extent in shape[:front]]
    items += [Ellipsis] + [random_item(rng, extent) for extent in shape[len(shape) - back :]]
    for _ in range(rng.choice([0, 0, 1, 2])):
        items.insert(rng.randint(0, len(items)), None)
    return tuple(items)


@pytest.mark.parametrize("seed", range(20))
def test_chains_of_random_indices_as_numpy(seed):
    rng = random.Random(seed)
    for _ in range(50):
        expected = np.arange(360, dtype="<i2").reshape(3, 4, 5, 6)
        got = buffer_interface(expected)
        for _ in range(3):
            if expected.size == 0:
                break
            key = random_key(rng, expected.shape)
            got, expected = got[key], expected[key]
            same(got, expected)
            if rng.random() < 0.5:
                axes = rng.sample(range(expected.ndim), expected.ndim)
                got, expected = got.transpose(*axes), expected.transpose(*axes)
                same(got, expected)


@pytest.mark.parametrize(
    "key",
    [2, -3, (0, 3), (0,) * 5, (Ellipsis, Ellipsis), HUGE, -HUGE, 1.0, "x", ("x",), object(), (None,) * 61, (0,) * 200],
    ids=lambda key: str(key)[:30],
)
def test_index_errors_as_numpy(view, array, key):
    with pytest.raises(IndexError):
        array[key]
    with pytest.raises(IndexError):
        view[key]


def test_index_errors_are_those_of_numpy(view):
    for key, words in [
        (2, "index 2 is out of bounds for axis 0 with size 2"),
        ((..., -6), "index -6 is out of bounds for axis 3 with size 5"),
        ((None, slice(1), 3), "index 3 is out of bounds for axis 1 with size 3"),
        ((0,) * 5, "too many indices: the array has 4 dimensions, 5 were given"),
    ]:
        with pytest.raises(IndexError) as info:
            view[key]
        assert str(info.value) == words
    with pytest.raises(IndexError, match="2 ellipses"):
        view[..., ..., 9]
    with pytest.raises(IndexError, match="has 1 dimension, 2 were given"):
        view[0, 0, 0][0, 0]


def test_libraries_take_an_array_for_a_sequence():
    """PySequence_GetItem adds the length to a negative index. The items are those of iteration."""
    item = ctypes.pythonapi.PySequence_GetItem
    item.restype, item.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_ssize_t]
    is_sequence = ctypes.pythonapi.PySequence_Check
    is_sequence.argtypes = [ctypes.py_object]
    for device in ("host", "opencl"):
        view = bi.from_numpy(np.arange(4, dtype="f4"), device=device)
        assert is_sequence(view)
        assert [item(view, i) for i in (0, 3, -1, -4)] == [0.0, 3.0, 3.0, 0.0]
        for i in (4, -5):
            with pytest.raises(IndexError, match="out of bounds for axis 0"):
                item(view, i)
        rows = view.reshape(2, 2)
        assert item(rows, -1).tolist() == [2.0, 3.0]
        assert list(reversed(view)) == [3.0, 2.0, 1.0, 0.0]
        assert [row.tolist() for row in reversed(rows)] == [[2.0, 3.0], [0.0, 1.0]]
        scalar = view[0]
        for use in (len, reversed, lambda x: item(x, -1)):
            with pytest.raises(TypeError):
                use(scalar)
        with pytest.raises(IndexError, match="too many indices"):
            item(scalar, 0)
        assert isinstance(view[-1], bi.BufferInterface) and view[-1].item() == view.__getitem__(-1).item() == 3.0
        for refused in (lambda: view + view, lambda: view + [1], lambda: [1] + view, lambda: view * 2, lambda: 2 * view):
            with pytest.raises(TypeError):
                refused()
    with pytest.raises(TypeError, match="does not compute"):
        operator.concat(view, view)


def test_numpy_reads_the_memory_and_not_the_sequence():
    view = buffer_interface(np.arange(4))
    assert np.shares_memory(np.asarray(view), view.numpy())
    assert np.array([view, view]).tolist() == [[0, 1, 2, 3]] * 2 and 3 in view and 4 not in view


@pytest.mark.parametrize("key", [True, np.True_, [0, 1], np.array([0, 1]), np.zeros((2, 3, 4, 5), bool), b"x"])
def test_advanced_indexing_is_refused(view, key):
    with pytest.raises(IndexError, match="integers, slices"):
        view[key]


def test_an_integer_array_without_dimensions_is_an_integer(view, array):
    same(view[np.array(1)], array[1])


def test_step_zero_and_limits_of_other_types(view):
    with pytest.raises(ValueError, match="zero"):
        view[::0]
    with pytest.raises(TypeError):
        view["a":]


def test_an_index_that_raises(view):
    class Bad:
        def __index__(self):
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        view[Bad()]


def test_an_index_that_releases_the_array(view):
    class Releases:
        def __index__(self):
            view.release()
            return 0

    with pytest.raises(bi.InvalidArrayError):
        view[Releases()]


def test_fields(array):
    points = np.zeros(4, POINT)
    points["x"] = [1, 2, 3, 4]
    points["at"] = np.arange(12).reshape(4, 3)
    view = buffer_interface(points)
    for name in POINT.names:
        same(view[name], points[name])
    same(view[::-2]["at"][:, 1], points[::-2]["at"][:, 1])
    with pytest.raises(ValueError, match="no such"):
        view["no such"]
    with pytest.raises(IndexError):
        view[("x", 0)]


def test_len(view):
    assert len(view) == 2 and len(view[0]) == 3 and len(view[:, 1:1].T) == 5
    with pytest.raises(TypeError):
        len(view[0, 0, 0, 0])


def test_transpose(view, array):
    same(view.T, array.T)
    same(view.transpose(), array.T)
    same(view.transpose(None), array.T)
    same(view.transpose(3, 0, -2, 1), array.transpose(3, 0, -2, 1))
    same(view.transpose((3, 0, 2, 1)), array.transpose((3, 0, 2, 1)))
    same(view[0, 0, 0, 0].T, array[0, 0, 0, 0, ...].T)
    same(view[0, 0, 0, 0].transpose(()), array[0, 0, 0, 0, ...])


@pytest.mark.parametrize("axes", [(0, 1, 2), (0, 1, 2, 2), (0, 1, 2, 4), (0, 1, 2, -5), (0, 1, 2, HUGE), (0,)])
def test_transpose_errors(view, axes):
    with pytest.raises(ValueError):
        view.transpose(*axes)
    with pytest.raises(ValueError):
        view.transpose(axes)
    with pytest.raises(TypeError):
        view.transpose(1.5, 0, 2, 3)
    with pytest.raises(ValueError, match=r"axes\[1\] is 1180591620717411303424, not in -4\.\.3"):
        view.transpose(0, 2**70, 1, 2)


SHAPES = [(120,), (6, 20), (-1, 5), (2, -1, 4, 1, 5), (1,) * 10 + (120,), (120, 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reshape(view, array, shape):
    same(view.reshape(*shape), array.reshape(shape))
    same(view.reshape(shape), array.reshape(shape))
    same(view.reshape(list(shape)), array.reshape(shape))


def test_reshape_to_no_dimensions_and_of_no_elements(view, array):
    same(view[0, 0, 0, :1].reshape(()), array[0, 0, 0, :1].reshape(()))
    same(view[:0].reshape(0, 7), array[:0].reshape(0, 7))


@pytest.mark.parametrize("shape", [(7, 17), (-1, -1), (121,), (-1, 7), (1,) * 65, ()], ids=str)
def test_reshape_errors_as_numpy(view, array, shape):
    with pytest.raises(ValueError):
        array.reshape(shape)
    with pytest.raises(ValueError):
        view.reshape(shape)


def test_reshape_that_needs_a_copy_is_refused(view):
    with pytest.raises(ValueError, match="copy"):
        view.T.reshape(120)
    with pytest.raises(TypeError):
        view.reshape("120")
    with pytest.raises(OverflowError):
        view.reshape(HUGE)


def test_broadcast_to(view, array):
    same(view.broadcast_to((7, 2, 3, 4, 5)), np.broadcast_to(array, (7, 2, 3, 4, 5)))
    row = view[0, 0, 0]
    same(row.broadcast_to((3, 5)), np.broadcast_to(array[0, 0, 0], (3, 5)))
    same(row[:1].broadcast_to(4), np.broadcast_to(array[0, 0, 0, :1], 4))
    assert row.broadcast_to((3, 5)).readonly and not row.readonly
    for shape in [(3, 4), (), (1,)]:
        with pytest.raises(ValueError):
            row.broadcast_to(shape)


def test_view_as(view, array):
    same(view.view("<u4"), array.view("<u4"))
    same(view.view(np.float32), array.view(np.float32))
    same(view.view("<i2"), array.view("<i2"))
    same(view.view(dtype="<i2"), array.view(dtype="<i2"))
    same(view[..., :4].view("<i8"), array[..., :4].view("<i8"))
    pairs = np.dtype([("a", "<i2"), ("b", "<u2")])
    same(view.view(pairs), array.view(pairs))
    same(view.view(pairs)["b"], array.view(pairs)["b"])


@pytest.mark.parametrize("key, dtype", [(slice(None), "<i8"), ((Ellipsis, slice(None, None, 2)), "<i2")])
def test_view_as_errors_as_numpy(view, array, key, dtype):
    with pytest.raises(ValueError):
        array[key].view(dtype)
    with pytest.raises(ValueError):
        view[key].view(dtype)


def test_view_as_no_type(view):
    with pytest.raises(TypeError):
        view.view("no type")
    with pytest.raises(TypeError):
        view.view(7)


SCALARS = [
    ("?", True),
    ("?", 0),
    ("i1", -128),
    ("u1", 255),
    ("<i2", -3),
    (">i2", 258),
    ("<u4", 2**32 - 1),
    ("<i8", -(2**63)),
    (">u8", 2**64 - 1),
    ("<i4", 3.9),
    ("<i4", np.float32(-3.9)),
    ("<i4", np.int8(-7)),
    ("<f2", 0.1),
    ("<f2", 65519.0),
    ("<f2", -65520.0),
    ("<f2", 70000.0),
    (">f2", -1e300),
    ("<f4", 0.1),
    ("<f4", 1e300),
    (">f4", np.float64(0.1)),
    ("<f8", 7),
    (">f8", float("-inf")),
    ("<c8", 1 + 2j),
    (">c16", 1 - 2j),
    ("<c16", 3),
    ("S3", b"ab"),
    ("<U3", "äb"),
    (">U2", "zz"),
    ("V3", b"abc"),
    ([("a", "<i2"), ("b", ">f4")], (1, 2.5)),
    ([("a", "<i2"), ("b", "S2", (2,))], (1, [b"x", b"yz"])),
]


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("dtype, value", SCALARS, ids=str)
def test_scalars_become_what_numpy_makes_of_them(dtype, value):
    expected, got = np.zeros((2, 3), dtype), np.zeros((2, 3), dtype)
    expected[:, 1] = value
    view = buffer_interface(got)
    view[:, 1] = value
    assert got.tobytes() == expected.tobytes()
    for index in [(1, 1), (3,), ((0, 1),)]:
        assert repr(view.item(*index)) == repr(expected.item(*index))


@pytest.mark.parametrize(
    "dtype, value, error",
    [
        ("i1", 128, OverflowError),
        ("i1", -129, OverflowError),
        ("u1", -1, OverflowError),
        ("u1", 256, OverflowError),
        ("<i8", 2**63, OverflowError),
        ("<u8", 2**64, OverflowError),
        ("<u8", -1, OverflowError),
        ("<i4", float("inf"), OverflowError),
        ("<i4", float("nan"), ValueError),
        ("<i4", 1j, TypeError),
        ("<i4", "3", TypeError),
        ("<f4", 1j, TypeError),
        ("<f4", "3", TypeError),
        ("<f4", None, TypeError),
        ("<f4", [1.0], TypeError),
        ("<c8", b"1", TypeError),
    ],
    ids=str,
)
def test_scalars_that_do_not_fit(dtype, value, error):
    array = np.ones(3, dtype)
    with pytest.raises(error):
        buffer_interface(array)[1] = value
    np.testing.assert_array_equal(array, np.ones(3, dtype))


def test_assign_arrays_with_broadcasting(view, array):
    expected = array.copy()
    row = np.arange(5, dtype="<i4") * 100
    expected[1, :, ::2] = row
    view[1, :, ::2] = row
    expected[0] = row[None, None, None, :]
    view[0] = buffer_interface(row)[None, None, None, :]
    expected[..., ::-1] = expected.copy()
    view[..., ::-1] = view
    np.testing.assert_array_equal(array, expected)


def test_assign_to_fields():
    points = np.zeros(3, POINT)
    view = buffer_interface(points)
    view["x"] = 2
    view["at"][:, 1] = np.arange(3, dtype="<i2")
    view["name"] = b"ab"
    assert points["x"].tolist() == [2, 2, 2] and points["name"].tolist() == [b"ab"] * 3
    assert points["at"].tolist() == [[0, 0, 0], [0, 1, 0], [0, 2, 0]]


def test_assign_errors(view, array):
    with pytest.raises(ValueError):
        view[0] = np.zeros(4, "<i4")
    with pytest.raises(ValueError):
        view[0, 0] = np.zeros((2, 4, 5), "<i4")
    for dtype in ("<f4", ">i4", "<i8"):
        with pytest.raises(TypeError, match="nothing is converted"):
            view[0] = np.zeros(5, dtype)
    with pytest.raises(TypeError):
        del view[0]
    with pytest.raises(IndexError):
        view[7] = 0
    with pytest.raises(ValueError, match="read-only"):
        view.broadcast_to((3, 2, 3, 4, 5))[0] = 0
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        buffer_interface(array)[0] = 0


def test_assign_structures_by_their_fields():
    one, other = np.dtype([("a", "<i2"), ("b", "<i2")]), np.dtype([("a", "<u2"), ("b", "<i2")])
    target = buffer_interface(np.zeros(2, one))
    target[:] = np.ones(2, one)
    assert target.item(1) == (1, 1)
    with pytest.raises(TypeError, match="fields"):
        target[:] = np.ones(2, other)


def test_views_share_the_memory_and_keep_it_alive(array):
    view = buffer_interface(array)
    part = view[1, ::2]
    assert bi.shares_memory(view, part)
    view.release()
    np.testing.assert_array_equal(part, array[1, ::2])
    for use in (lambda: view[0], lambda: view.T, lambda: view.reshape(-1), lambda: len(view), lambda: view.view("i4")):
        with pytest.raises(bi.InvalidArrayError):
            use()


def test_readonly_stays(array):
    array.flags.writeable = False
    view = buffer_interface(array)
    for derived in (view[0], view.T, view.reshape(-1), view.view("<u4"), view.broadcast_to((1, 2, 3, 4, 5))):
        assert derived.readonly


@pytest.fixture
def masked(cuda):
    """A CAI array of 2x3 with a mask of one row that is repeated over it."""

    def interface(pointer, shape, typestr):
        array = {"shape": shape, "typestr": typestr, "data": (pointer, False), "version": 3, "stream": None}
        return type("Producer", (), {"__cuda_array_interface__": array})()

    values, mask = cuda.alloc(24), cuda.alloc(3)
    cuda.upload(values, np.arange(6, dtype="<f4").tobytes())
    cuda.upload(mask, bytes([0, 1, 0]))
    producer = interface(values, (2, 3), "<f4")
    producer.__cuda_array_interface__["mask"] = interface(mask, (3,), "|b1")
    return buffer_interface(producer, mask="keep")


def test_masks_follow(masked):
    assert masked.mask.shape == (3,)
    for view, shape in [(masked[1], (3,)), (masked.T, (3, 2)), (masked[0].reshape(3, 1), (3, 1)), (masked[:, 1:], (2, 2))]:
        assert view.shape == view.mask.shape == shape
    with masked[:, 1:].mask.map() as mapped:
        assert memoryview(mapped).tolist() == [[True, False], [True, False]]
    with pytest.raises(ValueError, match="copy"):
        masked.reshape(6)


def test_masks_are_not_lost(masked):
    for use in (
        lambda: masked.view("<i4"),
        lambda: masked.item(0, 0),
        lambda: masked.map(),
        lambda: masked.fill(0),
        lambda: masked.__setitem__(0, 0),
        lambda: bi.copyto(bi.empty((2, 3), "<f4", device=masked), masked),
    ):
        with pytest.raises(bi.UnsupportedError, match="mask"):
            use()
    copied = masked.copy()
    assert copied.mask.shape == (3,) and not bi.shares_memory(copied.mask, masked.mask)
    assert masked.to("host").mask.backend == "host"


FAR = [None, 0, 2, -2, 2**31, sys.maxsize, -sys.maxsize - 1, 2**63, -(2**63) - 1, 2**70, -(2**70), np.int64(1), True]


@pytest.mark.parametrize("start", FAR)
@pytest.mark.parametrize("stop", FAR)
def test_limits_of_slices_are_those_of_numpy(start, stop):
    source = np.arange(5, dtype="<i2")
    view = buffer_interface(source)
    for key in (slice(start, stop), slice(start, stop, -1)):
        assert np.asarray(view[key]).tolist() == source[key].tolist()
