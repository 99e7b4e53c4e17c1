"""Rules H1 to H4 and H6: host memory for those who know host memory only, and what device memory says to them."""

import ctypes
import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

import dlpack_structs as dl
from array_struct import ArrayStruct
from producers import CuPyLike

SIMPLE, WRITABLE, FORMAT, ND, STRIDES = 0, 0x1, 0x4, 0x8, 0x10 | 0x8
C_ORDER, F_ORDER, ANY_ORDER = 0x20 | STRIDES, 0x40 | STRIDES, 0x80 | STRIDES
FULL = 0x100 | STRIDES | WRITABLE | FORMAT
FULL_RO = 0x100 | STRIDES | FORMAT

KEYS = [np.s_[:, :], np.s_[::2], np.s_[:, ::-1], np.s_[::-1, 1:5:2], np.s_[1], np.s_[2, 3, ...]]
KEYS += [np.s_[1:1], np.s_[..., None]]


class Buffer(ctypes.Structure):
    """Py_buffer."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


def get_buffer(array, flags):
    buffer = Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(array), ctypes.byref(buffer), flags)
    return buffer


def release(buffer):
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))


@pytest.fixture
def numbers():
    return np.arange(24, dtype="<f4").reshape(4, 6)


@pytest.fixture
def view(bi, numbers):
    return bi.buffer_interface(numbers)


def readonly(bi):
    return bi.buffer_interface(b"12345678")


# H1: device memory


@pytest.mark.parametrize("flags", [SIMPLE, FULL_RO, FULL])
def test_H1_opencl_memory_gives_no_buffer(bi, pocl, flags):
    array = bi.empty((4,), "<f4", device=pocl)
    with pytest.raises(bi.UnsupportedError, match="H1"):
        get_buffer(array, flags)


@pytest.mark.parametrize("kind", ["plain", "pool", "managed"])
def test_H1_cuda_memory_gives_no_buffer(bi, cuda, kind):
    view = bi.buffer_interface(CuPyLike(cuda, kind=kind))
    with pytest.raises(bi.UnsupportedError, match="H1"):
        memoryview(view)
    for name in ("__array_interface__", "__array_struct__"):
        assert not hasattr(view, name)


def test_H1_refusal_leaves_no_object_behind(bi, pocl):
    buffer = Buffer()
    with pytest.raises(BufferError):
        ctypes.pythonapi.PyObject_GetBuffer(
            ctypes.py_object(bi.empty((4,), "<f4", device=pocl)), ctypes.byref(buffer), FULL_RO
        )
    assert ctypes.c_void_p.from_buffer(buffer, Buffer.obj.offset).value is None


def test_H1_pinned_memory_in_dlpack_is_the_hosts(bi, cuda):
    pointer = cuda.alloc(8, "pinned")
    view = bi.buffer_interface(dl.Tensor(pointer, (8,), None, (dl.UINT, 8, 1), (dl.CUDA_HOST, 0)).capsule())
    memoryview(view)[:] = b"12345678"
    assert ctypes.string_at(pointer, 8) == b"12345678"
    assert view.__array_interface__["data"] == (pointer, False)


# H2: what a consumer may ask for


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_H2_buffer_says_what_numpy_says(view, numbers, key):
    ours, theirs = memoryview(view[key]), memoryview(numbers[key])
    for name in ("format", "itemsize", "ndim", "shape", "readonly", "nbytes", "c_contiguous", "f_contiguous"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.strides == view[key].strides
    assert ours.tolist() == theirs.tolist()
    assert np.asarray(view[key]).ctypes.data == numbers[key].ctypes.data or not numbers[key].size


@pytest.mark.parametrize("flags", [WRITABLE, WRITABLE | ND, WRITABLE | STRIDES, FULL])
def test_H2_readonly_is_not_lent_for_writing(bi, flags):
    with pytest.raises(BufferError, match="H2"):
        get_buffer(readonly(bi), flags)


@pytest.mark.parametrize("flags", [SIMPLE, ND, STRIDES, FULL_RO])
def test_H2_readonly_says_so(bi, flags):
    buffer = get_buffer(readonly(bi), flags)
    assert buffer.readonly == 1
    release(buffer)


def test_H2_writes_arrive(view, numbers):
    memoryview(view)[1, 2] = 99
    assert numbers[1, 2] == 99


@pytest.mark.parametrize("flags", [SIMPLE, ND, WRITABLE, ND | FORMAT])
def test_H2_without_strides_it_is_c_contiguous_or_nothing(view, flags):
    for key in (np.s_[::2], np.s_[:, ::-1], np.s_[:, 1:]):
        with pytest.raises(BufferError, match="H2"):
            get_buffer(view[key], flags)
    release(get_buffer(view[1:3], flags))


def test_H2_orders_are_kept(view):
    turned, neither = view.T, view[:, ::2]
    for array, flags, fits in [
        (view, C_ORDER, True),
        (view, F_ORDER, False),
        (view, ANY_ORDER, True),
        (turned, C_ORDER, False),
        (turned, F_ORDER, True),
        (turned, ANY_ORDER, True),
        (neither, ANY_ORDER, False),
        (neither, STRIDES, True),
    ]:
        if fits:
            release(get_buffer(array, flags))
        else:
            with pytest.raises(BufferError, match=r"contiguous.*\[H2\]") as caught:
                get_buffer(array, flags)
            assert ("copy()" in str(caught.value)) == (flags != F_ORDER)


def test_H2_members_are_there_if_asked_for(view):
    for flags, has_format, has_shape, has_strides in [
        (SIMPLE, False, False, False),
        (ND, False, True, False),
        (ND | FORMAT, True, True, False),
        (STRIDES, False, True, True),
        (FULL, True, True, True),
    ]:
        buffer = get_buffer(view, flags)
        assert (buffer.format is not None, bool(buffer.shape), bool(buffer.strides)) == (
            has_format,
            has_shape,
            has_strides,
        )
        assert (buffer.len, buffer.itemsize, buffer.ndim) == (96, 4, 2 if has_shape else 1)
        assert not buffer.suboffsets
        release(buffer)


def test_H2_format_without_shape_is_refused(view):
    with pytest.raises(BufferError, match="H2"):
        get_buffer(view, FORMAT)


def test_H2_without_dimensions(bi):
    buffer = get_buffer(bi.buffer_interface(np.array(2.5)), FULL)
    assert (buffer.ndim, buffer.len, bool(buffer.shape), bool(buffer.strides)) == (0, 8, False, False)
    release(buffer)


def test_H2_types_without_a_format_are_bytes_to_those_who_do_not_ask(bi):
    view = bi.empty((3,), "bfloat16", device="host")
    with pytest.raises(BufferError):
        get_buffer(view, FULL)
    buffer = get_buffer(view, SIMPLE)
    assert (buffer.len, buffer.format) == (6, None)
    release(buffer)


# L1: buffers that were lent


def test_L1_lent_buffers_keep_the_memory(bi):
    class Owner(bytearray):
        pass

    owner = Owner(b"12345678")
    end = weakref.ref(owner)
    view = bi.buffer_interface(owner)
    del owner
    lent = memoryview(view)[2:]
    view.release()
    gc.collect()
    assert end() is not None
    assert bytes(lent) == b"345678"
    with pytest.raises(bi.InvalidArrayError):
        memoryview(view)
    lent.release()
    gc.collect()
    assert end() is None


@pytest.mark.parametrize("name", ["__array_interface__", "__array_struct__"])
def test_L1_released_arrays_have_no_interface(bi, view, name):
    view.release()
    with pytest.raises(bi.InvalidArrayError):
        getattr(view, name)


# H3: numpy.asarray


def test_H3_device_memory_is_a_type_error(bi, pocl):
    array = bi.empty((4,), "<f4", device=pocl)
    for call in (array.__array__, lambda: np.asarray(array), lambda: np.array(array, dtype="f8")):
        with pytest.raises(TypeError, match=r"map\(\) or to\('host'\).*H3"):
            call()


def test_H3_pinned_memory_is_the_hosts(bi, cuda):
    pointer = cuda.alloc(8, "pinned")
    view = bi.buffer_interface(dl.Tensor(pointer, (8,), None, (dl.UINT, 8, 1), (dl.CUDA_HOST, 0)).capsule())
    assert view.__array__().ctypes.data == pointer


def test_H3_messages_name_the_method(view):
    with pytest.raises(TypeError, match=r"__array__\(\)"):
        view.__array__(kind=1)


def test_H3_cuda_memory_is_a_type_error(bi, cuda):
    view = bi.buffer_interface(CuPyLike(cuda))
    with pytest.raises(TypeError, match="H3"):
        np.asarray(view)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_H3_host_memory_is_the_same_memory(view, numbers, key):
    array = view[key].__array__()
    assert array.dtype == numbers.dtype and (array == numbers[key]).all()
    assert array.ctypes.data == numbers[key].ctypes.data or not array.size


def test_H3_dtype_and_copy(view, numbers):
    assert np.shares_memory(view.__array__(), numbers)
    assert np.shares_memory(view.__array__("<f4", copy=False), numbers)
    assert not np.shares_memory(view.__array__(copy=True), numbers)
    assert view.__array__(np.dtype("i8")).dtype == "i8"
    assert view.__array__(dtype="f8", copy=None)[3, 5] == 23
    with pytest.raises(ValueError, match="copy"):
        view.__array__("f8", copy=False)


def test_H3_dtype_that_is_a_pair(view, numbers):
    array = view.__array__(("<f4", (6,)))
    assert array.shape == (4, 6, 6) and (array == np.array(numbers, ("<f4", (6,)))).all()


def test_H3_types_that_only_ml_dtypes_has(bi):
    values = np.array([1, -2, 3.5], ml_dtypes.bfloat16)
    view = bi.buffer_interface(values.view("V2")).view("bfloat16")
    array = np.asarray(view)
    assert array.dtype == values.dtype and (array == values).all()
    assert array.ctypes.data == values.ctypes.data


def test_H3_other_byte_order_and_structures(bi):
    for values in (np.arange(3, dtype=">i4"), np.array([(1, 2.5)], [("n", "<i2"), ("x", "<f8")])):
        array = np.asarray(bi.buffer_interface(values))
        assert array.dtype == values.dtype and (array == values).all()


# H4: __array_interface__


def test_H4_interface_is_numpys(view, numbers):
    for key in KEYS[:-2]:
        ours, theirs = view[key].__array_interface__, numbers[key].__array_interface__
        for name in ("shape", "typestr", "data", "strides", "version"):
            assert ours[name] == theirs[name], name
    assert "descr" not in ours


@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_H4_address_is_never_0(bi, shape):
    for view in (bi.buffer_interface(np.zeros(shape)), bi.empty(shape, "<f4", device="host")):
        interface = view.__array_interface__
        assert interface["shape"] == shape and interface["data"][0] != 0
        assert np.asarray(view).shape == shape


def test_H4_readonly_is_said(bi):
    assert readonly(bi).__array_interface__["data"][1] is True


def test_H4_descr_of_structures(bi):
    values = np.zeros(2, np.dtype([("n", "<i2"), ("x", "<f8", (2,))], align=True))
    dtype = np.dtype(bi.buffer_interface(values).__array_interface__["descr"])
    assert dtype.itemsize == values.dtype.itemsize
    assert [dtype.fields[name] for name in "nx"] == [values.dtype.fields[name] for name in "nx"]


def test_H4_types_without_a_name_have_no_interface(bi):
    view = bi.empty((2,), "bfloat16", device="host")
    assert not hasattr(view, "__array_interface__")
    assert not hasattr(view, "__array_struct__")


def test_H6_an_item_size_that_the_struct_cannot_say(bi):
    """The struct has an int for it."""
    struct, capsule = struct_of(bi.empty((0,), f"|V{2**31 - 1}", device="host"))
    assert struct.itemsize == 2**31 - 1
    view = bi.empty((0,), f"|V{2**31}", device="host")
    assert not hasattr(view, "__array_struct__")
    assert view.__array_interface__["typestr"] == f"|V{2**31}"


def test_H6_texts_that_numpy_misreads_have_no_struct(bi):
    """NumPy takes the item size for the number of characters: it would read eight bytes for each byte of the last text.

    NumPy takes the struct if a buffer cannot be had, whatever the reason.
    """
    texts = np.array(["ab", "cd"])
    assert np.asarray(type("Given", (), {"__array_struct__": texts.__array_struct__})()).itemsize == 4 * texts.itemsize
    view = bi.buffer_interface(texts)
    assert not hasattr(view, "__array_struct__")
    for kind in (texts.dtype, "S2", [("text", "<U2")]):
        view = bi.buffer_interface(np.zeros(2, kind))
        names = [name for name in ("__array_struct__", "__array_interface__") if hasattr(view, name)]
        assert names[-1] == "__array_interface__" and (len(names) == 1) == (view.typestr == "<U2")
        for name in names:
            assert np.asarray(type("Given", (), {name: getattr(view, name)})()).itemsize == view.itemsize


# H6: __array_struct__


def struct_of(array):
    """The struct, and the capsule that keeps it."""
    capsule = array.__array_struct__
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ArrayStruct.from_address(pointer(capsule, None)), capsule


ALIGNED = 0x100


def test_H6_struct_is_numpys(view, numbers):
    for key in KEYS[:-2]:
        (ours, _a), (theirs, _b) = struct_of(view[key]), struct_of(numbers[key])
        nd = ours.nd
        assert (ours.two, nd, ours.typekind, ours.itemsize) == (2, theirs.nd, theirs.typekind, theirs.itemsize)
        assert ours.flags == theirs.flags
        assert ours.shape[:nd] == theirs.shape[:nd] and ours.strides[:nd] == theirs.strides[:nd]
        assert ours.data == theirs.data


def test_H6_byte_order_alignment_and_readonly_are_flags(bi):
    swapped, _a = struct_of(bi.buffer_interface(np.zeros(2, ">i4")))
    assert not swapped.flags & 0x200
    crooked, _b = struct_of(bi.buffer_interface(np.zeros(9, "u1")[1:].view("<i4")))
    assert not crooked.flags & ALIGNED
    fixed, _c = struct_of(readonly(bi))
    assert not fixed.flags & 0x400


def test_H6_descr_of_structures(bi):
    values = np.zeros(2, [("n", "<i2"), ("x", "<f8")])
    struct, _capsule = struct_of(bi.buffer_interface(values))
    assert struct.flags & 0x800
    assert struct.descr == values.dtype.descr


def test_H6_capsule_keeps_the_memory(bi):
    class Owner(bytearray):
        pass

    owner = Owner(b"12345678")
    end = weakref.ref(owner)
    view = bi.buffer_interface(owner)
    struct, capsule = struct_of(view)
    del owner
    view.release()
    gc.collect()
    assert ctypes.string_at(struct.data, 8) == b"12345678"
    del capsule
    gc.collect()
    assert end() is None
