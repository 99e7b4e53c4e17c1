"""map(): the elements for the CPU, through the buffer protocol, for as long as it is held."""

import ctypes
import gc
import sys
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest

import buffer_interface as bi
from buffer_interface import buffer_interface

SIMPLE, WRITABLE, FORMAT, ND, STRIDES = 0, 1, 4, 8, 0x18
C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS, INDIRECT = 0x38, 0x58, 0x98, 0x118
FULL = INDIRECT | FORMAT | WRITABLE
FULL_RO = INDIRECT | FORMAT


@pytest.fixture(params=["host", "opencl", "cuda"])
def device(request):
    if request.param == "cuda":
        request.getfixturevalue("cuda")
    return request.param


@pytest.fixture
def expected():
    return np.arange(24, dtype="<i4").reshape(2, 3, 4)


@pytest.fixture
def view(device, expected):
    return bi.from_numpy(expected, device=device)


class Buffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


class request:
    """A buffer as a C consumer asks for it."""

    def __init__(self, obj, flags):
        self.buffer = Buffer()
        ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(obj), ctypes.byref(self.buffer), flags)

    def __enter__(self):
        return self.buffer

    def __exit__(self, *_):
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(self.buffer))


def test_read(view, expected):
    with view.map() as mapped:
        array = np.asarray(mapped)
        np.testing.assert_array_equal(array, expected)
        assert not array.flags.writeable and mapped.mode == "r" and not mapped.closed
        assert (mapped.shape, mapped.strides, mapped.dtype) == (array.shape, array.strides, array.dtype)
        assert memoryview(mapped).tolist() == expected.tolist()
        del array
    assert mapped.closed


@pytest.mark.parametrize(
    "cut",
    [lambda a: a.T, lambda a: a[::-1, 1:, ::-2], lambda a: a[1, 2, 3:4], lambda a: a[:, :0], lambda a: a[1, 1, 1, ...]],
)
def test_layouts(view, expected, cut):
    mapped = cut(view).map()
    np.testing.assert_array_equal(np.asarray(mapped), cut(expected))
    np.testing.assert_array_equal(mapped.numpy(), cut(expected))
    assert np.asarray(mapped).shape == cut(expected).shape
    mapped.close()


def test_write(view, expected):
    with view.map(mode="w") as mapped:
        np.asarray(mapped)[...] = 100 + expected
    with view[:, ::2].map("rw") as mapped:
        mapped.numpy()[...] += 1000
    expected = 100 + expected
    expected[:, ::2] += 1000
    assert view.item(0, 0, 0) == 1100
    np.testing.assert_array_equal(view.map().numpy(), expected)


def test_writing_a_part_keeps_the_rest(view, expected):
    """'w' promises to write every element of the view, not the bytes between them."""
    with view[:, :, ::2].map("w") as mapped:
        np.asarray(mapped)[...] = -1
    expected[:, :, ::2] = -1
    np.testing.assert_array_equal(view.map().numpy(), expected)


def test_modes(view):
    for mode in ("", "wr", "r+", "R", "x"):
        with pytest.raises(ValueError, match="mode"):
            view.map(mode)
    for mode in (None, 1, b"r"):
        with pytest.raises(TypeError):
            view.map(mode)
    with pytest.raises(TypeError):
        view.map("r", "w")
    with pytest.raises(TypeError):
        view.map(flags=1)


def test_readonly_arrays(view):
    readonly = view.broadcast_to((2, 2, 3, 4))
    for mode in ("w", "rw"):
        with pytest.raises(ValueError, match="read-only"):
            readonly.map(mode)
    with readonly.map() as mapped:
        with pytest.raises(BufferError, match="writable"):
            request(mapped, FULL)


def test_close(view):
    mapped = view.map()
    mapped.close()
    mapped.close()
    assert mapped.closed and mapped.shape == (2, 3, 4) and "closed" in repr(mapped)
    with pytest.raises(BufferError, match="closed"):
        memoryview(mapped)
    with pytest.raises(ValueError, match="closed"):
        with mapped:
            pass


def test_a_mapping_whose_block_has_ended_is_closed_when_nothing_uses_it(view):
    with view.map() as mapped:
        array = np.asarray(mapped)
        assert not mapped.closed and "mapped:" not in repr(mapped)
    assert not mapped.closed and repr(mapped).endswith(", still mapped: a buffer is in use>")
    for use in (mapped.numpy, mapped.__enter__, lambda: memoryview(mapped)):
        with pytest.raises(bi.InvalidArrayError, match=r"block.*has ended.*still in use: delete.*\(del v\)"):
            use()
    del array
    assert mapped.closed and "closed" in repr(mapped)


