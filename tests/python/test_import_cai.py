"""The CUDA Array Interface as a consumer: rules C1 to C15, as far as they are about Python objects."""

import collections
import gc
import sys
import types
import warnings
import weakref

import numpy as np
import pytest
from producers import CuPyLike, Mapping0

NBYTES = 96
ABSENT = object()


class Producer:
    """24 float32 as 4 x 6; entries of the dictionary can be replaced or left out."""

    def __init__(self, cuda, **entries):
        self.pointer = cuda.alloc(NBYTES)
        self.reads = 0
        self.entries = {"shape": (4, 6), "typestr": "<f4", "data": (self.pointer, False), "version": 3,
                        "strides": None, **entries}
        self.entries = {key: value for key, value in self.entries.items() if value is not ABSENT}

    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        return self.entries


@pytest.fixture
def take(bi, cuda):
    """Imports a producer with these entries; `options` are those of the import."""

    def take(options=(), **entries):
        return bi.buffer_interface(Producer(cuda, **entries), protocol="cuda_array_interface", **dict(options))

    return take


@pytest.fixture
def refuse(bi, take):
    def refuse(match, error=None, options=(), **entries):
        with pytest.raises(error or bi.InvalidArrayError, match=match) as caught:
            take(options, **entries)
        return caught.value

    return refuse


def pointer(view):
    return view.__cuda_array_interface__["data"][0]


# C1, C2: versions and dictionaries


@pytest.mark.parametrize("version", [0, 1, 2, 3, ABSENT, None], ids=str)
def test_C1_versions_up_to_3_are_taken(take, version):
    view = take(version=version)
    assert view.backend == "cuda" and view.device == 0
    assert view.shape == (4, 6) and view.strides == (24, 4) and view.typestr == "<f4"


@pytest.mark.parametrize("version", [4, 99, -1, 2**70])
def test_C1_other_versions_are_refused_by_number(refuse, version):
    refuse(f"version.*{version}.*C1", version=version)


def test_C1_a_version_that_is_no_number_is_a_type_error(refuse):
    refuse("version.*C1", TypeError, version="3")


def test_C2_version_0_and_1_may_be_any_mapping(bi, cuda):
    producer = Producer(cuda)
    for version in (0, 1):
        producer.entries = Mapping0({**producer.entries, "version": version})
        assert bi.buffer_interface(producer, protocol="cuda_array_interface").shape == (4, 6)
        assert bi.buffer_interface(producer).shape == (4, 6)
        producer.entries = dict(producer.entries)


@pytest.mark.parametrize("version", [2, 3])
def test_C2_later_versions_are_dicts(bi, cuda, version):
    producer = Producer(cuda, version=version)
    producer.entries = collections.OrderedDict(producer.entries)
    assert bi.buffer_interface(producer, protocol="cuda_array_interface").shape == (4, 6)
    producer.entries = Mapping0(dict(producer.entries))
    with pytest.raises(TypeError, match=f"version {version}.*Mapping0.*C2"):
        bi.buffer_interface(producer, protocol="cuda_array_interface")


@pytest.mark.parametrize("value", [None, [("shape", (4, 6))], (), "shape", 5], ids=repr)
def test_C2_what_is_no_mapping_is_a_type_error(bi, cuda, value):
    producer = Producer(cuda)
    producer.entries = value
    for protocol in (None, "cuda_array_interface"):
        with pytest.raises(TypeError, match="C2"):
            bi.buffer_interface(producer, protocol=protocol)


@pytest.mark.parametrize("key", ["shape", "typestr", "data"])
def test_C2_a_missing_required_key_is_a_key_error(refuse, key):
    refuse(f"'{key}'.*C2", KeyError, **{key: ABSENT})


# C3: masks


