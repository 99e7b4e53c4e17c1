"""New arrays, copies between all kinds of memory, values, order of work, shared memory."""

import array
import decimal
import fractions
import gc
import itertools
import operator
import random
import subprocess
import sys
import threading
import warnings

import ml_dtypes
import numpy as np
import producers
import pytest

import buffer_interface as bi
from buffer_interface import BufferInterface, buffer_interface

DEVICES = ["host", "opencl", "cuda"]
POINT = np.dtype([("x", "<f4"), ("at", "<i2", (3,)), ("name", "S2")])


@pytest.fixture(params=DEVICES)
def device(request):
    if request.param == "cuda":
        request.getfixturevalue("cuda")
    return request.param


def contents(view):
    """The elements as a NumPy array of their own, wherever they are."""
    with view.map() as mapped:
        return np.array(mapped.numpy())


def check(view, expected, backend=None):
    assert type(view) is BufferInterface and backend in (None, view.backend)
    assert view.shape == expected.shape
    got = contents(view)
    assert got.dtype == expected.dtype
    assert got.tobytes() == expected.tobytes()


# New arrays


@pytest.mark.parametrize("dtype", ["|b1", "i1", ">i2", "<u8", "f2", "f4", "c16", "S3", "<U2", "V5", POINT, np.int32, float])
def test_zeros(device, dtype):
    check(bi.zeros((2, 3), dtype, device=device), np.zeros((2, 3), dtype), device)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_types_of_ml_dtypes(device, name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    view = bi.full((2, 2), 1.5, name, device=device)
    check(view, np.full((2, 2), 1.5, dtype), device)
    assert view.dtype == dtype and view.item(0, 1) == 1.5
    check(bi.zeros(3, dtype, device=device), np.zeros(3, dtype), device)


@pytest.mark.parametrize(
    "value",
    [np.int64(2**62 + 1), np.complex64(1 + 2j), np.bool_(True), np.float32(1.5), np.uint8(3), np.str_("ab"), np.bytes_(b"ab"),
     np.zeros((), POINT)[()], ml_dtypes.bfloat16(1.5), np.array(2**62 + 1), True, 2**62 + 1, 1.5, 1 + 2j],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_full_takes_the_type_of_its_value(value):
    check(bi.full(2, value, device="host"), np.full(2, value))


@pytest.mark.parametrize("dtype", ["i1", "<i4", ">i4", "u8", "?", "f2", "f4", "f8", "c8", "bfloat16", POINT], ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_value_may_be_an_array_of_one_element(device, shape, dtype):
    dtype = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    theirs = np.ones(shape, dtype)
    for value in (theirs, bi.from_numpy(theirs, device=device)):
        check(bi.full(2, value, device="host"), np.full(2, theirs.reshape(())))
        view = bi.zeros(3, dtype, device=device)
        view.fill(value)
        check(view, np.full(3, theirs.reshape(())), device)
        if dtype.kind in "biuf":
            for other in ("i4", "f4", "c8"):
                check(bi.full(2, value, other, device="host"), np.full(2, 1, other))


class Tensor:
    """An array as JAX and PyTorch have it: a number, whose __index__ refuses floats."""

    def __init__(self, value, dtype):
        self.array = np.full((), value, dtype)

    def __float__(self):
        return float(self.array)

    def __index__(self):
        return operator.index(self.array[()])

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("dtype", ["i2", "f4", "c8", "?"])
def test_a_value_may_be_an_array_of_another_library(device, dtype):
    value = Tensor(1, dtype)
    check(bi.full(2, value, device=device), np.ones(2, dtype), device)
    for other in ("c16", "?") if dtype == "c8" else ("i4", "f8", "c16", ">u2", "?", ml_dtypes.bfloat16):
        check(bi.full(2, value, other, device=device), np.ones(2, other), device)
    check(bi.full(2, Tensor(2.75, "f4"), "i4", device=device), np.full(2, 2, "i4"), device)


class Gradient(Tensor):
    """A tensor of PyTorch that requires a gradient is a number, and cannot be exported."""

    def __dlpack__(self, **keywords):
        raise BufferError("Can't export tensors that require gradient")


def test_a_value_may_be_a_number_that_cannot_be_exported(device):
    value = Gradient(1.5, "f4")
    check(bi.full(2, value, device=device), np.full(2, 1.5), device)
    for dtype in ("f4", "c16", ml_dtypes.bfloat16):
        check(bi.full(2, value, dtype, device=device), np.full(2, 1.5, dtype), device)
    for kind in (Gradient, type("Gradient", (Gradient,), {})):  # the lookups of a new type are not cached
        with pytest.raises(TypeError, match="Gradient is no element of type int32"):
            bi.zeros(2, "i4", device=device).fill(kind(1.5, "f4"))


def test_every_real_number_is_a_value_of_every_float_type(device):
    for value in (decimal.Decimal("2.5"), fractions.Fraction(5, 2)):
        for dtype in ("f2", "f4", "f8", ml_dtypes.bfloat16, ml_dtypes.float8_e5m2):
            check(bi.full(2, value, dtype, device=device), np.full(2, 2.5, dtype), device)
    for value in ("2", b"2", np.str_("2"), np.datetime64("2020"), None):
        with pytest.raises(TypeError, match="no element of type bfloat16"):
            bi.zeros(2, "bfloat16", device=device).fill(value)
    with pytest.raises(OverflowError, match="of type int is too large for bfloat16"):
        bi.zeros(2, "bfloat16", device=device).fill(10**400)


def test_an_array_of_several_elements_is_no_value():
    for value in (np.arange(3), bi.full(3, 1, "f4", device="host"), np.zeros(0)):
        for call in (lambda: bi.full(2, value, device="host"), lambda: bi.zeros(2, "?", device="host").fill(value)):
            with pytest.raises(TypeError, match=rf"an array of {len(value)} elements, not one: copyto\(\)"):
                call()


@pytest.mark.parametrize("value", [[False], (0,), b"\0", "", None, {}, memoryview(b"\0"), array.array("B", [0])], ids=repr)
def test_a_container_is_no_bool(value):
    for call in (lambda: bi.full(2, value, "?", device="host"), lambda: bi.zeros(2, "?", device="host").fill(value)):
        with pytest.raises(TypeError, match="a bool or a number"):
            call()


def test_full_takes_the_type_of_an_array_without_axes():
    check(bi.full(2, bi.full((), 2**62 + 1, device="host"), device="host"), np.full(2, 2**62 + 1))
    with pytest.raises(bi.UnsupportedTypeError, match="dates"):
        bi.full(2, np.datetime64("2020"), device="host")
    for value in (np.longdouble(1.5), np.array([1.5], "g")):
        with pytest.raises(bi.UnsupportedTypeError, match="the type of the value, and dtype= sets another"):
            bi.full(2, value, device="host")
        check(bi.full(2, value, "f4", device="host"), np.full(2, 1.5, "f4"))


@pytest.mark.parametrize("shape", [(), 3, np.int64(3), [2, 3], (0, 5), (1,) * 64])
def test_shapes(device, shape):
    expected = np.full(shape, 7, "<i4")
    check(bi.full(shape, 7, "<i4", device=device), expected, device)
    assert bi.empty(shape, "<i4", device=device).shape == expected.shape


def test_arrays_as_shapes_and_axes():
    """Their type has __index__, which refuses arrays with axes."""
    a = bi.zeros((2, 3), device="host")
    for numbers in (np.array([3, 2]), buffer_interface(np.array([3, 2]))):
        assert bi.empty(numbers, device="host").shape == a.reshape(numbers).shape == (3, 2)
    for axes in (np.array([1, 0]), buffer_interface(np.array([1, 0]))):
        assert a.transpose(axes).shape == (3, 2)
    assert bi.empty(np.array([4]), device="host").shape == bi.empty(np.array(4), device="host").shape == (4,)
    assert bi.zeros(3, device="host").transpose(np.array(0)).shape == (3,)
    with pytest.raises(TypeError, match="shape has an entry of type .*float64, not an int"):
        bi.empty(np.array([1.5, 2]), device="host")


def test_lanes(device):
    view = bi.full(2, (1, 2, 3, 4), "float32x4", device=device)
    assert view.itemsize == 16 and view.item(1) == [1, 2, 3, 4]
    view.fill(5)
    assert view.item(0) == [5, 5, 5, 5]


def test_new_arrays_are_dense_and_their_own(device):
    views = [bi.zeros((3, 4), "<f4", device=device) for _ in range(3)]
    assert all(view.strides == (16, 4) and not view.readonly for view in views)
    assert not any(bi.shares_memory(a, b) for a, b in itertools.combinations(views, 2))


def test_structured_value(device):
    expected = np.full(3, np.array((1.5, [1, 2, 3], b"ab"), POINT))
    view = bi.full(3, (1.5, [1, 2, 3], b"ab"), POINT, device=device)
    check(view, expected, device)
    check(view["at"][:, 1].copy(), expected["at"][:, 1].copy(), device)


def test_empty_like(device):
    source = np.zeros((3, 4), POINT).T
    made = bi.empty_like(source, device=device)
    assert (made.shape, made.dtype, made.backend) == ((4, 3), POINT, device) and made.strides[1] == POINT.itemsize
    again = bi.empty_like(made)
    assert (again.shape, again.dtype, again.backend, again.context) == ((4, 3), POINT, device, made.context)
    assert bi.empty_like(made, device="host").backend == "host"


def test_arrays_like_another(device):
    source = np.zeros((3, 4), POINT).T
    made = bi.zeros_like(source, device=device)
    assert (made.shape, made.dtype, made.backend) == ((4, 3), POINT, device) and not any(made.tobytes())
    for array in (bi.zeros_like(made), bi.zeros_like(bi.zeros((), "bfloat16", device=device))):
        assert array.backend == device and not any(array.tobytes())
    numbers = bi.from_numpy(np.arange(6, dtype="<i2").reshape(2, 3), device=device)
    for array, value in ((bi.ones_like(numbers), 1), (bi.full_like(numbers, 7), 7)):
        assert (array.typestr, array.backend, array.tolist()) == ("<i2", device, [[value] * 3] * 2)
    assert bi.ones_like(numbers, device="host").backend == "host"
    with pytest.raises(OverflowError):
        bi.full_like(numbers, 1 << 20)


def test_a_format_is_that_of_the_element(device):
    array = bi.from_numpy(np.array([1.25, 2]), device=device)
    assert f"{array[0]:.1f} {array[1]:05.1f}" == "1.2 002.0" and f"{array[0]}" == str(array[0])
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{array:.1f}"


def test_errors_of_new_arrays():
    for call, error in [
        (lambda: bi.empty(), TypeError),
        (lambda: bi.empty(3, "<f4", "host"), TypeError),
        (lambda: bi.empty(3, "<f4", shape=3), TypeError),
        (lambda: bi.empty(3, "<f4", devcie="host"), TypeError),
        (lambda: bi.empty(3, "no type", device="host"), TypeError),
        (lambda: bi.empty("3", "<f4", device="host"), TypeError),
        (lambda: bi.empty(1.5, "<f4", device="host"), TypeError),
        (lambda: bi.empty(-1, "<f4", device="host"), ValueError),
        (lambda: bi.empty((1,) * 65, "<f4", device="host"), ValueError),
        (lambda: bi.empty((2**62, 2**62), "<f4", device="host"), OverflowError),
        (lambda: bi.empty(2**60, "<f4", device="host"), MemoryError),
        (lambda: bi.empty(3, "<f4", device="no such device"), ValueError),
        (lambda: bi.empty(3, "<f4", device="opencl:99:0"), bi.DriverError),
        (lambda: bi.empty(3, "<f4", device=1.5), TypeError),
        (lambda: bi.empty(3, "<f4", device=True), TypeError),
        (lambda: bi.empty(3, "<f4", device=np.True_), TypeError),
        (lambda: bi.empty(3, "<f4", device=np.zeros(3, "i4")), TypeError),
        (lambda: bi.empty(3, "<f4", device=np.int64(-1)), ValueError),
        (lambda: bi.empty(3, "<f4", device=-1), ValueError),
        (lambda: bi.empty(3, "<f4", device=2**40), ValueError),
        (lambda: bi.empty(3, "<f4", device=(0, -1)), ValueError),
        (lambda: bi.empty(3, "<f4", device=(0, 0, 0)), TypeError),
        (lambda: bi.full(3, 300, "u1", device="host"), OverflowError),
        (lambda: bi.full(3, "x", "f4", device="host"), TypeError),
        (lambda: bi.zeros(3, "<f4", device="host", stream=3), ValueError),
    ]:
        with pytest.raises(error):
            call()


@pytest.mark.parametrize(
    "device", ["tpu", "Cpu", "moon", "", "Host", "#", "#x", "#-1", "#0:0", "cuda:", "cuda:0:0", "opencl:0:0:0",
               "opencl:0:", "host:0", "auto:0", "cuda\0"]
)  # fmt: skip
def test_words_that_are_no_device_strings(device):
    with pytest.raises(ValueError, match="not a device string"):
        bi.empty(3, "<f4", device=device)


@pytest.mark.parametrize("device", ["#99", "opencl:99", "opencl:0:99", "opencl:no device has this name", "opencl:12th Gen of nobody"])
def test_devices_that_are_not_there(device):
    with pytest.raises(bi.DriverError):
        bi.empty(3, "<f4", device=device)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: bi.empty(3.0, "f4"), "shape is of type float, not an int or a sequence"),
        (lambda: bi.zeros("f4", 3), "shape is of type str, not an int or a sequence"),
        (lambda: bi.empty((2, 3.0), "f4"), "shape has an entry of type float, not an int"),
        (lambda: bi.zeros((2, 3), "f4", device="host").reshape(2, None), "shape has an entry of type NoneType"),
        (lambda: bi.zeros((2, 3), "f4", device="host").item(0, "x"), "index has an entry of type str"),
        (lambda: bi.join(3, 1, "host"), "streams is of type int, not a sequence of streams"),
        (lambda: bi.empty(3, "halff"), "'float16'"),
        (lambda: bi.empty(3, "datetime64[s]"), "dates|neither a typestr"),
        (lambda: bi.zeros(3, "f4", device="host").to(None), "device is None"),
    ],
)
def test_wrong_kinds_of_arguments_are_named(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, bi.DriverError])
def test_a_number_that_cannot_be_read_is_no_sequence(error):
    """Only TypeError of __index__ says that an array has axes. A second call would not fail again."""

    class Number(list):
        def __index__(self):
            if not self.asked:
                self.asked = True
                raise error
            return 0

    for call in (lambda x: bi.empty(x, device="host"), lambda x: bi.zeros(3, device="host").transpose(x)):
        number = Number([0])
        number.asked = False
        with pytest.raises(error):
            call(number)


