"""Ordinary tasks, with the same results for memory of the host, of OpenCL and of the simulated CUDA driver."""

import asyncio
import collections
import copy
import decimal
import itertools
import operator
import pickle
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import buffer_interface as bi
from buffer_interface import _array
from peers.fixtures import gate, opencl_queue  # noqa: F401

EXPECTED = np.arange(24, dtype="f4").reshape(2, 3, 4)


@pytest.fixture(params=["host", "opencl", "cuda"])
def device(request):
    if request.param == "cuda":
        request.getfixturevalue("cuda")
    return request.param


@pytest.fixture
def array(device):
    return bi.from_numpy(EXPECTED, device=device)


# Contents


def views(array):
    yield array, EXPECTED
    yield array[:, ::-1, 1::2], EXPECTED[:, ::-1, 1::2]
    yield array.T, EXPECTED.T
    yield array[:, 1:1], EXPECTED[:, 1:1]
    yield array[1, 2, 3], EXPECTED[1, 2, 3]
    # One byte: bytes() and bytearray() take an object with __index__ as the length of their result.
    yield array.view("u1")[1, 0, 2:3], EXPECTED.view("u1")[1, 0, 2:3]


def test_contents_in_every_form(array):
    for view, expected in views(array):
        np.testing.assert_array_equal(view.numpy(), expected)
        np.testing.assert_array_equal(view.get(), expected)
        assert view.numpy().dtype == expected.dtype and view.numpy().shape == expected.shape
        assert view.tolist() == expected.tolist()
        assert view.tobytes() == expected.tobytes()


@pytest.mark.parametrize("shape", [1, (1, 1)])
@pytest.mark.parametrize("dtype", ["?", "u1", "i4"])
def test_bytes_of_one_element(shape, dtype):
    array, expected = bi.full(shape, 1, dtype, device="host"), np.ones(shape, dtype)
    assert bytes(array) == bytes(bytearray(array)) == array.tobytes() == bytes(expected)


def test_numpy_of_host_memory_is_a_view():
    array = bi.zeros(3, device="host")
    array.numpy()[1] = 5
    assert array.tolist() == [0, 5, 0]


def test_numpy_comes_after_pending_work(array):
    array.fill(7)
    assert (array.numpy() == 7).all()


def test_iteration_is_that_of_numpy(array):
    for row, expected in itertools.zip_longest(array, EXPECTED):
        assert isinstance(row, bi.BufferInterface) and row.tolist() == expected.tolist()
    assert list(array[0, 1]) == EXPECTED[0, 1].tolist()
    with pytest.raises(TypeError, match=r"item\(\)"):
        iter(array[0, 0, 0])


def test_one_element_is_a_number(array):
    for one in (array[1, 2, 3], array[1:, 2:, 3:]):
        assert bool(one) and int(one) == 23 and float(one) == 23.0 and complex(one) == 23
    assert not array[0, 0, 0]
    assert complex(bi.full((), 1 + 2j, device="host")) == 1 + 2j
    assert operator.index(bi.full((), 3, device="host")) == 3
    with pytest.raises(TypeError):
        operator.index(array[0, 0, 0])
    with pytest.raises(TypeError, match="without axes"):
        operator.index(bi.full((1, 1), 3, device="host"))
    for convert in (bool, int, float, complex):
        with pytest.raises(TypeError, match="24 elements"):
            convert(array)


# Comparisons


def test_host_memory_is_compared_by_numpy():
    array = bi.from_numpy(EXPECTED, device="host")
    for other in (EXPECTED, array, 3.0, EXPECTED[0]):
        expected = EXPECTED == (EXPECTED if other is array else other)
        np.testing.assert_array_equal(array == other, expected)
        np.testing.assert_array_equal(array != other, ~expected)
    assert 3.0 in array and 99 not in array
    with pytest.raises(TypeError):
        array < array  # noqa: B015
    with pytest.raises(TypeError):
        hash(array)


def test_comparisons_are_those_of_numpy_for_every_type():
    class Other:
        __array_ufunc__ = None

        def __eq__(self, other):
            return "asked"

        __hash__ = None

    records = np.array([(1,), (2,)], [("a", "f4")])
    assert (bi.from_numpy(records, device="host") == records).all()
    assert not (bi.arange(3, device="host") == "x").any()
    assert (bi.arange(3, device="host") == Other()) == "asked"


