"""The Python object of the specification: by the method __buffer_interface__, and by its attributes alone."""

import gc
import io
import os
import types
import warnings
import weakref
from pathlib import Path

import ml_dtypes
import numpy as np
import pyopencl as cl
import pytest

from exchange_struct import VERSION
from peers import child
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


class Stated:
    """A producer: its method gives the object with these attributes."""

    def __init__(self, **attributes):
        self.given = Draft(**{"buffer_interface_version": VERSION, **attributes})
        self.calls = []

    def __buffer_interface__(self, flags=0, /):
        self.calls.append(flags)
        return self.given


def stated(bi, *, options=(), **attributes):
    return bi.buffer_interface(Stated(**attributes), **dict(options))


def refused_as_stated(bi, match, error=None, **attributes):
    with pytest.raises(error or bi.InvalidArrayError, match=match):
        stated(bi, **attributes)


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


def test_draft_a_dtype_of_none_is_missing(bi, memory):
    class Both(Draft):
        __array_interface__ = memory.__array_interface__

    missing = dict(backend="host", buffer=memory.ctypes.data, typestr=Draft, dtype=None)
    assert bi.buffer_interface(Both(**missing)).shape == memory.shape
    refused_as_stated(bi, "no typestr or dtype", TypeError, **missing)


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
    refused(bi, "protocol" if name == "buffer" else f"has no {name}: a producer has", TypeError, **attributes)
    with pytest.raises(TypeError, match="has no protocol"):
        bi.buffer_interface(Draft(**attributes))


def test_draft_without_a_type_is_another_protocol(bi, memory):
    refused(bi, "no typestr or dtype", TypeError, backend="host", buffer=memory.ctypes.data, typestr=Draft)


@pytest.mark.parametrize(
    "attributes, error",
    [({"shape": [4, 6]}, TypeError), ({"strides": [24, 4]}, TypeError), ({"strides": (4,)}, None), ({"shape": (-1,
     6)}, None),
     ({"offset": 1.5}, TypeError), ({"offset": 2**64}, None), ({"typestr": "<f3"}, TypeError), ({"buffer": "x"},
     TypeError), ({"buffer": 4096.0}, TypeError), ({"buffer": bytearray(b"64")}, TypeError),
     ({"buffer": np.array([4096])}, TypeError),
     ({"buffer": None}, TypeError), ({"buffer": -1}, None), ({"buffer": 0}, None)],
    ids=str,
)
def test_draft_that_cannot_be_is_refused(bi, memory, attributes, error):
    refused(bi, None, error, **{"backend": "host", "buffer": memory.ctypes.data, **attributes})


def test_draft_a_buffer_that_is_no_number_is_named(bi):
    refused(bi, "buffer is of type NoneType, not an object whose int", TypeError, backend="host", buffer=None)


def test_draft_things_with_a_buffer_are_not_drafts(bi):
    for thing in (io.TextIOWrapper(io.BytesIO()), np.zeros(3), memoryview(b"abc"), 5, object()):
        with pytest.raises(TypeError, match="has no|not have the protocol"):
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


def test_a_draft_with_a_stream_of_another_device_is_an_invalid_array(bi, cuda, second):
    refused(bi, "stream", buffer=cuda.alloc(96), stream=second.stream())


def test_an_empty_draft_is_as_read_only_as_it_says(bi, cuda, opencl_queue):
    views = [draft(bi, buffer=0, shape=(0, 6), readonly=True),
             draft(bi, buffer=types.SimpleNamespace(int_ptr=0), shape=(0, 6), readonly=True, context=opencl_queue.context)]
    assert [view.readonly for view in views] == [True, True]
    assert not draft(bi, buffer=0, shape=(0, 6)).readonly


def test_an_empty_draft_names_its_device_by_any_integer(bi, cuda, second):
    assert draft(bi, buffer=0, shape=(0, 6), device=np.int64(1)).device == 1


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


# The method