def mask_of(cuda, **entries):
    return Producer(cuda, **{"typestr": "|b1", "shape": (6,), **entries})


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_C3_masked_arrays_are_refused_in_every_version(cuda, bi, refuse, version):
    error = refuse("mask.*C3", bi.UnsupportedError, version=version, mask=mask_of(cuda))
    assert isinstance(error, BufferError) and isinstance(error, NotImplementedError)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_C3_a_mask_is_not_lost_beside_dlpack(cuda, bi, version):
    class Both(CuPyLike):
        @property
        def __cuda_array_interface__(self):
            return {**self._members(), "version": version, "mask": self.mask}

    array = Both(cuda, (4, 6))
    array.mask = mask_of(cuda)
    with pytest.raises(bi.UnsupportedError, match="mask.*C3"):
        bi.buffer_interface(array)
    assert bi.buffer_interface(array, mask="keep").mask.shape == (6,)


def test_C3_mask_none_is_no_mask(take):
    assert take(mask=None).mask is None


def test_C3_a_mask_is_kept_if_the_caller_says_so(cuda, bi, take):
    mask = mask_of(cuda)
    view = take({"mask": "keep"}, mask=mask)
    assert view.mask.shape == (6,) and view.mask.typestr == "|b1"
    assert pointer(view.mask) == mask.pointer
    assert take({"mask": "keep"}).mask is None


def test_C3_array_and_mask_keep_both_producers(cuda, bi):
    mask = mask_of(cuda)
    producer = Producer(cuda, mask=mask)
    gone = [weakref.ref(producer), weakref.ref(mask)]
    view = bi.buffer_interface(producer, protocol="cuda_array_interface", mask="keep")
    kept = view.mask
    producer.entries = mask.entries = None
    del producer, mask
    view.release()
    del view
    gc.collect()
    assert all(ref() is not None for ref in gone)
    kept.release()
    del kept
    gc.collect()
    assert all(ref() is None for ref in gone)


@pytest.mark.parametrize(
    "entries, match",
    [({"shape": (5,)}, "mask.*C3"), ({"shape": (1, 4, 6)}, "mask.*C3"), ({"typestr": "|V1"}, "mask.*C3"),
     ({"data": (0, False)}, "C4")],
    ids=str,
)
def test_C3_a_mask_that_does_not_fit_is_refused(cuda, refuse, entries, match):
    refuse(match, options={"mask": "keep"}, mask=mask_of(cuda, **entries))


def test_C3_a_mask_that_is_no_array_is_a_type_error(refuse):
    refuse("mask.*C3", TypeError, options={"mask": "keep"}, mask=[True])


def test_C3_a_mask_has_no_mask(cuda, bi, refuse):
    refuse("mask.*C3", bi.UnsupportedError, options={"mask": "keep"}, mask=mask_of(cuda, mask=mask_of(cuda)))


# C4, C5: pointers


@pytest.mark.parametrize("data", [[1, False], None, 5], ids=repr)
def test_C4_data_that_is_no_tuple_is_a_type_error(refuse, data):
    refuse("data.*C4", TypeError, data=data)


@pytest.mark.parametrize("data", [(), (1,), (1, False, 0)], ids=repr)
def test_C4_data_of_another_length_is_a_value_error(refuse, data):
    assert isinstance(refuse("data has.*C4", data=data), ValueError)


@pytest.mark.parametrize("number", [0, None, -1, 2**64])
def test_C4_a_pointer_that_is_none(refuse, number):
    refuse("data.*C4", data=(number, False))


@pytest.mark.parametrize("number", [1.5, "0x10"])
def test_C4_a_pointer_that_is_no_int(refuse, number):
    refuse(r"data\[0\].*C4", TypeError, data=(number, False))


@pytest.mark.parametrize("number", [0, None, 1, 2**64 - 1])
@pytest.mark.needs("simulator")
def test_C5_without_elements_no_pointer_is_asked_about(cuda, take, number):
    take()
    before = cuda.calls()
    view = take(shape=(4, 0), data=(number, False), stream=None)
    asked = cuda.sim.calls(before)
    assert not [name for name in asked if "Pointer" in name or "Address" in name]
    assert view.shape == (4, 0) and view.backend == "cuda"
    assert pointer(view) == 0


