"""Objects with the attributes of the draft: buffer, offset, shape, strides, dtype or typestr."""

import gc
import io
import warnings
import weakref

import ml_dtypes
import numpy as np
import pyopencl as cl
import pytest

from peers.fixtures import first_devices, new_queue, opencl_queue  # noqa: F401


class Draft:
    """The attributes as they are given; ABSENT ones are not there."""

    def __init__(self, **attributes):
        self.__dict__.update({"offset": 0, "shape": (4, 6), "strides": (24, 4), "typestr": "<f4", **attributes})
        for name, value in attributes.items():
            if value is Draft:
                del self.__dict__[name]


class Address:
    """Castable to int, and no more."""

    def __init__(self, address):
        self.address = address

    def __int__(self):
        return self.address


def draft(bi, **options):
    """An import of these attributes, with those of the words that are options of imports."""
    words = {name: options.pop(name) for name in ("trust", "check", "sync", "producer_stream") if name in options}
    return bi.buffer_interface(Draft(**options), protocol="draft", **words)


def refused(bi, match, error=None, **attributes):
    with pytest.raises(error or bi.InvalidArrayError, match=match):
        draft(bi, **attributes)


# Host


@pytest.fixture
def memory():
    return np.arange(24, dtype="<f4")


def test_draft_of_host_memory(bi, memory):
    view = draft(bi, backend="host", buffer=memory.ctypes.data + 4, shape=(3,), strides=(8,))
    assert view.backend == "host"
    assert np.asarray(view).tolist() == [1, 3, 5]


def test_draft_is_found_without_a_word(bi, memory):
    assert bi.buffer_interface(Draft(backend="host", buffer=memory.ctypes.data)).shape == (4, 6)


def test_draft_strides_may_be_none(bi, memory):
    assert draft(bi, backend="host", buffer=memory.ctypes.data, strides=None).strides == (24, 4)


@pytest.mark.parametrize("readonly", [True, False, None])
def test_draft_read_only(bi, memory, readonly):
    assert draft(bi, backend="host", buffer=memory.ctypes.data, readonly=readonly).readonly is bool(readonly)


def test_draft_dtype_in_place_of_typestr(bi, memory):
    view = draft(bi, backend="host", buffer=memory.ctypes.data, typestr=Draft, dtype=np.dtype("<i4"))
    assert view.typestr == "<i4"


@pytest.mark.parametrize("error", [AttributeError, ImportError, TypeError])
def test_draft_typestr_is_enough(bi, memory, error):
    class NoNumPy(Draft):
        @property
        def dtype(self):
            raise error("NumPy, or ml_dtypes, is not there")

    assert bi.buffer_interface(NoNumPy(backend="host", buffer=memory.ctypes.data), protocol="draft").typestr == "<f4"


@pytest.mark.parametrize("dtype", [np.dtype("<f4"), "float32", None, object()], ids=str)
def test_draft_dtype_beside_a_typestr_says_the_same(bi, memory, dtype):
    assert draft(bi, backend="host", buffer=memory.ctypes.data, dtype=dtype).typestr == "<f4"


@pytest.mark.parametrize("dtype", [np.dtype("<i4"), np.dtype(">f4"), np.dtype("<f8"), np.dtype([("a", "<f4")])], ids=str)
def test_draft_dtype_that_contradicts_the_typestr_is_refused(bi, memory, dtype):
    refused(bi, "typestr is '<f4', but dtype is", backend="host", buffer=memory.ctypes.data, dtype=dtype)


def test_draft_dtype_of_another_size_than_the_typestr_is_refused(bi, memory):
    dtype = np.dtype([("x", "<f4"), ("y", "<f4")])
    refused(bi, "V12", backend="host", buffer=memory.ctypes.data, shape=(1,), strides=(12,), typestr="|V12", dtype=dtype)


def test_draft_types_that_numpy_calls_void_are_those_of_dtype(bi, memory):
    dtype = np.dtype(ml_dtypes.bfloat16)
    view = draft(bi, backend="host", buffer=memory.ctypes.data, shape=(4,), strides=(2,), typestr=dtype.str, dtype=dtype)
    assert view.dtype == dtype


STRUCTURE = {"backend": "host", "shape": (2,), "strides": (12,), "typestr": "|V12"}


def test_C13_a_draft_without_dtype_has_its_fields_in_descr(bi, memory):
    descr = [("a", "<i4"), ("b", "<f8")]
    view = draft(bi, buffer=memory.ctypes.data, descr=descr, **STRUCTURE)
    assert view.descr == descr and view["a"].shape == (2,) and view["b"].typestr == "<f8"
    assert draft(bi, buffer=memory.ctypes.data, descr=[("", "|V12")], **STRUCTURE).descr is None
    assert draft(bi, buffer=memory.ctypes.data, descr=None, **STRUCTURE).descr is None


