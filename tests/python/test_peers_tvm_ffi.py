"""apache-tvm-ffi: both directions, through __dlpack__ and through the exchange table of the types."""

import sys

import numpy as np
import pytest
import tvm_ffi

from buffer_interface import buffer_interface, empty


def test_takes_ours():
    view = buffer_interface(np.arange(6, dtype="f4").reshape(2, 3))
    tensor = tvm_ffi.from_dlpack(view)
    assert tuple(tensor.shape) == (2, 3) and str(tensor.dtype) == "float32" and str(tensor.device) == "cpu:0"
    assert tensor.data_ptr() == int(view.buffer)
    np.testing.assert_array_equal(np.from_dlpack(tensor), np.arange(6).reshape(2, 3))


def test_gives_its_own():
    source = np.arange(6, dtype="i4")
    tensor = tvm_ffi.from_dlpack(source)
    for protocol in (None, "dlpack"):
        view = buffer_interface(tensor, protocol=protocol)
        assert (view.shape, view.typestr, int(view.buffer)) == ((6,), "<i4", source.ctypes.data)


def test_X3_functions_take_our_objects_through_our_table():
    seen = []
    function = tvm_ffi.convert(
        lambda tensor: seen.append((tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.strides)))
    )
    view = empty((4, 6), "f4", device="host")[::2, 1:]
    function(view)
    assert seen == [(int(view.buffer), (2, 5), (12, 1))]


def test_X6_a_refusal_is_an_exception_there():
    function = tvm_ffi.convert(lambda tensor: None)
    view = buffer_interface(np.zeros(4, ">i4"))
    with pytest.raises((BufferError, TypeError, ValueError, RuntimeError)):
        function(view)


def test_results_come_back_as_objects_that_we_take():
    echo = tvm_ffi.get_global_func("testing.echo")
    view = buffer_interface(np.arange(3, dtype="f8"))
    back = buffer_interface(echo(view))
    assert int(back.buffer) == int(view.buffer)
    assert np.asarray(back).tolist() == [0, 1, 2]


def test_references_come_back():
    source = np.zeros(10)
    before = sys.getrefcount(source)
    for _ in range(100):
        view = buffer_interface(source)
        tensor = tvm_ffi.from_dlpack(view)
        view.release()
        again = buffer_interface(tensor)
        del tensor
        again.release()
    del view, again
    assert sys.getrefcount(source) == before


def test_X8_cuda_memory_comes_with_a_stream(cuda):
    view = empty(8, "f4", device="cuda:0")
    tensor = tvm_ffi.from_dlpack(view)
    assert str(tensor.device) == "cuda:0" and tensor.data_ptr() == int(view.buffer)


def test_bfloat16():
    tensor = tvm_ffi.from_dlpack(empty(4, "bfloat16", device="host"))
    assert str(tensor.dtype) == "bfloat16"
    assert buffer_interface(tensor).typestr == "bfloat16"