@pytest.mark.parametrize("device", ["opencl", "cuda"], indirect=True)
def test_memory_of_a_device_is_not_compared_silently(array):
    host = bi.from_numpy(EXPECTED, device="host")
    for call in (lambda: array == 3, lambda: array != array, lambda: 3 in array, lambda: host == array):
        with pytest.raises(bi.UnsupportedError, match=r"\.numpy\(\)"):
            call()
    numbers = 3.5, np.float32(3), np.True_, decimal.Decimal(3)
    sequences = [1, 2], (1, 2), range(3), collections.deque([1, 2])
    for other in (*numbers, *sequences, EXPECTED, host, memoryview(b"abc")):
        for compare in (operator.eq, operator.ne):
            with pytest.raises(bi.UnsupportedError, match=r"\.numpy\(\)"):
                compare(array, other)


@pytest.mark.parametrize("device", ["opencl", "cuda"], indirect=True)
def test_memory_of_a_device_equals_nothing_that_is_no_array(array, device):
    class Other:
        def __eq__(self, other):
            return "asked"

        __hash__ = None

    for other in (None, "text", b"text", {}, {1}, object(), ..., int):
        assert not array == other and not other == array and array != other and other != array
        assert array not in [other] and array in [other, array]
    assert (array == Other()) == "asked"
    texts = bi.from_numpy(np.array(["text"]), device=device)
    with pytest.raises(bi.UnsupportedError, match=r"\.numpy\(\)"):
        texts == "text"  # noqa: B015


# The code that a message names for memory of each kind.
COMPUTES = {"host": r"NumPy .* a\.numpy\(\)", "opencl": r"pyopencl_array\(a, queue\).* a\.numpy\(\)",
            "cuda": r"cupy\.from_dlpack\(a\).* torch\.from_dlpack\(a\).* a\.numpy\(\)"}  # fmt: skip


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor"])
def test_arithmetic_names_libraries_that_compute(array, device, name):
    compute = getattr(operator, name)
    for call in (lambda: compute(array, array), lambda: compute(array, 2), lambda: compute(2, array)):
        with pytest.raises(TypeError, match=COMPUTES[device]):
            call()


@pytest.mark.parametrize("name", ["neg", "pos", "abs", "invert"])
def test_arithmetic_of_one_array_names_libraries_that_compute(array, device, name):
    with pytest.raises(TypeError, match=COMPUTES[device]):
        getattr(operator, name)(array)


@pytest.mark.parametrize("name", ["sum", "mean", "astype", "var"])
def test_methods_that_compute_name_libraries_that_compute(array, device, name):
    with pytest.raises(AttributeError, match=COMPUTES[device] + rf"\.{name}\(\)"):
        getattr(array, name)
    assert not hasattr(array, name)


def test_functions_of_numpy_do_not_stop_at_methods_that_compute():
    array = bi.from_numpy(EXPECTED, device="host")
    assert np.sum(array) == EXPECTED.sum() and np.mean(array) == EXPECTED.mean() and np.argmax(array) == 23
    np.testing.assert_array_equal(np.clip(array, 3, 9), EXPECTED.clip(3, 9))


def test_an_operand_of_another_library_computes():
    array = bi.from_numpy(EXPECTED, device="host")
    np.testing.assert_array_equal(EXPECTED + array, EXPECTED + EXPECTED)
    np.testing.assert_array_equal(array * EXPECTED, EXPECTED * EXPECTED)


# Copies and pickles


def test_copies_share_nothing(array):
    for made in (copy.copy(array), copy.deepcopy(array), copy.deepcopy([array])[0]):
        assert made.device_spec == array.device_spec and not bi.shares_memory(made, array)
        assert made.tolist() == EXPECTED.tolist()


def test_a_deep_copy_keeps_identity(array):
    first, second = copy.deepcopy([array, array])
    assert first is second


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(array, protocol):
    for view, expected in views(array):
        made = pickle.loads(pickle.dumps(view, protocol))
        assert made.device_spec == array.device_spec and made.typestr == view.typestr and not made.readonly
        np.testing.assert_array_equal(made.numpy(), expected)