# C6, C7: streams


def test_C6_stream_0_is_an_error(refuse):
    refuse("stream.*C6", stream=0)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize("stream", [1, 2, None])
def test_C6_default_streams_are_taken_in_every_version(take, version, stream):
    view = take(stream=stream, version=version)
    if stream == 1:
        assert view.stream == 1


def test_C6_a_handle_becomes_the_home(cuda, take):
    stream = cuda.stream()
    assert take(stream=stream).stream == stream


@pytest.mark.parametrize("stream, error", [("1", TypeError), (1.0, TypeError), (True, TypeError), (False, TypeError),
                                           (-1, None), (2**64, None)], ids=repr)
def test_C6_a_stream_that_is_none(refuse, stream, error):
    refuse("stream.*C6", error, stream=stream)


def test_C7_producer_stream_is_taken_for_what_the_producer_says(cuda, take):
    stream = cuda.stream()
    assert take({"producer_stream": stream}).stream == stream
    assert take({"producer_stream": stream}, stream=1).stream == stream
    assert take({"producer_stream": stream}, stream=None).stream == stream


class Stream:
    """A stream object as array libraries have one: the handle is an attribute of it."""

    def __init__(self, ptr):
        self.ptr = ptr


def imported_with(bi, cuda, handle, **attributes):
    producer = Producer(cuda, stream=handle)
    for name, value in attributes.items():
        setattr(producer, name, value)
    return producer, bi.buffer_interface(producer, protocol="cuda_array_interface")


def assert_held_until_release(view, forget, stream):
    forget()
    gc.collect()
    assert stream() is not None
    view.fill(1)
    view.release()
    gc.collect()
    assert stream() is None


def test_C7_the_stream_object_of_an_array_is_held(bi, cuda):
    handle = cuda.stream()
    stream = Stream(handle)
    producer, view = imported_with(bi, cuda, handle, stream=stream)
    stream = weakref.ref(stream)
    assert view.stream == handle
    assert_held_until_release(view, lambda: delattr(producer, "stream"), stream)


def test_C7_the_current_stream_object_of_cupy_is_held(bi, cuda, monkeypatch):
    handle = cuda.stream()
    current = [Stream(handle)]
    module = types.SimpleNamespace(get_current_stream=lambda: current[0])
    monkeypatch.setitem(sys.modules, "cupy.cuda", module)
    _, view = imported_with(bi, cuda, handle)
    assert_held_until_release(view, current.clear, weakref.ref(current[0]))


def test_C7_a_stream_object_with_another_handle_is_left_alone(bi, cuda, monkeypatch):
    def fail():
        raise RuntimeError("no current stream")

    handle, other = cuda.stream(), Stream(cuda.stream())
    monkeypatch.setitem(sys.modules, "cupy.cuda", types.SimpleNamespace(get_current_stream=fail))
    producer, view = imported_with(bi, cuda, handle, stream=other)
    assert view.stream == handle
    del producer.stream
    other = weakref.ref(other)
    gc.collect()
    assert other() is None


@pytest.mark.needs("second device")
def test_C7_the_stream_object_of_an_array_on_another_device(bi, cuda, second):
    """The device of the import before is tried first; the stream does not belong to it."""
    for driver in (cuda, second, cuda):
        handle = driver.stream()
        producer, view = imported_with(bi, driver, handle, stream=Stream(handle))
        assert (view.device_spec, view.stream) == (f"cuda:{driver.ordinal}", handle)
        view.release()


@pytest.mark.parametrize("where", ["array", "stream", "cupy"])
def test_an_interrupt_at_the_stream_object_is_not_lost(bi, cuda, monkeypatch, where):
    class Interrupting(Producer):
        @property
        def stream(self):
            return interrupt() if where == "array" else Behind() if where == "stream" else None

    class Behind:
        def __cuda_stream__(self):
            interrupt()

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "cupy.cuda", types.SimpleNamespace(get_current_stream=interrupt))
    for first in (True, False):  # the device of an import before is tried first
        with pytest.raises(KeyboardInterrupt):
            bi.buffer_interface(Interrupting(cuda, stream=cuda.stream()))
        bi.buffer_interface(Producer(cuda))