def test_a_buffer_in_use_keeps_the_mapping(view, expected):
    mapped = view.map("rw")
    array = np.asarray(mapped)
    with pytest.raises(BufferError, match="1 buffers.*del v"):
        mapped.close()
    assert not mapped.closed
    array[...] = 7
    with pytest.raises(BufferError, match="del v"):
        view.fill(0)
    del array
    mapped.close()
    assert view.item(0) == 7
    view.fill(0)


def test_an_array_that_outlives_the_block_ends_the_mapping_when_it_is_freed(view, expected):
    with view.map("rw") as mapped:
        array = mapped.numpy()
        array[...] = 7
    assert not mapped.closed
    with pytest.raises(bi.InvalidArrayError, match="has ended"):
        mapped.numpy()
    with pytest.raises(BufferError, match="del v"):
        view.fill(0)
    array[0] = 9
    del array
    assert mapped.closed
    assert view[0].numpy().tolist() == np.full(expected.shape[1:], 9).tolist()
    view.fill(0)
    assert view.item(0) == 0


def test_an_exception_is_not_replaced(view):
    with pytest.raises(KeyError) as info:
        with view.map("rw") as mapped:
            array = np.asarray(mapped)
            raise KeyError("mine")
    assert info.value.__context__ is None
    del array
    mapped.close()
    with pytest.raises(KeyError):
        with view.map("rw") as mapped:
            raise KeyError("mine")
    assert mapped.closed


def test_the_last_buffer_ends_a_mapping_that_nobody_holds(view):
    array = np.asarray(view.map("rw"))
    array[...] = 7
    with pytest.raises(BufferError):
        view.fill(0)
    del array
    gc.collect()
    assert view.item(0) == 7
    view.fill(1)


def test_mapped_memory_belongs_to_the_cpu(view):
    with view.map("r"):
        with view.map("r"):
            view.copy()
        with pytest.raises(BufferError, match="mapped"):
            view.fill(0)
        with pytest.raises(BufferError):
            view[0] = 0
        with pytest.raises(BufferError):
            view[1].map("w")
    with view.map("w"):
        for use in (view.copy, view.map, lambda: view.item(0, 0, 0), lambda: bi.copyto(np.empty((2, 3, 4), "<i4"), view)):
            with pytest.raises(BufferError):
                use()
    view.fill(0)


def exports_of(view):
    """Each way by which a consumer gets memory on which it may enqueue work."""
    yield view.__dlpack__
    yield lambda: view.__dlpack__(max_version=(1, 0))
    yield lambda: bi.buffer_interface(Lending(view), trust=True)
    if view.backend == "cuda":
        yield lambda: view.__cuda_array_interface__


class Lending:
    """A producer that exports the array of another, as a wrapper does."""

    def __init__(self, view):
        self.__dlpack__, self.__dlpack_device__ = view.__dlpack__, view.__dlpack_device__


def test_memory_that_is_mapped_for_writing_is_not_exported(view):
    for mode in ("w", "rw"):
        with view.map(mode):
            for export in exports_of(view):
                with pytest.raises(BufferError, match="end the mapping first"):
                    export()
        for export in exports_of(view):
            export()


def test_a_mapping_keeps_the_memory(view, expected):
    mapped = view.map()
    view.release()
    np.testing.assert_array_equal(np.asarray(mapped), expected)
    mapped.close()
    with pytest.raises(bi.InvalidArrayError):
        view.map()


def test_imported_host_memory_is_lent_as_it_is():
    array = np.zeros(4, "<i4")
    with buffer_interface(array).map("rw") as mapped:
        assert np.shares_memory(np.asarray(mapped), array)


def test_requests(view):
    with view.map("rw") as mapped:
        with request(mapped, SIMPLE) as buffer:
            assert not buffer.format and not buffer.shape and not buffer.strides and buffer.len == 96
            assert buffer.ndim == 1
            assert buffer.itemsize == 4 and not buffer.readonly and not buffer.suboffsets
        with request(mapped, ND) as buffer:
            assert buffer.shape[:3] == [2, 3, 4] and not buffer.strides and not buffer.format
        with request(mapped, FULL) as buffer:
            assert buffer.strides[:3] == [48, 16, 4] and buffer.format in (b"i", b"=i", b"<i")
        with request(mapped, C_CONTIGUOUS) as buffer:
            assert buffer.ndim == 3
        with pytest.raises(BufferError, match="Fortran"):
            request(mapped, F_CONTIGUOUS)
    with view.T.map() as mapped:
        with request(mapped, F_CONTIGUOUS), request(mapped, ANY_CONTIGUOUS), request(mapped, FULL_RO):
            pass
        for flags in (SIMPLE, ND, C_CONTIGUOUS):
            with pytest.raises(BufferError, match="C-contiguous"):
                request(mapped, flags)
        with pytest.raises(BufferError, match="writable"):
            request(mapped, STRIDES | WRITABLE)
    with view[:, ::2, ::2].map() as mapped:
        with pytest.raises(BufferError, match="not contiguous"):
            request(mapped, ANY_CONTIGUOUS)
        with request(mapped, STRIDES) as buffer:
            assert buffer.len == 4 * 2 * 2 * 2