@pytest.mark.parametrize(
    "descr, error",
    [([("a", "<i4")], None), ([("a", "<i4"), ("b", "<f8"), ("c", "u1")], None), ([("a", "nothing")], None),
     ((("a", "<i4"), ("b", "<f8")), TypeError), ("text", TypeError)],
    ids=str,
)
def test_C13_a_draft_with_a_wrong_descr_is_refused(bi, memory, descr, error):
    refused(bi, None, error, buffer=memory.ctypes.data, descr=descr, **STRUCTURE)


def test_C13_a_descr_of_a_simple_type_is_passed_over_aloud(bi, memory):
    with pytest.warns(RuntimeWarning, match="C13"):
        draft(bi, backend="host", buffer=memory.ctypes.data, descr=[("a", "<i4")])
    with warnings.catch_warnings(action="error"):
        draft(bi, backend="host", buffer=memory.ctypes.data, descr=[("", "<f4")])


@pytest.mark.parametrize("backend", ["metal", "CUDA", "", 3, b"cuda"])
def test_draft_backends_that_nobody_knows_are_refused(bi, memory, backend):
    refused(bi, "backend is .* not 'opencl', 'cuda' or 'host'", backend=backend, buffer=memory.ctypes.data)


@pytest.mark.parametrize("backend", ["cuda", "host"])
def test_draft_int_ptr_and_another_backend_are_refused(bi, backend):
    class Buffer:
        int_ptr = 0x1000

    refused(bi, f"backend is '{backend}', but buffer has int_ptr", backend=backend, buffer=Buffer())


@pytest.mark.parametrize("offset", [4, -4, -64, 2**63 - 1])
@pytest.mark.parametrize("backend", ["host", "cuda", None])
def test_draft_only_a_cl_mem_has_an_offset(bi, memory, backend, offset):
    refused(bi, f"offset is {offset}", backend=backend, buffer=memory.ctypes.data, offset=offset, shape=(1,), strides=(4,))


def test_draft_structured_types_are_those_of_dtype(bi, memory):
    dtype = np.dtype([("x", "<f4"), ("y", "<f4")])
    view = draft(bi, backend="host", buffer=memory.ctypes.data, shape=(3,), strides=(8,), typestr="|V8", dtype=dtype)
    assert view.dtype == dtype


@pytest.mark.parametrize("name", ["buffer", "offset", "shape", "strides"])
def test_draft_with_an_attribute_missing_is_another_protocol(bi, memory, name):
    attributes = {"backend": "host", "buffer": memory.ctypes.data, name: Draft}
    refused(bi, "protocol" if name == "buffer" else f"buffer, but no {name}", TypeError, **attributes)
    with pytest.raises(TypeError, match="speaks no protocol"):
        bi.buffer_interface(Draft(**attributes))


def test_draft_without_a_type_is_another_protocol(bi, memory):
    refused(bi, "no typestr or dtype", TypeError, backend="host", buffer=memory.ctypes.data, typestr=Draft)


@pytest.mark.parametrize(
    "attributes, error",
    [({"shape": [4, 6]}, TypeError), ({"strides": [24, 4]}, TypeError), ({"strides": (4,)}, None), ({"shape": (-1,
     6)}, None),
     ({"offset": 1.5}, TypeError), ({"offset": 2**64}, None), ({"typestr": "<f3"}, TypeError), ({"buffer": "x"},
     ValueError),
     ({"buffer": None}, TypeError), ({"buffer": -1}, None), ({"buffer": 0}, None)],
    ids=str,
)
def test_draft_that_cannot_be_is_refused(bi, memory, attributes, error):
    refused(bi, None, error, **{"backend": "host", "buffer": memory.ctypes.data, **attributes})


def test_draft_things_with_a_buffer_are_not_drafts(bi):
    for thing in (io.TextIOWrapper(io.BytesIO()), np.zeros(3), memoryview(b"abc"), 5, object()):
        with pytest.raises(TypeError, match="protocol"):
            bi.buffer_interface(thing, protocol="draft")


def test_draft_masked_is_refused(bi, memory):
    refused(bi, "mask", bi.UnsupportedError, backend="host", buffer=memory.ctypes.data, mask=object())
    with pytest.raises(bi.UnsupportedError, match="not even with mask='keep'"):
        bi.buffer_interface(Draft(backend="host", buffer=memory.ctypes.data, mask=object()), mask="keep")
    assert draft(bi, backend="host", buffer=memory.ctypes.data, mask=None).mask is None


