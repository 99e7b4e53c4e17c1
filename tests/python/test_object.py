"""The object by itself: its names, its handle, what it is not; and what buffer_interface() makes of odd arguments."""

import enum
import gc
import inspect

import numpy as np
import pyopencl.array
import pytest

import buffer_interface as package
from buffer_interface import BufferInterface, InvalidArrayError, UnsupportedError, buffer_interface
from buffer_interface._core import Handle
from peers import dlpack
from peers.fixtures import opencl_queue  # noqa: F401


@pytest.fixture
def view():
    return buffer_interface(np.arange(6, dtype="i4"))


def test_O7_names_of_opencl(opencl_queue, view):
    array = buffer_interface(pyopencl.array.zeros(opencl_queue, 4, "f4"))
    assert array.cl_context == array.context == opencl_queue.context.int_ptr
    assert array.cl_command_queue == array.stream == opencl_queue.int_ptr
    array.synchronize()
    assert array.stream is None
    assert array.cl_command_queue == opencl_queue.int_ptr
    for name in ("cl_context", "cl_command_queue"):
        with pytest.raises(AttributeError, match="O7"):
            getattr(view, name)


def test_handle_compares_by_value(view):
    assert isinstance(view.buffer, Handle)
    assert view.buffer == view.buffer
    assert hash(view.buffer) == hash(view.buffer)
    assert view.buffer != view[1:].buffer
    assert view.buffer != int(view.buffer)
    with pytest.raises(TypeError):
        view.buffer < view.buffer  # noqa: B015


@pytest.mark.parametrize("function", [bool, int, float])
@pytest.mark.parametrize("shape", [(6,), (0,), (2, 2)])
def test_no_number(function, shape):
    with pytest.raises(TypeError, match=r"item\(\)"):
        function(buffer_interface(np.zeros(shape, "u1")))


def test_type_says_who_makes_it(view):
    for make in (lambda: BufferInterface(view), lambda: BufferInterface.__new__(BufferInterface)):
        with pytest.raises(TypeError, match=r"buffer_interface\(x\)"):
            make()


@pytest.mark.parametrize("protocol", [None, "buffer", "draft"])
def test_a_type_is_no_array(protocol):
    with pytest.raises(TypeError, match="a type was given, numpy.ndarray"):
        buffer_interface(np.ndarray, protocol=protocol)


@pytest.mark.parametrize(
    "array, text", [(np.array(["abc"]), "<U3 "), (np.zeros(2, "V20"), "|V20 "), (np.zeros(2, "f4"), "float32 ")]
)
def test_repr_names_types_that_can_be_given(array, text):
    assert f"<BufferInterface {text}" in repr(buffer_interface(array))


def test_signatures():
    assert str(inspect.signature(BufferInterface.acquire)) == "(self, stream, /)"
    assert str(inspect.signature(BufferInterface.to)) == "(self, /, device, *, stream=None)"
    for name, member in vars(BufferInterface).items():
        if callable(member) and not isinstance(member, type(BufferInterface.__len__)) and name != "__new__":
            assert str(inspect.signature(member)).startswith("(self"), name


@pytest.mark.parametrize("name", ["sync", "check", "trust", "copy"])
def test_none_is_no_truth(name):
    with pytest.raises(TypeError, match=f"{name} is None"):
        buffer_interface(np.zeros(3), **{name: None})


@pytest.mark.parametrize("name", ["stream", "producer_stream"])
def test_host_memory_has_no_stream(name):
    with pytest.raises(ValueError, match=f"^{name} is given"):
        buffer_interface(np.zeros(3), **{name: 5})


def test_C6_producer_stream_is_named(bi, cuda):
    array = bi.zeros(4, "f4", device="cuda:0")
    with pytest.raises(ValueError, match="^producer_stream is 0"):
        buffer_interface(array, producer_stream=0)
    with pytest.raises(TypeError, match="^producer_stream is of type str"):
        buffer_interface(array, producer_stream="1")


class Number:
    def __init__(self, value):
        self.number = value

    def __int__(self):
        return self.number


class Pointer:
    def __init__(self, value):
        self.value = value


class Stream:
    def __init__(self, handle):
        self.handle = handle


def test_streams_whose_handle_becomes_an_int(bi, cuda):
    stream = cuda.stream()
    number = enum.IntEnum("Streams", {"MINE": stream}).MINE
    given = [Stream(Number(stream)), Stream(Pointer(stream)), Stream(np.int64(stream)), np.int64(stream), number]
    for object in given:
        array = bi.zeros(64, "u1", device="cuda:0")
        array.acquire(object)
        assert cuda.ordered(stream, int(array.buffer), 64)
        array.hand_back(stream)
        array.synchronize()