def test_shapes_whose_entries_fail():
    class Failing:
        def __iter__(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        bi.empty(Failing(), "f4")


HUGE = 10**5000  # more digits than Python prints; the error of the print is a ValueError


class Interface:
    def __init__(self, **entries):
        self.__array_interface__ = {"shape": (3,), "typestr": "<i4", "data": (64, False), "version": 3, **entries}


class OfDevice:
    def __init__(self, *device):
        self.__dlpack_device__ = lambda: device

    def __dlpack__(self, **options):
        raise AssertionError("the device is wrong")


@pytest.mark.parametrize(
    "error, call",
    [
        (OverflowError, lambda a: a.fill(HUGE)), (OverflowError, lambda a: bi.full(3, HUGE, "i4", device="host")),
        (OverflowError, lambda a: a.__setitem__(0, -HUGE)),
        (IndexError, lambda a: bi.flip(a, HUGE)), (IndexError, lambda a: bi.moveaxis(a, 0, -HUGE)),
        (RuntimeWarning, lambda a: buffer_interface(Interface(descr=[("", HUGE)]))),
        (ValueError, lambda a: bi.empty(1, device=HUGE)), (ValueError, lambda a: bi.set_threads(HUGE)),
        (TypeError, lambda a: a.map(HUGE)), (bi.UnsupportedTypeError, lambda a: bi.zeros(3, HUGE)),
        (ValueError, lambda a: buffer_interface(a, mask=HUGE)), (ValueError, lambda a: buffer_interface(a, protocol=HUGE)),
        (bi.UnsupportedError, lambda a: a.__buffer_interface__(HUGE)), (bi.UnsupportedError, lambda a: a.__dlpack__(stream=HUGE)),
        (bi.UnsupportedError, lambda a: a.__dlpack__(dl_device=(2, HUGE))), (TypeError, lambda a: a.__dlpack__(dl_device=HUGE)),
        (TypeError, lambda a: a.__dlpack__(max_version=(1, HUGE, 2))), (TypeError, lambda a: buffer_interface(OfDevice(1, HUGE))),
        (bi.InvalidArrayError, lambda a: buffer_interface(Interface(shape=(HUGE,)))),
        (bi.InvalidArrayError, lambda a: buffer_interface(Interface(strides=(HUGE,)))),
        (bi.InvalidArrayError, lambda a: buffer_interface(Interface(data=(HUGE, False)))),
    ],
)  # fmt: skip
def test_a_number_that_python_does_not_print_is_refused_as_any_other(error, call):
    with pytest.raises(error, match="of too many digits") as caught, warnings.catch_warnings(action="error"):
        call(bi.zeros(3, "i4", device="host"))
    assert "4300" not in str(caught.value)


def test_unknown_demands_are_named():
    with pytest.raises(bi.UnsupportedError, match=r"flags has the demands 0x4, and BI_ACQUIRE_READY \(1\) is the only one"):
        bi.zeros(3, device="host").__buffer_interface__(1 << 40 | 4)


def test_a_text_ends_where_it_ends_and_not_at_a_nul():
    array = bi.zeros(3, [("x", "<i4")], device="host")
    for name in ("x\0", "x\0junk", "\ud800"):
        with pytest.raises(IndexError, match="no field"):
            array[name]
        with pytest.raises(IndexError, match="no field"):
            array[name] = 1
    assert array["x"].tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="mode is 'r.x00', not"):
        array.map("r\0")
    with pytest.raises(TypeError, match="no argument 'copy.x00'"):
        bi.buffer_interface(array, **{"copy\0": True})