@pytest.mark.parametrize("dtype", ["|b1", "i1", ">i2", "<u8", "f2", ">f8", "c8", "S3", "<U2", [("a", "<i2"), ("b", ">f4")]])
def test_types_that_the_protocol_names(device, dtype):
    dtype = np.dtype(dtype)
    expected = (np.arange(4 * dtype.itemsize) % 2).astype("u1").view(dtype)
    with bi.from_numpy(expected, device=device).map() as mapped:
        got = np.array(mapped)
        assert mapped.dtype == mapped.numpy().dtype == got.dtype == dtype and got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "V5"])
def test_types_that_it_does_not_name_are_bytes(device, name):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    expected = np.arange(6 * dtype.itemsize, dtype="u1").view(dtype).reshape(2, 3)
    view = bi.zeros((2, 3), name, device=device)
    with view.map("w") as mapped:
        raw = np.asarray(mapped)
        assert raw.dtype == np.uint8 and raw.shape == (2, 3, dtype.itemsize)
        raw[...] = np.arange(raw.size, dtype="u1").reshape(raw.shape)
        del raw
    with view.T[::-1].map() as mapped:
        got = mapped.numpy()
        assert got.dtype == mapped.dtype == dtype and got.shape == mapped.shape == (3, 2)
        assert got.tobytes() == expected.T[::-1].tobytes()
        del got


@pytest.mark.parametrize("name, base", [("float32x4", "f4"), ("int8x16", "i1"), ("complex64x2", "c8")])
@pytest.mark.parametrize("shape", [(), (3,), (3, 2), (0, 4)])
def test_types_of_several_lanes_are_an_axis_of_numpy(device, name, base, shape):
    view = bi.zeros(shape, name, device=device)
    with view.map("rw") as mapped:
        array = mapped.numpy()
        assert (array.shape[:-1], array.dtype) == (shape, base)
        array[...] = 7
        del array
    assert (view.numpy() == 7).all()


def test_a_buffer_without_axes_has_neither_shape_nor_strides(device):
    with bi.zeros((), "f4", device=device).map() as mapped, request(mapped, FULL_RO) as buffer:
        assert (buffer.ndim, buffer.len) == (0, 4) and not buffer.shape and not buffer.strides


def test_bytes_of_an_element_are_an_axis():
    view = bi.zeros((1,) * 64, "bfloat16", device="host")
    with view.map() as mapped:
        with pytest.raises(BufferError, match="64"):
            memoryview(mapped)


@pytest.mark.needs("simulator")
def test_pending_work_is_waited_for_without_the_gil(cuda):
    if not cuda.sim:
        return
    stream = cuda.stream()
    view = bi.zeros(64, "u1", device="cuda")
    view.acquire(stream)
    gate = cuda.gate(stream)
    cuda.fill(int(view.buffer), 5, 64, stream)
    view.hand_back(stream)
    opener = threading.Timer(0.05, gate.open)
    opener.start()
    with view.map() as mapped:
        assert bytes(mapped) == b"\x05" * 64
    opener.join()


def test_what_was_written_comes_before_later_work(cuda):
    view, stream = bi.empty(64, "u1", device="cuda"), cuda.stream()
    with view.map("w") as mapped:
        np.asarray(mapped)[:] = 9
    copied = view.copy()
    copied.acquire(stream)
    assert cuda.ordered(stream, int(copied.buffer), 64, writes=False)
    assert copied.item(63) == 9


@pytest.mark.needs("simulator")
def test_what_will_be_written_is_not_read(cuda):
    if not cuda.sim:
        return
    view = bi.zeros(64, "u1", device="cuda")
    view.synchronize()
    operations = [cuda.counts().operations]
    for mode in ("w", "rw"):
        mapped = view.map(mode)
        operations.append(cuda.counts().operations)
        mapped.close()
        view.synchronize()
    assert operations[1] == operations[0] and operations[2] > operations[1] + 1