def test_B2_the_method_of_the_type_gives_the_object(bi, memory):
    producer = Stated(backend="host", buffer=memory.ctypes.data + 4, shape=(3,), strides=(8,))
    assert np.asarray(bi.buffer_interface(producer)).tolist() == [1, 3, 5]
    assert producer.calls == [0]


def test_B2_a_producer_may_return_itself(bi, memory):
    class Itself(Draft):
        buffer_interface_version = VERSION

        def __buffer_interface__(self, flags=0, /):
            return self

    assert bi.buffer_interface(Itself(backend="host", buffer=memory.ctypes.data)).shape == (4, 6)


def test_B2_a_method_of_the_instance_does_not_count(bi, memory):
    producer = Draft(backend="host", buffer=memory.ctypes.data)
    producer.__buffer_interface__ = lambda flags=0: 1 / 0
    assert bi.buffer_interface(producer).shape == (4, 6)


def test_B1_a_typestr_of_none_is_missing(bi, memory):
    assert stated(bi, backend="host", buffer=memory.ctypes.data, typestr=None, dtype=np.dtype("f4")).typestr == "<f4"
    refused_as_stated(bi, "no typestr or dtype.*B-1", TypeError, backend="host", buffer=memory.ctypes.data, typestr=None)


def test_B2_an_attribute_of_the_instance_does_not_replace_the_method(bi, memory):
    producer = Stated(backend="host", buffer=memory.ctypes.data)
    producer.__buffer_interface__ = lambda flags=0: 1 / 0
    assert bi.buffer_interface(producer).shape == (4, 6)


def test_B2_an_error_of_the_method_is_raised(bi):
    class Broken:
        def __buffer_interface__(self, flags=0, /):
            raise LookupError("mine")

        def __buffer__(self, flags, /):
            return memoryview(b"another protocol")

    with pytest.raises(LookupError, match="mine"):
        bi.buffer_interface(Broken())


def test_B2_our_objects_have_the_method(bi):
    view = bi.zeros((4,), device="host")
    assert view.__buffer_interface__() is view and view.__buffer_interface__(0) is view
    assert view.__buffer_interface__(1 << 16 | 1 << 17 | 1 << 30) is view
    assert type(view).buffer_interface_version == view.buffer_interface_version == VERSION
    for wrong in (2, 1 << 15, 1 << 70, -1 << 70):
        with pytest.raises(bi.UnsupportedError, match="B-48"):
            view.__buffer_interface__(wrong)
    for arguments in ((0, 0), ("1",)):
        with pytest.raises(TypeError):
            view.__buffer_interface__(*arguments)
    view.release()
    with pytest.raises(bi.InvalidArrayError, match="released"):
        view.__buffer_interface__()


def test_B2_the_demand_of_ready_memory_names_no_stream(bi, cuda):
    view = bi.full((64,), 3, "u1", device="cuda")
    assert view.__buffer_interface__().stream is not None
    assert view.__buffer_interface__(1).stream is None


def test_B2_our_objects_are_read_by_their_own_attributes(bi, pocl):
    for device in ("host", pocl):
        view = bi.full((4, 6), 7, "i4", device=device)[1:, ::-2]

        class Proxy:
            def __buffer_interface__(self, flags=0, /):
                return view.__buffer_interface__(flags)

        again = bi.buffer_interface(Proxy())
        assert (again.backend, again.shape, again.strides, again.offset) == (view.backend, view.shape, view.strides, view.offset)
        assert again.tolist() == view.tolist() and again.context == view.context


@pytest.mark.parametrize("name", ["buffer", "offset", "shape", "strides", "typestr"])
def test_B1_an_object_of_the_method_is_complete(bi, memory, name):
    refused_as_stated(bi, f"no {name}", TypeError, **{"backend": "host", "buffer": memory.ctypes.data, name: Draft})


def test_B1_strides_of_an_object_of_the_method_are_a_tuple(bi, memory):
    refused_as_stated(bi, "strides is of type NoneType", TypeError, backend="host", buffer=memory.ctypes.data, strides=None)