@pytest.mark.parametrize("cut", range(2))
def test_a_text_that_is_cut_within_a_character_is_replaced(cut):
    with pytest.raises(IndexError, match="é\N{REPLACEMENT CHARACTER}?\"?: the element type has no fields"):
        bi.zeros(3, device="host")["a" * cut + "é" * 40]
    with pytest.raises(bi.DriverError, match='^device .*é\N{REPLACEMENT CHARACTER}?[.]{3}\N{REPLACEMENT CHARACTER}?é+" fits no device') as caught:
        bi.empty(1, device="opencl:x" + "a" * cut + "é" * 200)
    assert caught.value.vendor == 0


def test_a_driver_error_that_a_user_makes():
    assert bi.DriverError("made here").vendor == 0


def test_types_without_numpy():
    """None in sys.modules is how Python forbids an import."""
    code = """
import sys
sys.modules["numpy"] = None
import buffer_interface as bi
view = bi.full(3, 2.5, float, device="host")
view.fill(1)
assert view.typestr == "<f8" and view.item(1) == 1
assert bi.full(2, bi.full((), 3, "u1", device="host"), device="host").typestr == "|u1"
try:
    bi.empty(3, object, device="host")
except TypeError as error:
    assert "is not an element type" in str(error), error
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_ways_to_name_a_device(cuda, second):
    assert bi.empty(1, "f4", device=1).device == 1
    assert bi.empty(1, "f4", device="cuda:1").device == 1
    for one in (np.int64(1), np.uint8(1), np.array(1)):
        assert bi.empty(1, "f4", device=one).device == bi.zeros(1, "f4", device="host").to(one).device == 1
    array = bi.empty(1, "f4", device=1)
    assert bi.empty(1, "f4", device=array).context == array.context
    cl = bi.empty(1, "f4", device="opencl")
    assert cl.device == (0, 0)
    for same in (cl.device, cl, next(d for d in bi.devices() if d.backend == "opencl")):
        assert bi.empty(1, "f4", device=same).context == cl.context
    assert bi.empty(1, "f4", device=bi.empty(1, "f4", device="host")).backend == "host"


# Copies


def layouts():
    """Some views of one array, the same for NumPy and for ours."""
    return {
        "dense": lambda a: a,
        "transposed": lambda a: a.T,
        "backward": lambda a: a[::-1, :, ::-1],
        "strided": lambda a: a[:, 1::2, ::3],
        "one": lambda a: a[1, 2, 3:4],
        "empty": lambda a: a[:, :0],
    }


@pytest.mark.parametrize("layout", layouts())
@pytest.mark.parametrize("to", DEVICES)
def test_copies_from_anywhere_to_anywhere(cuda, device, to, layout):
    cut = layouts()[layout]
    whole = np.arange(4 * 5 * 6, dtype="<i2").reshape(4, 5, 6)
    expected = cut(whole)
    source = cut(bi.from_numpy(whole, device=device))
    check(source, expected, device)
    moved = source.to(to)
    check(moved, expected, to)
    assert (moved is source) == (to == device)
    target = bi.zeros((4, 5, 6), "<i2", device=to)
    bi.copyto(cut(target), source)
    filled = np.zeros_like(whole)
    cut(filled)[...] = expected
    check(target, filled, to)
    copied = source.copy()
    check(copied, expected, device)
    assert not bi.shares_memory(copied, source)


@pytest.mark.parametrize("dtype", ["|b1", ">f8", "c8", "S3", POINT])
def test_copies_keep_the_type(device, dtype):
    expected = np.frombuffer(random.Random(1).randbytes(5 * np.dtype(dtype).itemsize), "u1") & 1
    expected = expected.view(dtype)
    view = bi.from_numpy(expected, device=device)
    check(view, expected, device)
    check(view[::-2].copy(), expected[::-2], device)
    check(view[::-2].to("host"), expected[::-2], "host")


def test_copyto_between_foreign_arrays_and_scalars(device):
    target = np.zeros((3, 4), "<f4")
    bi.copyto(target, np.arange(4, dtype="<f4"))
    np.testing.assert_array_equal(target, np.broadcast_to(np.arange(4), (3, 4)))
    view = bi.zeros((3, 4), "<f4", device=device)
    bi.copyto(view, np.arange(4, dtype="<f4")[None, None])
    bi.copyto(view[1:2], 7)
    bi.copyto(view[:, 2], np.float32(9))
    bi.copyto(target, view)
    np.testing.assert_array_equal(target, [[0, 1, 9, 3], [7, 7, 9, 7], [0, 1, 9, 3]])


def test_copyto_errors(device):
    view = bi.zeros((3, 4), "<f4", device=device)
    readonly = np.zeros((3, 4), "<f4")
    readonly.flags.writeable = False
    for call, error in [
        (lambda: bi.copyto(view, np.zeros(3, "<f4")), ValueError),
        (lambda: bi.copyto(view[0], view), ValueError),
        (lambda: bi.copyto(view, np.zeros(4, "<i4")), TypeError),
        (lambda: bi.copyto(view, [1, 2, 3, 4]), TypeError),
        (lambda: bi.copyto([1, 2], view), TypeError),
        (lambda: bi.copyto(7, view), TypeError),
        (lambda: bi.copyto(view, None), TypeError),
        (lambda: bi.copyto(readonly, view), ValueError),
        (lambda: bi.copyto(view.broadcast_to((2, 3, 4)), view), ValueError),
        (lambda: bi.copyto(view, view, view), TypeError),
        (lambda: bi.copyto(view), TypeError),
    ]:
        with pytest.raises(error):
            call()
    view.release()
    with pytest.raises(bi.InvalidArrayError):
        bi.copyto(view, 1)


def test_shapes_that_do_not_fit_are_both_named(device):
    view = bi.zeros((3, 4), "<f4", device=device)
    for source in (np.zeros((2, 4), "<f4"), np.zeros((3, 3, 4), "<f4")):
        with pytest.raises(ValueError) as info:
            view[...] = source
        assert str(source.shape) in str(info.value) and "destination of shape (3, 4)" in str(info.value)


@pytest.mark.parametrize("call", [
    lambda a: a.fill(1), lambda a: a.item(0), lambda a: a.map(), lambda a: a.__setitem__(..., 1),
    lambda a: bi.copyto(a[:0], a),
])  # fmt: skip
def test_operations_do_not_apply_masks(cuda, call):
    class Masked(Foreign):
        def __init__(self, cuda):
            super().__init__(cuda, 4)
            self.__cuda_array_interface__["mask"] = Foreign(cuda, 4)

    array = buffer_interface(Masked(cuda), mask="keep")
    with pytest.raises(bi.UnsupportedError, match="is masked: .* does not apply masks"):
        call(array)


def test_overlapping_assignment(device):
    expected = np.arange(20, dtype="<i4")
    view = bi.from_numpy(expected, device=device)
    view[3:] = view[:-3]
    view[::-1] = view
    expected[3:] = expected[:-3].copy()
    check(view, expected[::-1], device)


def test_numpy_is_done_with_when_a_copy_returns(device):
    """NumPy hears of no stream, so whoever hands us its memory may change it at once."""
    for count in (10, 1 << 20):
        source = np.arange(count, dtype="<i4")
        view = bi.from_numpy(source, device=device)
        source[:] = -1
        check(view, np.arange(count, dtype="<i4"), device)
        bi.copyto(view, source)
        source[:] = 5
        back = np.zeros_like(source)
        bi.copyto(back, view)
        assert (back == -1).all()
        view[:] = source
        source[:] = 0
        check(view, np.full(count, 5, "<i4"), device)


def test_numpy_behind_a_view_is_done_with_when_a_copy_returns(device):
    """A view that was imported before is no reason to read the producer's memory later."""
    for count in (10, 1 << 20):
        source = np.arange(count, dtype="<i4")
        known, expected = buffer_interface(source), source.copy()
        target = bi.zeros(count, "<i4", device=device)
        for copied in (
            lambda: known.to(device) if device != "host" else known.copy(),
            lambda: bi.asarray(known, device=device, copy=True),
            lambda: bi.from_numpy(known, device=device),
            lambda: bi.copyto(target, known) or target,
            lambda: target.__setitem__(..., known) or target,
        ):
            source[:] = expected
            result = copied()
            source[:] = -1
            check(result, expected, device)


