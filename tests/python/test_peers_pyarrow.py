"""PyArrow: its host arrays come in through DLPack and the buffer protocol, ours go out to it without a copy."""

import sys

import numpy as np
import pyarrow as pa
import pytest

from buffer_interface import buffer_interface, empty


@pytest.mark.parametrize("kind", ["int8", "uint16", "int32", "int64", "float32", "float64"])
def test_arrays_through_dlpack(kind):
    source = pa.array(range(10), type=getattr(pa, kind)())[2:7]
    with buffer_interface(source) as view:
        assert (view.shape, view.dtype, view.readonly) == ((5,), np.dtype(kind), True)
        assert int(view.buffer) == source.buffers()[1].address + 2 * view.itemsize
        assert np.asarray(view).tolist() == [2, 3, 4, 5, 6]


def test_arrays_with_nulls_are_refused_by_their_producer():
    with pytest.raises((BufferError, TypeError, pa.ArrowInvalid, pa.ArrowTypeError)):
        buffer_interface(pa.array([1, None, 3]))


def test_buffers():
    source = pa.py_buffer(b"0123456789")
    with buffer_interface(source) as view:
        assert (view.shape, view.typestr, view.readonly) == ((10,), "|i1", True)
        assert int(view.buffer) == source.address
        assert bytes(view) == b"0123456789"


def test_tensors_keep_their_strides():
    numbers = np.arange(12, dtype="i4").reshape(3, 4)
    source = pa.Tensor.from_numpy(numbers.T)
    with buffer_interface(source) as view:
        assert (view.shape, view.strides) == ((4, 3), (4, 16))
        assert int(view.buffer) == numbers.ctypes.data


def test_arrow_takes_our_memory_as_a_buffer():
    view = empty(6, "f8", device="host")
    np.asarray(view)[:] = range(6)
    buffer = pa.py_buffer(view)
    assert buffer.address == int(view.buffer) and buffer.size == view.nbytes and buffer.is_mutable
    array = pa.Array.from_buffers(pa.float64(), 6, [None, buffer])
    view.release()
    assert array.to_pylist() == [0, 1, 2, 3, 4, 5]


def test_arrow_takes_a_tensor():
    view = buffer_interface(np.arange(6, dtype="f4").reshape(2, 3))
    tensor = pa.Tensor.from_numpy(np.asarray(view))
    assert tensor.to_numpy().ctypes.data == int(view.buffer)
    assert tuple(tensor.shape) == (2, 3)


def test_memory_goes_when_the_last_of_both_is_gone():
    before = pa.total_allocated_bytes()
    for _ in range(100):
        view = buffer_interface(pa.array(range(1000), type=pa.int64()))
        piece = view[10:20]
        view.release()
        assert pa.total_allocated_bytes() > before
        assert np.asarray(piece)[0] == 10
        piece.release()
        assert pa.total_allocated_bytes() == before


def test_references_to_ours_come_back():
    view = empty(8, "u1", device="host")
    before = sys.getrefcount(view)
    buffer = pa.py_buffer(view)
    del buffer
    assert sys.getrefcount(view) == before