@pytest.mark.parametrize("is_same", [False, True])
def test_C7_the_stream_object_of_an_array_does_not_replace_the_stream_of_its_mask(bi, cuda, is_same):
    handle, other = cuda.stream(), cuda.stream()
    producer = Producer(cuda, stream=handle, mask=mask_of(cuda, stream=handle if is_same else other))
    producer.stream = Stream(handle)
    view = bi.buffer_interface(producer, mask="keep")
    assert (view.stream, view.mask.stream) == (handle, handle if is_same else other)
    stream = weakref.ref(producer.stream)
    del producer.stream
    gc.collect()
    assert (stream() is not None) == is_same


def test_C7_a_process_opts_out_of_stream_objects_as_well(bi, cuda, monkeypatch):
    monkeypatch.setenv("BI_CAI_SYNC", "0")
    handle = cuda.stream()
    _, view = imported_with(bi, cuda, handle, stream=Stream(handle))
    assert view.stream is None
    named = bi.buffer_interface(Producer(cuda, stream=handle), producer_stream=handle)
    assert named.stream == handle


@pytest.mark.needs("second device")
def test_C7_a_stream_object_of_another_context_is_refused_unless_the_process_opts_out(bi, cuda, second, monkeypatch):
    handle = second.stream()
    with pytest.raises(bi.InvalidArrayError, match=r"another CUcontext.*\[C6\]"):
        imported_with(bi, cuda, handle, stream=Stream(handle))
    bi._core._close_contexts()
    monkeypatch.setenv("BI_CAI_SYNC", "0")
    _, view = imported_with(bi, cuda, handle, stream=Stream(handle))
    assert view.stream is None


def test_C7_a_process_opts_out_when_the_device_is_opened(bi, cuda, monkeypatch):
    handle = cuda.stream()
    opened = bi.buffer_interface(Producer(cuda))
    monkeypatch.setenv("BI_CAI_SYNC", "0")
    producer, view = imported_with(bi, cuda, handle, stream=Stream(handle))
    stream = weakref.ref(producer.stream)
    del producer.stream
    gc.collect()
    assert (view.stream, stream() is None) == (handle, False)
    opened.release()


def test_C7_sync_false_leaves_the_order_to_the_caller(cuda, take):
    view = take({"sync": False}, stream=cuda.stream())
    assert view.stream is None


@pytest.mark.needs("simulator")
def test_C7_the_end_of_a_with_block_waits_only_where_no_stream_is_named(cuda, take):
    def waits(**entries):
        with take(**entries) as view:
            view.fill(1)
            before = cuda.counts().host_waits
        return cuda.counts().host_waits - before

    assert waits(stream=cuda.stream()) == 0
    assert waits(stream=None) == 1
    assert waits() == 1


# C8, C9: lifetime, read-only


def test_C8_the_object_is_kept_and_not_only_its_dictionary(bi, cuda):
    producer = Producer(cuda)
    alive = weakref.ref(producer)
    view = bi.buffer_interface(producer, protocol="cuda_array_interface")
    part = view[1:]
    del producer
    view.release()
    gc.collect()
    assert alive() is not None
    part.release()
    del part
    gc.collect()
    assert alive() is None


def test_C8_a_refused_object_is_let_go(bi, cuda):
    producer = Producer(cuda, shape=(4, 600))
    alive = weakref.ref(producer)
    with pytest.raises(bi.InvalidArrayError):
        bi.buffer_interface(producer, protocol="cuda_array_interface")
    del producer
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("readonly", [True, False])
def test_C9_read_only_is_true_to_the_producer(cuda, take, readonly):
    pointer = cuda.alloc(NBYTES)
    view = take(data=(pointer, readonly))
    assert view.readonly is readonly
    assert view[1:].__cuda_array_interface__["data"] == (pointer + 24, readonly)