def test_host_memory_behind_a_gate_is_done_with_when_a_copy_returns(cuda):
    """The copy cannot start before the gate opens, and the function does not return before that."""
    if not cuda.sim:
        return
    source, stream = np.full(64, 7, "u1"), cuda.stream()
    target, known = bi.zeros(64, "u1", device="cuda"), buffer_interface(source)
    target.acquire(stream)
    gate = cuda.gate(stream)
    target.hand_back(stream)
    opener = threading.Timer(0.1, gate.open)
    opener.start()
    bi.copyto(target, known)
    source[:] = 0
    opener.join()
    check(target, np.full(64, 7, "u1"), "cuda")


def test_sync_false_leaves_the_order_of_host_memory_to_the_caller(cuda):
    source = buffer_interface(np.full(64, 7, "u1"), sync=False)
    target = bi.zeros(64, "u1", device="cuda")
    bi.copyto(target, source)
    check(target, np.full(64, 7, "u1"), "cuda")


def test_from_numpy_copies_on_the_host_as_well():
    source = np.arange(3)
    assert not bi.shares_memory(bi.from_numpy(source, device="host"), source)
    with pytest.raises(TypeError):
        bi.from_numpy([1, 2, 3], device="host")


def test_asarray(device):
    source = np.arange(6, dtype="<f4").reshape(2, 3)
    assert bi.shares_memory(bi.asarray(source), source)
    assert bi.shares_memory(bi.asarray(source, copy=False, dtype="<f4", device="host"), source)
    assert not bi.shares_memory(bi.asarray(source, copy=True), source)
    view = bi.asarray(source, device=device)
    check(view, source, device)
    assert bi.asarray(view) is view and bi.asarray(view, device=device, copy=None) is view
    assert bi.asarray(view, device=view, dtype=np.float32) is view
    copied = bi.asarray(view, copy=True)
    assert copied.backend == device and not bi.shares_memory(copied, view)
    with pytest.raises(TypeError, match="nothing is converted"):
        bi.asarray(view, dtype="<i4")
    with pytest.raises(TypeError):
        bi.asarray([1, 2])
    if device != "host":
        with pytest.raises(ValueError, match="copy is False"):
            bi.asarray(view, device="host", copy=False)