def test_during_a_capture_the_memory_stays_mapped(cuda):
    """What was written must not become a part of somebody's graph."""
    view = bi.zeros(64, "u1", device="cuda")
    home, graph = ctypes.c_void_p(view.stream), ctypes.c_void_p()
    mapped = view.map("w")
    mapped.numpy()[:] = 9
    cuda.call("cuStreamBeginCapture_v2", home, 2)
    with pytest.raises(bi.DriverError, match="captur"):
        mapped.close()
    assert not mapped.closed
    cuda.call("cuStreamEndCapture", home, ctypes.byref(graph))
    cuda.call("cuGraphDestroy", graph)
    mapped.close()
    assert mapped.closed and view.item(63) == 9


def test_a_mapping_that_is_dropped_during_a_capture_gives_its_bytes_up(cuda, monkeypatch):
    """Nobody can close it any more, and the array must not stay mapped."""
    view = bi.zeros(64, "u1", device="cuda")
    home, graph = ctypes.c_void_p(view.stream), ctypes.c_void_p()
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda event: raised.append(event.exc_value))
    mapped = view.map("w")
    mapped.numpy()[:] = 9
    cuda.call("cuStreamBeginCapture_v2", home, 2)
    del mapped
    gc.collect()
    cuda.call("cuStreamEndCapture", home, ctypes.byref(graph))
    cuda.call("cuGraphDestroy", graph)
    assert len(raised) == 1 and isinstance(raised[0], bi.DriverError) and "captur" in str(raised[0])
    assert view.item(63) == 0
    view.fill(3)
    assert view.item(63) == 3


def test_a_mapping_is_no_leak(view):
    array_type = weakref.ref(type(view.map()))
    gc.collect()
    before = sys.getrefcount(view), sys.getrefcount(array_type())
    for _ in range(300):
        mapped = view.map("rw")
        np.asarray(mapped), memoryview(mapped).release()
        if _ % 2:
            mapped.close()
        del mapped
        with pytest.raises(ValueError):
            view.map("x")
    gc.collect()
    assert (sys.getrefcount(view), sys.getrefcount(array_type())) == before


def test_no_mapping_is_made_by_hand():
    mapping = type(bi.empty(1, "f4", device="host").map())
    with pytest.raises(TypeError):
        mapping()


def test_a_closed_mapping_refuses_everything_alike(view):
    mapped = view.map()
    mapped.close()
    for call in (mapped.numpy, mapped.__array__, lambda: np.asarray(mapped), lambda: memoryview(mapped), mapped.__enter__):
        with pytest.raises(bi.InvalidArrayError, match="the mapping is closed"):
            call()
    mapped.close()


def test_array_method(view, expected):
    with view.map() as mapped:
        assert mapped.__array__().ctypes.data == mapped.numpy().ctypes.data
        converted = mapped.__array__("<f8")
        assert converted.dtype == "<f8" and (converted == expected).all()
        np.testing.assert_array_equal(np.array(mapped, dtype="<f4", copy=True), expected)
        with pytest.raises(TypeError):
            mapped.__array__(kind=1)


def test_array_method_of_types_without_a_format(device):
    view = bi.full(3, 1.5, "bfloat16", device=device)
    with view.map() as mapped:
        array = mapped.__array__()
        assert array.dtype == ml_dtypes.bfloat16 and array.tolist() == [1.5] * 3
        del array


def test_array_method_where_no_buffer_can_be(device):
    """NumPy asks for __array__ when there is no buffer, which must not come back to NumPy."""
    with bi.zeros((1,) * 64, "bfloat16", device=device).map() as mapped:
        for call in (mapped.numpy, lambda: np.asarray(mapped)):
            with pytest.raises(BufferError, match="64 dimensions"):
                call()


@pytest.mark.parametrize("shape", [(), (2, 3), (0,)])
def test_elements_of_no_bytes(device, shape):
    with bi.empty(shape, "|V0", device=device).map() as mapped:
        array = mapped.numpy()
        assert array.shape == shape and array.dtype == "|V0"


def test_the_mode_is_named(view):
    with pytest.raises(TypeError, match="mode is 3, not 'r', 'w' or 'rw'"):
        view.map(3)


def test_a_mapping_ends_while_an_exception_is_on_its_way(device):
    def work():
        mapped = bi.full(3, 2, "<i4", device=device).map("rw")
        assert not mapped.closed
        raise KeyError("the work")

    for _ in range(3):
        with pytest.raises(KeyError, match="the work"):
            work()
        gc.collect()