# C10, C11: layouts


@pytest.mark.parametrize("strides", [None, ABSENT], ids=["None", "absent"])
def test_C10_without_strides_the_order_is_that_of_C(take, strides):
    assert take(strides=strides).strides == (24, 4)


@pytest.mark.parametrize("strides", [(4, 16), (0, 4), (7, 1), (24, 2)])
def test_C10_any_strides_are_taken(take, strides):
    assert take(shape=(2, 3), strides=strides).strides == strides


def test_C10_negative_strides_begin_at_the_pointer(cuda, take):
    base = cuda.alloc(NBYTES)
    view = take(shape=(24,), strides=(-4,), data=(base + 92, False))
    assert view.strides == (-4,) and pointer(view) == base + 92


@pytest.mark.parametrize("strides", [[24, 4], 4, "24"])
def test_C10_strides_that_are_no_tuple_are_a_type_error(refuse, strides):
    refuse("strides.*C10", TypeError, strides=strides)


@pytest.mark.parametrize("strides", [(), (4,), (4, 4, 4)])
def test_C10_strides_of_another_length_are_refused(refuse, strides):
    refuse(f"strides has {len(strides)} entries.*C10", strides=strides)


@pytest.mark.parametrize("strides", [(2**63, 4), (-(2**63) - 1, 4)])
def test_C10_strides_that_do_not_fit_are_refused(refuse, strides):
    refuse("strides.*64 bits.*C10", strides=strides)


@pytest.mark.parametrize("shape", [(-1,), (4, -6), (2**63,), (2**62, 8), (2**40, 2**40)])
def test_C11_extents_that_cannot_be_are_refused(refuse, shape):
    refuse("shape.*C11", shape=shape)


@pytest.mark.parametrize("shape", [[4, 6], 24, None])
def test_C11_a_shape_that_is_no_tuple_is_a_type_error(refuse, shape):
    refuse("shape.*C11", TypeError, shape=shape)


def test_C11_a_shape_of_other_objects_is_a_type_error(refuse):
    refuse("shape.*C11", TypeError, shape=(4.0, 6))
    refuse("shape.*C11", TypeError, shape=("4", 6))


def test_C11_more_dimensions_than_there_may_be(refuse, take):
    assert take(shape=(1,) * 64).ndim == 64
    refuse("65.*C11", shape=(1,) * 65)


def test_C11_numbers_with_index_are_numbers(take):
    import numpy as np

    assert take(shape=(np.int64(4), np.uint8(6))).shape == (4, 6)


@pytest.mark.parametrize(
    "entries", [{"shape": (25,)}, {"strides": (25, 4)}, {"shape": (2,), "strides": (-4,)}], ids=str
)
def test_C11_bytes_outside_of_the_allocation_are_refused(refuse, entries):
    refuse("C15|not memory that CUDA knows", **entries)


def test_C11_stride_0_reaches_one_element(take):
    assert take(shape=(1000,), strides=(0,)).shape == (1000,)


# C12, C13: types


@pytest.mark.parametrize("typestr", ["<f4", "=f4", "<i2", "|b1", "|u1", "<c16", "|S4", "<U1", "|V8"])
def test_C12_types_that_are_taken(take, typestr):
    assert take(shape=(1,), typestr=typestr).typestr == typestr.replace("=", "<")


@pytest.mark.parametrize(
    "typestr", ["f4", "?f4", "", ">f4", "|O8", "|t1", "<f3", "<fx", "<f", "<M8[s]", "\u20acf4", "<f4" * 20]
)
def test_C12_types_that_are_refused(bi, typestr, take):
    with pytest.raises((bi.InvalidArrayError, bi.UnsupportedError), match="C12"):
        take(shape=(1,), typestr=typestr)


def test_C12_a_typestr_that_is_no_str(refuse):
    refuse("typestr.*C12", TypeError, typestr=b"<f4")
    refuse("NUL.*C12", typestr="<f4\0")