def test_asarray_without_a_copy_does_not_wait(cuda):
    bi.empty(1, "u1", device="cuda").release()  # opens the device, for which the driver may wait
    producer = producers.TorchLike(cuda)
    producer.fill(3)
    waits = cuda.counts().host_waits
    view = bi.asarray(producer)
    assert view.stream is not None and cuda.counts().host_waits == waits
    check(view, np.full(64, 3, "u1"), "cuda")


def test_asarray_of_a_structure():
    source = np.zeros(2, POINT)
    assert bi.asarray(source, dtype=POINT).dtype == POINT
    with pytest.raises(TypeError, match="fields"):
        bi.asarray(source, dtype=np.dtype([("y", "<f4"), ("at", "<i2", (3,)), ("name", "S2")]))


def test_to_is_the_array_itself_where_it_is(device):
    view = bi.zeros(3, "f4", device=device)
    assert view.to(device) is view and view.to(view) is view and view.to(view.device_spec) is view


@pytest.mark.needs("simulator")
def test_to_where_it_is_is_acquired_for_the_stream(cuda):
    stream, view = cuda.stream(), bi.zeros(64, "u1", device="cuda")
    assert not ordered(cuda, stream, view)
    assert view.to("cuda", stream=stream) is view
    assert ordered(cuda, stream, view)
    host = bi.zeros(3, "f4", device="host")
    with pytest.raises(ValueError, match="stream"):
        host.to("host", stream=stream)
    with pytest.raises(TypeError):
        view.to("cuda", stream="stream")


@pytest.mark.needs("opencl")
def test_to_an_adopted_context():
    """A device string means the library's own context, another array the context of that array."""
    import pyopencl as cl
    import pyopencl.array

    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    theirs = buffer_interface(pyopencl.array.zeros(queue, 4, "f4"))
    ours = bi.full(4, 3, "f4", device="opencl")
    moved = ours.to(theirs)
    assert moved.context == theirs.context != ours.context
    assert moved.to(theirs) is moved
    check(moved.to("opencl"), np.full(4, 3, "f4"), "opencl")


# Values


def test_fill_and_item(device):
    view = bi.zeros((3, 4), "<i4", device=device)
    view.fill(7)
    view[1].fill(value=np.int64(-2))
    view[-1, -1] = 5
    assert view.item(0, 0) == 7 and view.item(1, -1) == -2 and view.item(-1) == 5 and view.item((1, 2)) == -2
    assert view.item(-12) == 7 and view.item(-5) == -2
    assert view[1, 1].item() == -2 and type(view.item(0)) is int
    for index, error in [((), ValueError), ((3, 0), IndexError), ((12,), IndexError), ((-13,), IndexError)]:
        with pytest.raises(error):
            view.item(*index)
    for index, error in [((0, 0, 0), ValueError), (("a",), TypeError), ((1.5, 0), TypeError)]:
        with pytest.raises(error):
            view.item(*index)
    with pytest.raises(ValueError, match="read-only"):
        view.broadcast_to((2, 3, 4)).fill(0)
    with pytest.raises(TypeError):
        view.fill()
    with pytest.raises(TypeError):
        view.fill(1, 2)