@pytest.mark.parametrize("dtype", ["?", "f2", "c16", "U3", "S5", "V7", ">i4", [("x", "i4"), ("y", "f8", (2,))], [], "bfloat16"])
def test_pickles_of_element_types(dtype):
    array = bi.zeros((2, 3), dtype, device="host")
    made = pickle.loads(pickle.dumps(array))
    assert (made.typestr, made.descr, made.shape) == (array.typestr, array.descr, array.shape)
    assert made.tobytes() == array.tobytes()


def test_a_pickle_of_host_memory_copies_nothing_out_of_band():
    array, buffers = bi.from_numpy(EXPECTED, device="host"), []
    text = pickle.dumps(array, 5, buffer_callback=buffers.append)
    assert len(text) < 200 and len(buffers) == 1
    made = pickle.loads(text, buffers=buffers)
    assert bi.shares_memory(made, array) and made.tolist() == EXPECTED.tolist()


def test_a_changed_pickle_is_refused():
    text = pickle.dumps(bi.from_numpy(EXPECTED, device="host"), 4)
    with pytest.raises((ValueError, TypeError)):
        pickle.loads(text.replace(b"\x03", b"\x05"))


# Shapes


def test_shapes_as_in_numpy(array):
    for view, expected in list(views(array))[:3]:
        np.testing.assert_array_equal(view.ravel().numpy(), expected.ravel())
        np.testing.assert_array_equal(view.mT.numpy(), np.swapaxes(expected, -1, -2))
        np.testing.assert_array_equal(bi.flip(view).numpy(), np.flip(expected))
        for axis in (0, -1, (0, 2), (1, -1)):
            np.testing.assert_array_equal(bi.flip(view, axis).numpy(), np.flip(expected, axis))
            np.testing.assert_array_equal(bi.expand_dims(view, axis).numpy(), np.expand_dims(expected, axis))
        for source, destination in ((0, 2), (-1, 0), ((0, 1), (2, 0)), ((2, 0), (0, 1))):
            np.testing.assert_array_equal(
                bi.moveaxis(view, source, destination).numpy(), np.moveaxis(expected, source, destination)
            )
        long = bi.expand_dims(view, (0, 2, 5))
        assert long.squeeze().shape == expected.shape and long.squeeze(0).shape == long.shape[1:]
        assert bi.broadcast_to(view, (5, *expected.shape)).shape == (5, *expected.shape)


def test_ravel_copies_only_if_it_must(array):
    assert bi.shares_memory(array.ravel(), array) and not bi.shares_memory(array.T.ravel(), array)


def test_axes_that_cannot_be(array):
    for call in (lambda: array.squeeze(0), lambda: bi.flip(array, (0, 0)), lambda: bi.moveaxis(array, (0, 1), 0),
                 lambda: array[0, 0].mT):  # fmt: skip
        with pytest.raises(ValueError):
            call()
    for call in (lambda: bi.flip(array, 0.5), lambda: bi.moveaxis(array, 0, 1.0)):
        with pytest.raises(TypeError, match="not an int"):
            call()
    for call in (lambda: array.squeeze(3), lambda: bi.flip(array, -4), lambda: bi.expand_dims(array, 4)):
        with pytest.raises(IndexError):
            call()


def test_new_arrays(device):
    assert bi.ones((2, 3), device=device).tolist() == [[1.0] * 3] * 2
    assert bi.arange(2, 8, 3, device=device).tolist() == [2, 5] and bi.arange(3, device=device).typestr == "<i8"
    for value, typestr in ((True, "|b1"), (1, "<i8"), (1.0, "<f8"), (1j, "<c16")):
        assert bi.full(2, value, device=device).typestr == typestr
    for make in (bi.empty, bi.zeros, bi.ones):
        assert make(2, device=device).typestr == "<f8"
    with pytest.raises(TypeError, match="not None"):
        bi.arange(None, device=device)