DESCR = [("x", "<f4"), ("y", "<i2", (2,))]


def test_C13_structured_types(take):
    view = take(shape=(3,), typestr="|V8", descr=DESCR)
    assert view.descr == DESCR
    assert view.__cuda_array_interface__["descr"] == DESCR


@pytest.mark.parametrize(
    "descr", [[("x", "<f4")], [("x", "<f8"), ("y", "<f8")], [("x", "|O")], [("", "|V4")], [("x",)], [1], ["x"]], ids=str
)
def test_C13_a_descr_that_does_not_add_up_is_a_value_error(refuse, descr):
    assert isinstance(refuse("descr|objects", typestr="|V8", shape=(3,), descr=descr), ValueError)


def test_C13_a_descr_that_is_no_list_is_a_type_error(refuse):
    for descr in (tuple(DESCR), "x", 1):
        refuse("descr.*C13", TypeError, typestr="|V8", shape=(3,), descr=descr)


def test_C13_the_descr_of_a_simple_type(take):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert take(descr=[("", "<f4")]).descr is None
        assert take(descr=[("", "=f4")]).descr is None
        assert take(typestr="|V4", shape=(2,), descr=[("", "|V4")]).descr is None
    with pytest.warns(RuntimeWarning, match="C13"):
        assert take(descr=[("", "<i4")]).typestr == "<f4"
    with pytest.warns(RuntimeWarning, match="C13"):
        assert take(descr=[("x", "<f4")]).typestr == "<f4"


def test_C13_a_warning_that_is_an_error_stops_the_import(refuse):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refuse("C13", RuntimeWarning, descr=[("", "<i4")])


# C14, C15


@pytest.mark.parametrize("entries", [{"stream": 1}, {}], ids=["stream", "no stream"])
def test_C14_the_attribute_is_read_once(bi, cuda, entries):
    producer = Producer(cuda, **entries)
    bi.buffer_interface(producer)
    assert producer.reads == 1
    bi.buffer_interface(producer, protocol="cuda_array_interface")
    assert producer.reads == 2


def test_C14_only_attribute_errors_mean_absent(bi):
    class Broken:
        error = AttributeError("not here")

        @property
        def __cuda_array_interface__(self):
            raise self.error

    with pytest.raises(TypeError, match="protocol"):
        bi.buffer_interface(Broken())
    Broken.error = RuntimeError("of the producer")
    for protocol in (None, "cuda_array_interface"):
        with pytest.raises(RuntimeError, match="of the producer"):
            bi.buffer_interface(Broken(), protocol=protocol)


def test_C14_dlpack_describes_what_the_dictionary_cannot(bi, cuda):
    class Half:
        values = np.arange(3, dtype="f4")
        error = KeyError("float8_e4m3fn")

        @property
        def __cuda_array_interface__(self):
            raise self.error

        def __dlpack__(self, **options):
            return self.values.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.values.__dlpack_device__()

    assert bi.buffer_interface(Half()).shape == (3,)

    class Neither(bytearray, Half):
        __dlpack_device__ = property()

    with pytest.raises(KeyError, match="float8"):
        bi.buffer_interface(Neither(b"abc"))
    with pytest.raises(KeyError, match="float8"):
        bi.buffer_interface(Half(), protocol="cuda_array_interface")
    Half.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        bi.buffer_interface(Half())


@pytest.mark.parametrize("name, words", [("is_conj", "conjugated.*resolve_conj"), ("is_neg", "negated.*resolve_neg")])
def test_an_array_that_is_resolved_later_is_refused(bi, cuda, name, words):
    """PyTorch's x.conj() shares the memory of x, and its dictionary says nothing of that."""
    lazy = type("Lazy", (Producer,), {name: lambda self: self.is_lazy})(cuda, shape=(4, 3), typestr="<c8")
    lazy.is_lazy = True
    with pytest.raises(BufferError, match=words):
        bi.buffer_interface(lazy)
    lazy.is_lazy = False
    assert bi.buffer_interface(lazy).shape == (4, 3)