def test_item_of_no_elements(device):
    with pytest.raises(ValueError):
        bi.empty((0,), "f4", device=device).item()
    with pytest.raises(IndexError):
        bi.empty((0, 2), "f4", device=device).item(0)


def test_large_elements(device):
    """Elements that do not fit into a small buffer."""
    view = bi.full(3, b"x" * 1000, "S1000", device=device)
    assert view.item(2) == b"x" * 1000


# Order


def ordered(cuda, stream, view):
    return cuda.ordered(stream, int(view.buffer), view.nbytes)


@pytest.mark.needs("simulator")
def test_acquire_and_hand_back(cuda):
    stream = cuda.stream()
    view = bi.zeros(64, "u1", device="cuda")
    assert not ordered(cuda, stream, view)
    view.acquire(stream)
    assert ordered(cuda, stream, view)
    cuda.fill(int(view.buffer), 7, 64, stream)
    view.hand_back(stream)
    check(view, np.full(64, 7, "u1"), "cuda")
    with pytest.raises(TypeError):
        view.acquire(None)
    with pytest.raises(ValueError, match="C6"):
        view.acquire(0)
    with pytest.raises(TypeError):
        view.hand_back("stream")


def test_a_stream_is_handed_back_once(cuda):
    """Afterwards its owner may let it go."""
    stream = cuda.stream()
    view = buffer_interface(Foreign(cuda, 64), stream=stream)
    view.hand_back(stream)
    cuda.destroy_stream(stream)
    view.release()


def test_join_into_the_home_of_an_array(cuda):
    streams = [cuda.stream() for _ in range(3)]
    view = bi.empty(96, "u1", device="cuda")
    for i, stream in enumerate(streams):
        view.acquire(stream)
        cuda.fill(int(view[32 * i : 32 * i + 32].buffer), i, 32, stream)
    view.join(*streams)
    check(view, np.repeat(np.arange(3, dtype="u1"), 32), "cuda")
    view.join()
    with pytest.raises(TypeError):
        view.join(streams)
    with pytest.raises(TypeError):
        view.join(streams[0], into=streams[1])


@pytest.mark.parametrize("kind", [tuple, list, iter])
@pytest.mark.needs("simulator")
def test_join_streams_into_one(cuda, kind):
    """The example of the CUDA Array Interface: streams 7, 9 and 15 into 3."""
    bi.empty(1, "u1", device="cuda")  # opens the context, in which a driver may wait for earlier work
    *streams, into = [cuda.stream() for _ in range(4)]
    pointer = cuda.alloc(96)
    for i, stream in enumerate(streams):
        cuda.fill(pointer + 32 * i, i, 32, stream)
    assert not cuda.ordered(into, pointer, 96)
    waits = cuda.counts().host_waits
    bi.join(kind(streams), into, "cuda")
    assert cuda.ordered(into, pointer, 96) and cuda.counts().host_waits == waits


def test_join_errors(cuda):
    stream = cuda.stream()
    for call, error in [
        (lambda: bi.join([stream], stream), TypeError),
        (lambda: bi.join(stream, stream, 0), TypeError),
        (lambda: bi.join([None], stream, 0), TypeError),
        (lambda: bi.join([stream], None, 0), TypeError),
        (lambda: bi.join([0], stream, 0), ValueError),
        (lambda: bi.join([stream], 0, 0), ValueError),
        (lambda: bi.join([stream], stream, "host"), ValueError),
    ]:
        with pytest.raises(error):
            call()
    bi.join([], stream, 0)


def test_streams_of_operations(cuda):
    """Work on a named stream comes after what is pending, and later work after it."""
    stream = cuda.stream()
    empty = bi.empty(64, "u1", device="cuda", stream=stream)
    assert ordered(cuda, stream, empty)
    zeros = bi.zeros(64, "u1", device="cuda", stream=stream)
    full = bi.full(64, 3, "u1", device="cuda", stream=stream)
    copied = full.copy(stream=stream)
    copied.fill(4, stream=stream)
    bi.copyto(zeros, copied, stream=stream)
    for view in (empty, zeros, full, copied):
        assert ordered(cuda, stream, view)
    there = full.to("host", stream=stream)
    check(zeros, np.full(64, 4, "u1"))
    check(there, np.full(64, 3, "u1"), "host")
    check(there.to("cuda", stream=stream), np.full(64, 3, "u1"), "cuda")
    for call in (there.copy, lambda stream: there.fill(0, stream=stream), lambda stream: bi.copyto(there, there, stream=stream)):
        with pytest.raises(ValueError, match="stream"):
            call(stream=stream)


class Foreign:
    """CUDA memory whose producer says nothing of streams."""

    def __init__(self, cuda, count):
        self.pointer = cuda.alloc(count)
        self.__cuda_array_interface__ = {"shape": (count,), "typestr": "|u1", "data": (self.pointer, False), "version": 2}


def test_foreign_device_memory_is_done_with_when_a_copy_returns(cuda):
    target, source = Foreign(cuda, 64), Foreign(cuda, 64)
    cuda.upload(source.pointer, bytes(range(64)))
    work = cuda.stream()
    bi.copyto(target, source)
    assert cuda.ordered(work, target.pointer, 64) and cuda.ordered(work, source.pointer, 64)
    assert cuda.download(target.pointer, 64) == bytes(range(64))
    bi.copyto(target, bi.full(64, 9, "u1", device="cuda"))
    assert cuda.ordered(work, target.pointer, 64)
    bi.asarray(target, copy=True)
    assert cuda.ordered(work, target.pointer, 64)


def test_foreign_device_memory_and_a_stream_that_the_user_names(cuda):
    """Then the rest of the user's work is on that stream, and nobody waits on the host."""
    target, source, stream = Foreign(cuda, 64), Foreign(cuda, 64), cuda.stream()
    bi.copyto(target, source, stream=stream)
    waits = cuda.counts().host_waits
    bi.copyto(target, source, stream=stream)
    assert cuda.counts().host_waits == waits
    assert cuda.ordered(stream, target.pointer, 64) and cuda.ordered(stream, source.pointer, 64)


def test_host_memory_is_written_when_its_block_ends(device):
    target, source = np.zeros(1 << 20, "u1"), bi.full(1 << 20, 7, "u1", device=device)
    with bi.buffer_interface(target) as view:
        view[...] = source
    assert (target == 7).all()