def test_a_range_of_a_type_that_is_not_imported_yet():
    code = """if True:
        import sys
        import buffer_interface as bi
        assert "ml_dtypes" not in sys.modules
        array = bi.arange(3, dtype="bfloat16", device="host")
        assert array.typestr == "bfloat16" and array.numpy().astype("f4").tolist() == [0, 1, 2]
        assert bi.arange(3, dtype="double", device="host").typestr == "<f8"
        try:
            bi.arange(3, dtype="no type", device="host")
        except bi.UnsupportedTypeError:
            pass
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["float", "double", "half", "f", "d", "?", "i4,f8", "|i4", "int8", float, bool])
def test_element_types_by_any_name_of_numpy(name):
    assert bi.zeros(2, name, device="host").dtype == np.dtype(name)


def test_one_class_for_element_types_that_are_not_supported():
    class Producer:
        __array_interface__ = {"shape": (1,), "typestr": "<f3", "data": (8, False), "version": 3}

    for call in (lambda: bi.zeros(2, "O", device="host"), lambda: bi.buffer_interface(np.zeros(2, "M8[s]")),
                 lambda: bi.buffer_interface(np.array([None])), lambda: bi.buffer_interface(np.zeros(2, "g")),
                 lambda: bi.buffer_interface(Producer()), lambda: bi.zeros(2, ">i4", device="host").__dlpack__()):  # fmt: skip
        with pytest.raises(bi.UnsupportedTypeError):
            call()


def test_the_array_api_names(array):
    made = array.to_device("cpu")
    assert made.backend == "host" and made.tolist() == EXPECTED.tolist()
    assert bi.from_dlpack(EXPECTED).tolist() == EXPECTED.tolist()
    assert bi.from_dlpack(EXPECTED, device=array).device_spec == array.device_spec


# Scalars of NumPy


@pytest.mark.parametrize("scalar", [np.float32(3), np.bool_(True), np.str_("ab"), np.bytes_(b"abc"), np.complex128(1j),
                                    np.array([(1, 2.0)], "i4,f8")[0]])  # fmt: skip
def test_scalars_of_numpy_keep_their_type(scalar):
    array = bi.buffer_interface(scalar)
    assert array.shape == () and array.dtype == scalar.dtype and array.numpy() == np.asarray(scalar)


def test_a_date_is_refused_as_a_scalar_too():
    for date in (np.datetime64("2021-05-27"), np.array(np.datetime64("2021-05-27"))):
        with pytest.raises(bi.UnsupportedTypeError):
            bi.buffer_interface(date)


# Text


def test_text_has_the_elements(array):
    assert repr(array) == f"<BufferInterface float32 (2, 3, 4) on {array.device_spec}>\n{EXPECTED}"


def test_text_comes_after_pending_work(array):
    array.fill(7)
    assert repr(array).endswith(f"\n{np.full_like(EXPECTED, 7)}")


def test_text_without_contents(array):
    with array.map("w"):
        assert array.backend == "host" or repr(array) == f"<BufferInterface float32 (2, 3, 4) on {array.device_spec}>"
    array.release()
    assert repr(array) == "<BufferInterface, released>"
    assert _array.contents_text(array) == ""  # as if another thread released it while its repr is made


def test_text_of_many_elements_is_that_of_numpy(device):
    expected = np.arange(7 * 40 * 50, dtype="i4").reshape(7, 40, 50)
    array = bi.from_numpy(expected, device=device)
    assert repr(array).split("\n", 1)[1] == np.array2string(expected)
    assert repr(array[:, :, 0]).split("\n", 1)[1] == np.array2string(expected[:, :, 0])


def test_page_of_a_notebook(array):
    for view, expected in views(array):
        page = view._repr_html_()
        assert page.count("<div>") == page.count("</div>") and str(expected.shape) in page
        assert page.count("<title>element") == expected.size and f"<pre>{np.array2string(np.asarray(expected))}</pre>" in page
    dense = bi.buffer_interface(np.asfortranarray(np.zeros((2, 64, 64, 20), "u1")))._repr_html_()
    assert "not an element" not in dense
    steps = bi.buffer_interface(EXPECTED)[0, 0, ::2]._repr_html_()
    assert re.findall("<title>(.*?)</title>", steps) == ["element [0]", "not an element", "element [1]"]


# asyncio


def test_asyncio_goes_on_while_work_is_pending(array):
    async def main():
        array.fill(3)
        await asyncio.gather(array.ready(), asyncio.sleep(0))

    asyncio.run(main())
    assert array[0, 0].tolist() == [3, 3, 3, 3]


def test_asyncio_needs_no_thread_for_an_array(opencl_queue, gate):
    import pyopencl.array

    owner = pyopencl.array.to_device(opencl_queue, EXPECTED)
    closed = gate()
    owner += 1
    arrays = [bi.buffer_interface(owner)[i % 2] for i in range(100)]

    async def main():
        waits = [asyncio.ensure_future(array.ready()) for array in arrays]
        try:
            for _ in range(100):
                await asyncio.sleep(0)
            assert not any(wait.done() for wait in waits)
            assert threading.active_count() == threads
        finally:
            closed.open()
        await asyncio.gather(*waits)

    threads = threading.active_count()
    asyncio.run(main())
    np.testing.assert_array_equal(owner.get(), EXPECTED + 1)


def test_asyncio_raises_what_the_driver_reports(opencl_queue):
    import pyopencl.array

    owner = pyopencl.array.to_device(opencl_queue, EXPECTED)
    event = pyopencl.UserEvent(opencl_queue.context)
    owner.add_event(event)
    view = bi.buffer_interface(owner)
    event.set_status(-5)
    with pytest.raises(RuntimeError):
        asyncio.run(view.ready())


# Misuse: the text says what to write instead


class Frame:
    def to_numpy(self):
        """As pandas has it."""


class Number:
    """An address without the attribute `backend`."""

    buffer, offset, shape, strides, typestr = 4096, 0, (2,), None, "<f4"


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: bi.buffer_interface([1, 2]), "np.asarray"),
        (lambda: bi.buffer_interface(3), "np.asarray"),
        (lambda: bi.buffer_interface(Frame()), r"\.to_numpy\(\)"),
        (lambda: bi.zeros((2, 3), device="host").T.reshape(6), r"\.copy\(\)\.reshape"),
        (lambda: bi.buffer_interface(Number()), "int_ptr"),
        (lambda: bi.zeros(3, device="tpu"), "'gpu'"),
        (lambda: bi.zeros(3, "float31", device="host"), "'<f4'"),
        (lambda: bi.zeros(2, 3, device="host"), r"tuple: \(2, 3\)"),
        (lambda: bi.zeros(3, device="host").broadcast_to((2, 3)).fill(1), "to a copy"),
        (lambda: bool(bi.zeros(3, device="host")), r"item\(\)"),
        (lambda: bi.zeros(3, device="host").flatten(), r"copy\(\)\.ravel\(\)"),
        (lambda: bi.zeros(3, device="host").fill("1"), r"'1' is no number.*float64.*float\(x\)"),
        (lambda: bi.copyto(bi.zeros(2, "u1", device="host"), b"ab"), r"uint8: np\.frombuffer\(x, 'u1'\)"),
        (lambda: bi.zeros(3, device="host") + 1, r"a\.numpy\(\)"),
        (lambda: memoryview(bi.zeros(3, device="opencl")), r"to\('host'\)"),
        (lambda: np.asarray(bi.zeros(3, device="opencl")), r"numpy\(\)"),
        (lambda: bi.zeros(3, device="host") < 1, r"a\.numpy\(\)"),
        (lambda: bi.zeros(3, device="host")[[0, 1]], r"a\.numpy\(\)\["),
        (lambda: bi.copyto(bi.zeros(3, device="host"), np.zeros(3, "f4")), r"astype\('float64'\)"),
        (lambda: bi.buffer_interface(np.array([None])), r"astype\('float64'\)"),
    ],
)
def test_messages_say_what_to_write(call, text):
    with pytest.raises(Exception, match=text):
        call()


def test_a_message_reads_no_attribute_of_an_object():
    """Reading one runs the object's code, whose KeyboardInterrupt would be lost."""
    asked = []

    class Asked:
        def __getattr__(self, name):
            asked.append(name)
            raise AttributeError(name)

    with pytest.raises(TypeError, match="has no protocol of arrays"):
        bi.buffer_interface(Asked())
    assert "__array_interface__" in asked and "to_numpy" not in asked