def test_C14_an_error_of_the_dictionary_stays(bi, cuda):
    class Broken(dict):
        def __getitem__(self, key):
            if key == "typestr":
                raise ZeroDivisionError("of the dictionary")
            return super().__getitem__(key)

    producer = Producer(cuda)
    producer.entries = Broken(producer.entries)
    with pytest.raises(ZeroDivisionError):
        bi.buffer_interface(producer, protocol="cuda_array_interface")


def test_C15_a_pointer_that_CUDA_does_not_know_is_refused(refuse, take):
    refuse("CUDA", data=(0x1234560, False))
    take()
    refuse("CUDA", data=(0x1234560, False))


def test_C15_the_device_is_that_of_the_memory(bi, cuda, second):
    def device(driver):
        return bi.buffer_interface(Producer(driver), protocol="cuda_array_interface").device

    assert [device(second), device(cuda), device(second), device(second), device(cuda)] == [1, 0, 1, 1, 0]
    assert cuda.current_device() == 0


class CurrentStream(Producer):
    """CuPy's dictionary names the current stream of the current device, wherever the memory is."""

    def __init__(self, driver, streams, mask=None, **entries):
        super().__init__(driver, **entries)
        self.driver, self.streams, self.mask = driver, streams, mask

    @property
    def __cuda_array_interface__(self):
        stream = self.streams.get(self.driver.current_device() or 0, 1)
        more = {} if self.mask is None else {"mask": self.mask}
        return {**super().__cuda_array_interface__, **more, "stream": stream}


@pytest.mark.parametrize("has_first", [True, False])
def test_C6_the_stream_is_that_of_the_device_of_the_array(bi, cuda, second, has_first):
    mine = second.stream()
    streams = {0: cuda.stream(), 1: mine} if has_first else {1: mine}
    mask = CurrentStream(second, streams, typestr="|b1")
    producer = CurrentStream(second, streams)
    for options in ({}, {"protocol": "cuda_array_interface"}, {"check": False}):
        assert bi.buffer_interface(producer, **options).stream == mine
    second.fill(producer.pointer, 0, NBYTES, mine)
    assert not any(bi.buffer_interface(producer).tobytes())
    producer.mask = mask
    view = bi.buffer_interface(producer, mask="keep")
    assert (view.stream, view.mask.stream) == (mine, mine)
    assert cuda.current_device() == 0


def test_C14_an_error_of_the_second_look_stays(bi, cuda, second):
    class Once(Producer):
        @property
        def __cuda_array_interface__(self):
            if self.reads:
                raise MemoryError("of the second look")
            return super().__cuda_array_interface__

    producer = Once(cuda, stream=1)
    bi.buffer_interface(Producer(second))
    with pytest.raises(MemoryError, match="second look"):
        bi.buffer_interface(producer)


def test_C14_the_attribute_is_read_again_only_for_a_stream_of_another_device(bi, cuda, second):
    for driver, entries, options, reads in [
        (cuda, {"stream": 1}, {}, 1),
        (second, {"stream": None}, {}, 1),
        (second, {"stream": 1}, {"sync": False}, 1),
        (second, {"stream": 1}, {"producer_stream": 1}, 1),
        (second, {"stream": 1}, {}, 2),
    ]:
        producer = Producer(driver, **entries)
        bi.buffer_interface(Producer(driver))  # the device of the last import is tried first
        bi.buffer_interface(producer, protocol="cuda_array_interface", **options)
        assert producer.reads == reads


def test_C15_managed_and_pinned_memory(bi, cuda, take):
    for kind in ("managed", "pinned", "pool"):
        address = cuda.alloc(NBYTES, kind)
        assert pointer(take(data=(address, False))) == address


def test_C15_unchecked_pointers_are_believed(take, refuse):
    refuse("C15", shape=(4, 600))
    assert take({"check": False}, shape=(4, 600)).shape == (4, 600)