@pytest.mark.parametrize("handle", ["1", 1.5, object()])
def test_streams_whose_handle_does_not(bi, cuda, handle):
    array = bi.zeros(64, "u1", device="cuda:0")
    with pytest.raises(TypeError, match="handle of a stream is of type"):
        array.acquire(Stream(handle))
    with pytest.raises(TypeError, match="not a stream of cuda"):
        array.acquire(True)


def test_H5_field_named_mask_is_no_mask():
    array = np.rec.array([(1, 2), (3, 4)], dtype=[("mask", "i4"), ("b", "i4")])
    assert buffer_interface(array).shape == (2,)


# DLPack


@pytest.mark.parametrize("device", [(2**32 + 1, 2**32), (1, 2**31), (2**70, 0), (-(2**40), 0)])
def test_D12_device_that_does_not_fit(view, device):
    with pytest.raises(UnsupportedError, match="D12"):
        view.__dlpack__(max_version=(1, 0), dl_device=device)


def test_a_device_string_with_a_surrogate_is_named(bi):
    with pytest.raises(ValueError, match=r"device is '\\udc80', not a device string"):
        bi.empty(1, device="\udc80")


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_D8_our_own_capsule_needs_no_trust(bi, pocl, version):
    array = bi.full((4,), 3, "i4", device=pocl)
    again = buffer_interface(array.__dlpack__(max_version=version))
    assert again.cl_context == array.cl_context
    assert package.shares_memory(again, array)
    assert buffer_interface(array, protocol="dlpack").buffer == array.buffer


def test_D10_other_ordinal_than_announced(bi, cuda):
    tensor = dlpack.Tensor((4,), device=(dlpack.CUDA, 1))
    with pytest.raises(InvalidArrayError, match=r"\(2, 1\).*\(2, 0\).*D10"):
        buffer_interface(tensor.producer(device=(dlpack.CUDA, 0)))
    assert tensor.deleted == 1


def test_metaclass_is_not_asked_for_a_table():
    class Meta(type):
        def __getattr__(cls, name):
            raise ValueError(name)

    class Producer(metaclass=Meta):
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            return np.arange(3).__dlpack__(**keywords)

    assert buffer_interface(Producer(), protocol="dlpack").shape == (3,)


def test_pow_with_an_array_as_modulus(bi):
    a = bi.zeros(1, device="host")
    for base, exponent in ((2, 3), (3, "a"), (True, 2)):
        with pytest.raises(TypeError):
            pow(base, exponent, a)


def test_code_that_an_allocation_runs_may_release_the_array(bi):
    """In Python 3.11 an allocation may collect garbage. Tuples of more than 20 items are always allocated."""
    shape, kept = (3,) + (1,) * 24, []

    class Releases:
        def __del__(self):
            a.release()
            kept.extend(np.full(n, 255, "u1") for n in range(16, 4096, 16) for _ in range(3))

    gc.disable()
    try:
        a = bi.empty(shape, "u1", device="host")
        cycle = Releases()
        cycle.itself = cycle
        del cycle
        gc.set_threshold(1, 1, 1)
        lists = [[] for _ in range(50)]
        gc.enable()
        assert a.shape == shape
    finally:
        gc.set_threshold(700, 10, 10)
        gc.enable()
    assert len(lists) == 50


def test_an_interrupt_while_a_dtype_is_read_is_not_lost(bi):
    class Interrupts:
        @property
        def dtype(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bi.empty(1, Interrupts(), device="host")


@pytest.mark.parametrize("call, error, words", [
    (lambda bi, a: bi.empty(2**64, device="host"), OverflowError, "shape is 18446744073709551616, not in numbers of 64 bits"),
    (lambda bi, a: a.reshape(2**64), OverflowError, "18446744073709551616, not in"),
    (lambda bi, a: bi.empty(1, device=(2**40, 0)), ValueError, r"device is \(1099511627776, 0\), not in numbers of 32 bits"),
    (lambda bi, a: a[2**64], IndexError, "index is 18446744073709551616, not in numbers of 64 bits"),
    (lambda bi, a: a.fill(10**400), OverflowError, "10000000.* does not fit into an element of type float64"),
    (lambda bi, a: bi.full(1, 10**400, "c8", device="host"), OverflowError, "10000000.* does not fit into an element of type complex64"),
])
def test_numbers_of_too_many_bits_are_named(bi, call, error, words):
    with pytest.raises(error, match=words):
        call(bi, bi.zeros(4, device="host"))


def test_repr_of_more_elements_than_memory(bi):
    text = repr(bi.zeros((), "u1", device="host").broadcast_to((8,) * 20))
    assert "shape=(8, 8" in text or "(8, 8" in text