@pytest.mark.parametrize("word", ["auto", "cuda", "cuda:0"])
@pytest.mark.needs("simulator")
def test_word_for_a_device_is_opened_once(cuda, monkeypatch, word):
    """And obeys the environment each time."""
    monkeypatch.setenv("BI_DEVICE", "cuda:0")
    first = bi.empty(3, "f4", device=word)
    before = cuda.sim.counts().calls
    second = bi.empty(3, "f4", device=word)
    assert "cuDevicePrimaryCtxRetain" not in cuda.sim.calls(before)
    assert second.context == first.context
    monkeypatch.setenv("BI_DEVICE", "host")
    assert bi.empty(3, "f4").backend == "host"


@pytest.mark.needs("simulator")
def test_copies_between_our_arrays_do_not_wait(cuda):
    source, target = bi.zeros(1 << 16, "f4", device="cuda"), bi.empty(1 << 16, "f4", device="cuda")
    waits = cuda.counts().host_waits
    bi.copyto(target, source)
    target[::2] = source[1::2]
    copied = target[::-1].copy()
    copied.fill(1)
    assert cuda.counts().host_waits == waits
    copied.synchronize()
    assert cuda.counts().host_waits > waits and copied.stream is None


def test_synchronize(device):
    view = bi.full(1000, 3, "f4", device=device)
    assert view.synchronize() is None
    view.release()
    with pytest.raises(bi.InvalidArrayError):
        view.synchronize()


@pytest.mark.needs("simulator")
def test_synchronize_reports_what_failed(cuda):
    if not cuda.sim:
        return
    view = bi.zeros(64, "u1", device="cuda")
    # The first call asks for the number of the context, the second makes it current and is tried again.
    cuda.sim.arm(fail_call=3, fail_code=700)
    with pytest.raises(bi.DriverError) as info:
        view.synchronize()
    assert info.value.vendor == 700


@pytest.mark.needs("simulator")
def test_other_threads_run_while_a_copy_waits(cuda):
    """The GIL is free: a thread that opens the gate for the copy can run."""
    if not cuda.sim:
        return
    stream = cuda.stream()
    view = bi.zeros(64, "u1", device="cuda")
    view.acquire(stream)
    gate = cuda.gate(stream)
    view.hand_back(stream)
    opener = threading.Timer(0.05, gate.open)
    opener.start()
    bi.copyto(np.empty(64, "u1"), view)
    opener.join()


# Shared memory


@pytest.mark.parametrize("seed", range(5))
def test_shares_memory_as_numpy(seed):
    rng = random.Random(seed)
    base = np.zeros((6, 7, 8), "<i2")
    whole = buffer_interface(base)

    def part():
        key = tuple(slice(rng.randint(0, 2), rng.randint(n - 3, n), rng.choice([1, 2, 3])) for n in base.shape)
        turn = tuple(slice(None, None, rng.choice([1, -1])) for _ in base.shape)
        return base[key][turn].T, whole[key][turn].T

    shared = 0
    for _ in range(300):
        (a, ours), (b, others) = part(), part()
        expected = np.shares_memory(a, b)
        shared += expected
        assert bi.shares_memory(ours, others) == bi.shares_memory(ours, b) == bi.shares_memory(a, b) == expected
    assert 10 < shared < 290


def test_shares_memory_on_devices(device):
    view, other = bi.zeros(10, "<f4", device=device), bi.zeros(10, "<f4", device=device)
    assert bi.shares_memory(view, view) and bi.shares_memory(a=view[::2], b=view[2:])
    assert not bi.shares_memory(view[::2], view[1::2])
    assert not bi.shares_memory(view, other) and not bi.shares_memory(view[:0], view)
    again = buffer_interface(view)
    assert bi.shares_memory(again[1::2], view) and not bi.shares_memory(again[::2], view[1::2])


def test_shares_memory_of_imports(cuda):
    """The same CUDA memory twice, as two producers would give it."""
    one, other = Foreign(cuda, 64), Foreign(cuda, 64)
    part = Foreign(cuda, 1)
    part.__cuda_array_interface__ = dict(one.__cuda_array_interface__, data=(one.pointer + 32, False), shape=(32,))
    assert bi.shares_memory(one, part) and not bi.shares_memory(one, other)
    first = dict(part.__cuda_array_interface__, data=(one.pointer, False))
    assert not bi.shares_memory(type("First", (), {"__cuda_array_interface__": first})(), part)


def test_shares_memory_errors():
    with pytest.raises(TypeError):
        bi.shares_memory(np.zeros(3), [1])
    with pytest.raises(TypeError):
        bi.shares_memory(np.zeros(3))


def test_trim(device):
    view = bi.full(10, 3, "f4", device=device)
    bi.empty(1 << 20, "f4", device=device).release()
    assert bi.trim() is None
    check(view, np.full(10, 3, "f4"), device)


def test_nothing_leaks():
    source = np.zeros((4, 5), "<f4")
    target = np.zeros((4, 5), "<f4")

    def work():
        view = buffer_interface(target)
        bi.copyto(view, source)
        view[1:3, ::2] = 3
        view[0] = source[0]
        bi.asarray(source, dtype="<f4", copy=True)
        bi.from_numpy(source, device="host").fill(1)
        bi.empty_like(source, device="host")
        bi.shares_memory(source, view)
        view.item(1, 1), view.T, view.reshape(-1), view.broadcast_to((2, 4, 5)), view.view("<i4")
        with view.map("rw") as mapped:
            memoryview(mapped).release()
        for bad in (lambda: view[9], lambda: view["x"], lambda: bi.copyto(view, 1j), lambda: bi.full(2, "x", "f4")):
            with pytest.raises((IndexError, TypeError)):
                bad()

    work()
    gc.collect()
    before = sys.getrefcount(source), sys.getrefcount(target), sys.getrefcount(bi.BufferInterface), sys.getrefcount(None)
    for _ in range(500):
        work()
    gc.collect()
    after = sys.getrefcount(source), sys.getrefcount(target), sys.getrefcount(bi.BufferInterface), sys.getrefcount(None)
    assert before[:3] == after[:3] and abs(after[3] - before[3]) < 50


@pytest.mark.parametrize("number", [fractions.Fraction(1, 2), decimal.Decimal("0.5")])
def test_objects_that_convert_to_a_number_are_assigned(number):
    view = bi.zeros(3, device="host")
    view[0] = number
    bi.copyto(view[1:2], number)
    assert view.tolist() == [0.5, 0.5, 0.0]