def test_draft_errors_of_attributes_stay(bi):
    class Broken:
        @property
        def buffer(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        bi.buffer_interface(Broken(), protocol="draft")


def test_draft_lives_as_long_as_its_views(bi, memory):
    producer = Draft(backend="host", buffer=memory.ctypes.data)
    alive = weakref.ref(producer)
    view = bi.buffer_interface(producer)
    del producer
    gc.collect()
    assert alive() is not None
    view.release()
    gc.collect()
    assert alive() is None


# CUDA


def test_draft_of_cuda_memory(bi, cuda):
    pointer = cuda.alloc(96)
    for buffer in (pointer, Address(pointer)):
        view = draft(bi, buffer=buffer)
        assert view.backend == "cuda" and view.device == 0 and view.shape == (4, 6)
        assert view.__cuda_array_interface__["data"] == (pointer, False)


def test_draft_of_cuda_memory_of_the_second_device(bi, cuda, second):
    assert draft(bi, buffer=second.alloc(96)).device == 1


def test_draft_of_cuda_memory_with_types_without_typestr(bi, cuda):
    assert draft(bi, buffer=cuda.alloc(96), typestr="bfloat16", strides=(24, 2)).typestr == "bfloat16"


def test_draft_stream_becomes_the_home(bi, cuda):
    stream = cuda.stream()
    pointer = cuda.alloc(96)
    assert draft(bi, buffer=pointer, stream=stream).stream == stream
    assert draft(bi, buffer=pointer, stream=None).stream is None
    assert draft(bi, buffer=pointer).stream is None
    assert draft(bi, buffer=pointer, stream=None, producer_stream=stream).stream == stream


@pytest.mark.parametrize("stream", [0, -1, 2**63])
def test_C6_a_draft_with_a_stream_that_is_none(bi, cuda, stream):
    refused(bi, "C6", buffer=cuda.alloc(96), stream=stream)


def test_draft_sync_false_leaves_the_order_to_the_caller(bi, cuda):
    view = draft(bi, buffer=cuda.alloc(96), stream=cuda.stream(), sync=False)
    assert view.stream is None
    view.fill(1)
    assert view.stream is None
    view.synchronize()


def test_draft_of_a_pointer_that_reaches_too_far_is_refused(bi, cuda):
    refused(bi, None, buffer=cuda.alloc(96), shape=(5, 6))
    refused(bi, "CUDA", buffer=0x12345670)
    refused(bi, "0", buffer=0)
    assert draft(bi, buffer=cuda.alloc(96), shape=(5, 6), check=False).shape == (5, 6)


def test_draft_negative_strides_begin_at_the_buffer(bi, cuda):
    pointer = cuda.alloc(96)
    assert draft(bi, buffer=pointer + 92, shape=(24,), strides=(-4,)).strides == (-4,)


@pytest.mark.parametrize("pointer", [0, 0x12345670])
def test_draft_without_elements_has_any_pointer(bi, cuda, pointer):
    view = draft(bi, buffer=pointer, shape=(0, 6))
    assert view.shape == (0, 6) and view.backend == "cuda"


# OpenCL


@pytest.fixture
def queue(opencl_queue):
    return opencl_queue


@pytest.fixture
def memory_object(queue):
    source = np.arange(24, dtype="<f4")
    return cl.Buffer(queue.context, cl.mem_flags.COPY_HOST_PTR | cl.mem_flags.READ_WRITE, hostbuf=source)


def test_draft_of_opencl_memory(bi, queue, memory_object):
    view = draft(bi, buffer=memory_object, offset=8, shape=(4,), strides=(4,), stream=queue)
    assert view.backend == "opencl" and view.offset == 8
    assert view.buffer.int_ptr == memory_object.int_ptr
    assert view.context == queue.context.int_ptr
    assert view.stream == queue.int_ptr


def test_O1_a_draft_takes_one_reference_and_gives_it_back(bi, memory_object):
    def count():
        return memory_object.get_info(cl.mem_info.REFERENCE_COUNT)

    before = count()
    view = draft(bi, buffer=memory_object)
    part = view[1:]
    assert count() == before + 1
    view.release()
    part.release()
    assert count() == before


def test_O5_bytes_outside_of_the_cl_mem_are_refused(bi, memory_object):
    refused(bi, "96 bytes", buffer=memory_object, offset=4)
    refused(bi, None, buffer=memory_object, offset=-4, shape=(1,), strides=(4,))
    draft(bi, buffer=memory_object, offset=92, shape=(24,), strides=(-4,))


def test_O1_a_number_is_no_cl_mem(bi, cuda, memory_object):
    refused(bi, "int_ptr", TypeError, backend="opencl", buffer=memory_object.int_ptr)
    refused(bi, "CUDA", buffer=memory_object.int_ptr)


def test_draft_a_queue_as_a_number_needs_trust(bi, queue, memory_object):
    refused(bi, "trust=True", TypeError, buffer=memory_object, stream=queue.int_ptr)
    assert draft(bi, buffer=memory_object, stream=queue.int_ptr, trust=True).stream == queue.int_ptr


def test_O3_no_cl_mem_only_without_elements(bi):
    class Nothing:
        int_ptr = 0

    assert draft(bi, buffer=Nothing(), shape=(0, 6)).shape == (0, 6)
    refused(bi, "0", buffer=Nothing())


def test_O6_a_queue_of_another_context_is_refused(bi, memory_object):
    other = new_queue(first_devices())
    with pytest.raises(ValueError):
        draft(bi, buffer=memory_object, stream=other)


def test_draft_int_ptr_of_opencl_says_so(bi, memory_object):
    assert draft(bi, backend="opencl", buffer=memory_object, offset=4, shape=(1,), strides=(4,)).offset == 4
    refused(bi, "backend", backend="host", buffer=memory_object)