@pytest.mark.parametrize("version", [1, 3, 0, -1, 1 << 16])
def test_B3_another_version_is_refused(bi, memory, version):
    refused_as_stated(bi, "B-3", bi.UnsupportedError, backend="host", buffer=memory.ctypes.data, buffer_interface_version=version)


@pytest.mark.parametrize("version", [Draft, None, "0.2", 2.0])
def test_B3_without_a_version_the_object_is_refused(bi, memory, version):
    refused_as_stated(bi, "B-3", TypeError, backend="host", buffer=memory.ctypes.data, buffer_interface_version=version)


@pytest.mark.parametrize("given", [None, 5, [], "text"])
def test_B3_what_the_method_gives_is_an_object_with_a_version(bi, given):
    class Odd:
        def __buffer_interface__(self, flags=0, /):
            return given

    with pytest.raises(TypeError, match="buffer_interface_version"):
        bi.buffer_interface(Odd())


def test_B3_a_queue_as_a_number_counts_on_the_object_of_the_method(bi, queue, memory_object):
    assert stated(bi, buffer=memory_object, stream=queue.int_ptr).stream == queue.int_ptr
    assert stated(bi, buffer=memory_object, stream=queue).stream == queue.int_ptr
    refused(bi, "B-3", TypeError, buffer=memory_object, stream=queue.int_ptr, buffer_interface_version=VERSION)


def test_B3_an_int_with_int_ptr_is_a_queue(bi, queue, memory_object):
    class Number(int):
        int_ptr = queue.int_ptr

    assert draft(bi, buffer=memory_object, stream=Number(5)).stream == queue.int_ptr


@pytest.mark.parametrize("stream", [0, -1, 2**64, "text", 1.5])
def test_B3_a_queue_that_is_none_is_refused(bi, memory_object, stream):
    refused_as_stated(bi, None, (bi.InvalidArrayError, TypeError), buffer=memory_object, stream=stream)


AGREEMENT = {"itemsize": 4, "ndim": 2, "size": 24, "nbytes": 96}


@pytest.mark.parametrize("name", AGREEMENT)
def test_B4_numbers_that_differ_are_refused(bi, memory, name):
    place = {"backend": "host", "buffer": memory.ctypes.data}
    assert draft(bi, **place, **AGREEMENT).shape == stated(bi, **place, **AGREEMENT).shape == (4, 6)
    for wrong in (AGREEMENT[name] + 1, 0, -1, 2**70):
        refused(bi, f"{name} is {wrong}.*B-4", **place, **{name: wrong})
        refused_as_stated(bi, f"{name} is {wrong}.*B-4", **place, **{name: wrong})
    refused_as_stated(bi, "B-4", **place, **{name: "text"})
    assert draft(bi, **place, **{name: lambda: 0}).shape == (4, 6)  # of another package


@pytest.mark.parametrize("name, wrong", [("device", 0), ("device", (0, 0)), ("context", 5), ("host_pointer", 64)])
def test_B4_a_place_of_host_memory_that_differs_is_refused(bi, memory, name, wrong):
    place = {"backend": "host", "buffer": memory.ctypes.data}
    assert draft(bi, **place, host_pointer=memory.ctypes.data, device=None, context=None).shape == (4, 6)
    refused(bi, f"{name} is.*B-4", **place, **{name: wrong})
    refused_as_stated(bi, f"{name} is.*B-4", **place, **{name: wrong})
    assert draft(bi, **place, device="cpu").shape == (4, 6)
    refused_as_stated(bi, "B-4", **place, device="cpu")


def test_B4_a_place_of_cuda_that_differs_is_refused(bi, cuda):
    pointer = cuda.alloc(96)
    view = draft(bi, buffer=pointer)
    assert stated(bi, buffer=pointer, device=0, context=view.context).device == 0
    for wrong in ({"device": 1}, {"device": (0, 0)}, {"context": view.context + 8}):
        refused_as_stated(bi, "B-4", buffer=pointer, **wrong)
        refused(bi, "B-4", buffer=pointer, **wrong)
    assert stated(bi, buffer=0, shape=(0,), strides=(4,), device=0).device == 0