class HalfOf:
    """A number of no protocol; with `protocol`, the attribute of one, it is an array without axes."""

    def __init__(self, array):
        self.array = array

    def __float__(self):
        return 0.5


@pytest.mark.parametrize("protocol", ["__dlpack__", "__array_interface__", "__array_struct__", "__buffer_interface_c__"])
@pytest.mark.parametrize("assign", [lambda a, x: a.__setitem__(..., x), bi.copyto], ids=["setitem", "copyto"])
def test_an_array_that_converts_to_a_number_is_an_array(protocol, assign):
    """Its elements are copied, all of them, and not converted."""
    read = property(lambda self: getattr(self.array, protocol))
    kind = type("Array", (HalfOf,), {protocol: read, "__dlpack_device__": lambda self: self.array.__dlpack_device__()})
    source = bi.from_numpy(np.arange(3.0), device="host")
    view = bi.zeros(3, device="host")
    assign(view, HalfOf(None))
    assert view.tolist() == [0.5] * 3
    if protocol != "__buffer_interface_c__":
        assign(view, kind(source))
        assert view.tolist() == [0, 1, 2]
    with pytest.raises((TypeError, bi.InvalidArrayError)):
        assign(bi.zeros(3, "f4", device="host"), kind(source))


def test_a_cuda_array_that_converts_to_a_number_is_an_array(cuda):
    class Array(HalfOf):
        __cuda_array_interface__ = property(lambda self: self.array.__cuda_array_interface__)

    view = bi.zeros(3, device="cuda")
    view[...] = Array(bi.from_numpy(np.arange(3.0), device="cuda"))
    assert view.tolist() == [0, 1, 2]


@pytest.mark.parametrize("value", [np.ma.masked, np.ma.array([1.0], mask=[1]), np.ma.array(1.0, mask=1)], ids=["constant", "one", "no axes"])
@pytest.mark.parametrize("call", [
    lambda x: bi.zeros(2, device="host").fill(x), lambda x: bi.zeros(2, device="host").__setitem__(..., x),
    lambda x: bi.full(2, x, device="host"), lambda x: bi.full(2, x, "?", device="host"),
    lambda x: bi.full(2, x, np.dtype(("f4", 2)), device="host"),
], ids=["fill", "setitem", "full", "bool", "lanes"])  # fmt: skip
def test_H5_a_masked_value_is_refused(call, value):
    with pytest.raises(bi.UnsupportedError, match=r"has a mask, which would be lost.*\[H5\]"):
        call(value)


def test_a_value_without_a_masked_element_is_a_value():
    assert bi.full(2, np.ma.array([1.0], mask=[0]), device="host").tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: bi.ones(3, "V4", device="host"), r"type int is no element of type void4"),
        (lambda: bi.zeros(3, "i8", device="host").fill([1]), r"type list is no element of type int64: .*np\.asarray\(x\)"),
        (lambda: bi.zeros(3, "c8", device="host").fill((1,)), r"type tuple is no element of type complex64: .*np\.asarray"),
        (lambda: bi.zeros(3, "?", device="host").fill({}), r"type dict is no element of type bool: .*a bool or a number"),
        (lambda: bi.full(2, None, device="host"), r"type NoneType is no element of type float64"),
        (lambda: bi.full(2, 1j, "i4", device="host"), r"type complex is no element of type int32"),
        (lambda: bi.full(2, None, "bfloat16", device="host"), r"type NoneType is no element of type bfloat16"),
        (lambda: bi.zeros(2, "i4,f4", device="host").fill(None), r"type NoneType is no element of type void8"),
    ],
)
def test_a_value_that_is_no_element_is_named_with_the_type(call, words):
    with pytest.raises(TypeError, match=words):
        call()


@pytest.mark.parametrize(
    ("error", "words", "call"),
    [
        (ValueError, "step is 0", lambda a: bi.arange(0, 5, 0, device="host")),
        (TypeError, "axis is of type float, not an int", lambda a: bi.flip(a, 1.5)),
        (TypeError, "axis is of type str, not an int", lambda a: bi.moveaxis(a, "x", 0)),
        (IndexError, f"axis {2**70} of", lambda a: bi.squeeze(a, 2**70)),
        (TypeError, "axes is of type float", lambda a: a.transpose(1.5)),
        (TypeError, "shape is of type bytes", lambda a: bi.zeros(b"3", device="host")),
        (TypeError, "shape is of type set", lambda a: a.reshape({1, 3})),
        (TypeError, "count is of type str, not an int", lambda a: bi.set_threads("x")),
        (TypeError, "version is of type float, not an int", lambda a: a.cuda_array_interface(1.5)),
        (TypeError, r"device is \('0', '0'\), not a tuple of two ints", lambda a: bi.zeros(3, device=("0", "0"))),
        (bi.UnsupportedTypeError, "is not an element type", lambda a: bi.zeros(3, "\ud800", device="host")),
        (ValueError, "nan is no integer, and the elements are of type int32", lambda a: a.fill(float("nan"))),
        (OverflowError, "-inf is no integer, and the elements are of type int32", lambda a: a.fill(-float("inf"))),
    ],
)
def test_a_refusal_names_the_argument_and_what_is_expected(error, words, call):
    with pytest.raises(error, match=words) as caught:
        call(bi.zeros(3, "i4", device="host"))
    assert caught.type is error


@pytest.mark.parametrize(
    ("words", "attributes"),
    [
        ("__buffer_interface__ is of type NoneType, not a method", {"__buffer_interface__": None}),
        ("__buffer_interface_c__ is of <class 'int'>, not a capsule named", {"__buffer_interface_c__": 5}),
        ("__dlpack_device__ is of type dict, not a method", {"__dlpack_device__": {}}),
        ("__dlpack__ is of type str, not a method", {"__dlpack__": "x", "__dlpack_device__": lambda self: (1, 0)}),
        ("beside __dlpack__ it needs __dlpack_device__", {"__dlpack__": lambda self: None}),
        ("__cuda_array_interface__ is of type NoneType, not a dict", {"__cuda_array_interface__": None}),
    ],
)
def test_an_attribute_of_a_protocol_that_is_of_another_type_is_named(words, attributes):
    with pytest.raises(TypeError, match=words):
        buffer_interface(type("Producer", (), attributes)())