def test_B4_a_place_of_opencl_that_differs_is_refused(bi, queue, memory_object):
    device = draft(bi, buffer=memory_object).device
    native = queue.context.int_ptr
    for right in ({"device": device}, {"device": (-1, -1)}, {"context": native}, {"context": queue.context}):
        assert stated(bi, buffer=memory_object, **right).device == draft(bi, buffer=memory_object, **right).device == device
    for wrong in ({"device": (device[0] + 1, 0)}, {"device": (device[0], 99)}, {"device": 0}, {"context": native + 8}):
        refused_as_stated(bi, "B-4", buffer=memory_object, **wrong)
        refused(bi, "B-4", buffer=memory_object, **wrong)
    refused(bi, "99.*the cl_context does not have it .B-4", buffer=memory_object, device=(device[0], 99))
    for wrong in ((0, 0, 0), (0, 1 << 40), (0, "0")):
        refused_as_stated(bi, "not a tuple of platform and ordinal", buffer=memory_object, device=wrong)


def test_an_error_of_the_driver_is_not_blamed_on_the_device():
    """The driver fails when it is queried for the devices of the cl_context."""
    script = """
    import ctypes, os
    os.environ["OPENCL_LAYERS"] = os.environ["BI_TEST_LAYER"]
    import pyopencl as cl
    import buffer_interface as bi
    from test_draft import Draft

    context = cl.create_some_context(interactive=False)
    draft = Draft(buffer=cl.Buffer(context, cl.mem_flags.READ_WRITE, 96))
    bi.buffer_interface(draft)
    layer = ctypes.CDLL(os.environ["BI_TEST_LAYER"], mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    layer.bi_layer_arm.argtypes = ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int
    layer.bi_layer_arm(b"clGetContextInfo", 1, -34)
    draft.device = (0, 99)
    try:
        bi.buffer_interface(draft)
    except bi.DriverError as error:
        print(error.vendor, error)
    """
    built = Path(__file__).parents[2] / "build/default/tests/libbi_opencl_layer.so"
    output = child.run(script, BI_TEST_LAYER=os.environ.get("BI_TEST_LAYER", str(built)))
    assert output == "-34 clGetContextInfo failed: CL_INVALID_CONTEXT (-34)\n"


def test_an_interrupt_while_the_device_is_read_is_raised(bi, memory_object):
    class Number:
        def __index__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        draft(bi, buffer=memory_object, device=(Number(), 0))


class Nothing:
    int_ptr = 0


def test_B22_an_empty_array_of_opencl_stays_on_its_device(bi, queue):
    empty = {"buffer": Nothing(), "shape": (0, 6)}
    assert draft(bi, **empty).backend == "opencl"
    for words in ({"context": queue.context}, {"stream": queue}):
        assert draft(bi, **empty, **words).context == queue.context.int_ptr
    for words in ({"context": queue.context.int_ptr}, {"stream": queue.int_ptr}):
        assert stated(bi, **empty, **words).context == queue.context.int_ptr
        refused(bi, "B-3", TypeError, **empty, **words)


def test_B6_object_producer_and_buffer_live_as_long_as_the_memory(bi, memory):
    producer = Stated(backend="host", buffer=Address(memory.ctypes.data))
    alive = [weakref.ref(of) for of in (producer, producer.given, producer.given.buffer)]
    view = bi.buffer_interface(producer)
    del producer.given.buffer  # as a producer's release() may do
    producer.given = None
    del producer
    gc.collect()
    assert all(ref() is not None for ref in alive)
    view.release()
    gc.collect()
    assert not any(ref() for ref in alive)


def test_B6_a_consumer_never_calls_the_release_of_the_producer(bi, memory):
    calls = []
    producer = Stated(backend="host", buffer=memory.ctypes.data, release=lambda: calls.append(1))
    producer.release = lambda: calls.append(2)
    with bi.buffer_interface(producer):
        pass
    del producer
    gc.collect()
    assert calls == []
