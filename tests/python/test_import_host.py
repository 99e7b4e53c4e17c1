"""Host memory as an array: the buffer protocol, __array_interface__ and __array_struct__."""

import array
import ctypes
import gc
import sys
import warnings
import weakref
from fractions import Fraction

import _testbuffer
import ml_dtypes
import numpy as np
import pytest

from array_struct import ArrayStruct
from offenders import buffer_type
from test_hostile_objects import Exporter, PyBuffer


class Interface:
    """A producer with an __array_interface__ of its own."""

    def __init__(self, **entries):
        self.memory = np.arange(24, dtype="<i4")
        entry = {"version": 3, "shape": (4, 6), "typestr": "<i4", "data": (self.memory.ctypes.data, False)}
        entry.update(entries)
        self.__array_interface__ = {key: value for key, value in entry.items() if value is not Interface}


NOT_SWAPPED, WRITEABLE, HAS_DESCR = 0x200, 0x400, 0x800

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class StructProducer:
    """A producer with an __array_struct__ of its own: 4 x 6 int32."""

    def __init__(self, name=None, **members):
        self.memory = np.arange(24, dtype="<i4")
        self.extents = (ctypes.c_ssize_t * 2)(4, 6)
        self.steps = (ctypes.c_ssize_t * 2)(24, 4)
        self.name = name
        self.struct = ArrayStruct(2, 2, b"i", 4, NOT_SWAPPED | WRITEABLE, self.extents, self.steps,
                             self.memory.ctypes.data)
        for member, value in members.items():
            setattr(self.struct, member, value)

    @property
    def __array_struct__(self):
        return new_capsule(ctypes.addressof(self.struct), self.name, None)


def values(view):
    return np.asarray(view).tolist()


def refused(bi, producer, protocol, match, error=None):
    with pytest.raises(error or bi.InvalidArrayError, match=match):
        bi.buffer_interface(producer, protocol=protocol)


# The buffer protocol


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u2", "<i4", ">i4", "i8", "L", "q", "Q", "f2", "f4", "f8", "c8", "c16", "S3", "U2"]
)
@pytest.mark.parametrize("protocol", [None, "buffer", "array_struct", "array_interface"])
def test_host_numpy_arrays_of_all_types(bi, dtype, protocol):
    source = np.zeros((2, 3), dtype)
    source.view("u1")[:] = np.arange(source.nbytes, dtype="u1").reshape(2, -1) % 2
    view = bi.buffer_interface(source, protocol=protocol)
    assert view.backend == "host"
    assert view.shape == (2, 3) and view.strides == source.strides
    assert view.typestr == source.dtype.str
    assert view.host_pointer == source.ctypes.data
    assert not view.readonly
    assert values(view) == source.tolist()


@pytest.mark.parametrize("name", ["dtype", "__array_struct__"])
def test_an_attribute_that_describes_a_type_without_a_letter_may_raise(bi, name):
    """NumPy refuses the buffer of bfloat16, so the attributes are read."""

    def fail(self):
        raise ZeroDivisionError(name)

    array = np.zeros(2, ml_dtypes.bfloat16).view(type("Array", (np.ndarray,), {}))
    assert bi.buffer_interface(array).typestr == "bfloat16"
    setattr(type(array), name, property(fail))
    with pytest.raises(ZeroDivisionError, match=name):
        bi.buffer_interface(array)


LAYOUTS = {
    "dense": lambda a: a,
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-1],
    "sliced": lambda a: a[1:, ::2],
    "broadcast": lambda a: np.broadcast_to(a[0], (3, 6)),
    "scalar": lambda a: a[1, 2, ...],
    "empty": lambda a: a[:0],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("protocol", [None, "buffer", "array_struct", "array_interface"])
def test_host_layouts_of_numpy(bi, layout, protocol):
    source = LAYOUTS[layout](np.arange(24, dtype="<i4").reshape(4, 6))
    view = bi.buffer_interface(source, protocol=protocol)
    assert (view.shape, view.strides) == (source.shape, source.strides)
    assert view.readonly == (not source.flags.writeable)
    assert values(view) == source.tolist()


def test_host_writes_are_seen_by_the_producer(bi):
    source = np.zeros(3, "<i4")
    np.asarray(bi.buffer_interface(source))[1] = 7
    assert source.tolist() == [0, 7, 0]


def test_C9_read_only_stays_read_only(bi):
    source = np.zeros(3)
    source.flags.writeable = False
    for protocol in (None, "buffer", "array_struct", "array_interface"):
        view = bi.buffer_interface(source, protocol=protocol)
        assert view.readonly and memoryview(view).readonly
    assert bi.buffer_interface(b"abc").readonly
    assert not bi.buffer_interface(bytearray(b"abc")).readonly


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"])
def test_host_arrays_of_ml_dtypes(bi, name):
    source = np.arange(6).astype(getattr(ml_dtypes, name)).reshape(2, 3)[:, ::-1]
    view = bi.buffer_interface(source)
    assert view.typestr == name
    assert view.strides == source.strides
    assert view.dtype == source.dtype


def test_dtype_that_was_set_after_the_export_is_refused(bi):
    source = np.zeros(4, [("x", "i4")])
    exported = memoryview(source)
    source.dtype = [("x", "i4"), ("y", "i4"), ("z", "i4"), ("w", "i4")]
    with pytest.raises(bi.InvalidArrayError, match="16 bytes.*4 bytes"):
        bi.buffer_interface(exported)


def test_array_struct_of_another_item_size_than_the_dtype_is_refused(bi):
    class Array(np.ndarray):
        dtype = np.dtype(ml_dtypes.bfloat16)

    source = np.zeros(4, ml_dtypes.float8_e5m2).view(Array)
    with pytest.raises(bi.InvalidArrayError, match="2 bytes.*1 bytes"):
        bi.buffer_interface(source)


def test_scalar_whose_array_is_no_array_is_refused(bi):
    class Scalar(np.float64):
        def __array__(self, *args, **words):
            return self

    with pytest.raises(TypeError, match="__array__.*Scalar"):
        bi.buffer_interface(Scalar(1))


@pytest.mark.parametrize("dtype, word", [("M8[s]", "dates"), ("m8[s]", "time differences"), ("O", "'O'"), ("g", "'g'.*long double")])
def test_host_types_that_are_no_arrays_of_numbers_are_refused_by_name(bi, dtype, word):
    refused(bi, np.zeros(3, dtype), None, word)


@pytest.mark.parametrize(
    "producer, typestr, shape",
    [(b"abcd", "|u1", (4,)), (bytearray(4), "|u1", (4,)), (array.array("h", [1, 2, 3]), "<i2", (3,)),
     (memoryview(b"abcd"), "|u1", (4,)), (memoryview(bytearray(8)).cast("i"), "<i4", (2,)),
     (memoryview(bytearray(24)).cast("i", (2, 3)), "<i4", (2, 3)), ((ctypes.c_double * 3)(), "<f8", (3,)),
     (((ctypes.c_int16 * 3) * 2)(), "<i2", (2, 3)), (ctypes.c_int32(5), "<i4", ())],
    ids=str,
)
def test_host_objects_with_a_buffer(bi, producer, typestr, shape):
    view = bi.buffer_interface(producer)
    assert (view.typestr, view.shape) == (typestr, shape)
    assert np.asarray(view).tobytes() == memoryview(producer).tobytes()


def test_host_a_bytearray_does_not_grow_while_it_is_an_array(bi):
    producer = bytearray(8)
    view = bi.buffer_interface(producer)
    with pytest.raises(BufferError):
        producer.append(1)
    view.release()
    producer.append(1)


def test_host_suboffsets_are_refused(bi):
    producer = _testbuffer.ndarray(list(range(4)), shape=[2, 2], format="B", flags=_testbuffer.ND_PIL)
    refused(bi, producer, "buffer", r"suboffsets\[0\] is 0")


def test_host_indirect_arrays_of_one_dimension_are_refused_too(bi):
    producer = _testbuffer.ndarray(list(range(4)), shape=[4], format="B", flags=_testbuffer.ND_PIL)
    refused(bi, producer, "buffer", "suboffsets")


@pytest.mark.parametrize("nbytes", [95, 4, 0, -1])
def test_host_a_buffer_with_less_bytes_than_elements_is_refused(bi, nbytes):
    memory = np.arange(24, dtype="<i4")
    shape, strides = (ctypes.c_ssize_t * 2)(4, 6), (ctypes.c_ssize_t * 2)(24, 4)
    fields = PyBuffer(memory.ctypes.data, None, 96, 4, 0, 2, b"i", shape, strides, None, None)
    producer = Exporter(None, fields, (memory, shape, strides))
    assert np.asarray(bi.buffer_interface(producer)).tolist() == memory.reshape(4, 6).tolist()
    fields.len = nbytes
    with pytest.raises(bi.InvalidArrayError, match=f"the buffer has {nbytes} bytes"):
        bi.buffer_interface(producer)
    assert sum(producer.given) == 0


def test_host_a_format_that_does_not_fit_the_item_size_is_refused(bi):
    producer = _testbuffer.ndarray([(1, 2)], shape=[1], format="BP")
    refused(bi, producer, "buffer", "'BP'")


def test_host_a_format_with_more_behind_its_letter_is_a_structure(bi):
    producer = _testbuffer.ndarray([1], shape=[1], format="B0x")
    assert bi.buffer_interface(producer, protocol="buffer").descr == [("f0", "|u1")]


def test_host_a_buffer_error_of_the_producer_stays(bi):
    view = memoryview(bytearray(4))
    view.release()
    with pytest.raises(ValueError, match="released"):
        bi.buffer_interface(view, protocol="buffer")


@pytest.mark.parametrize("protocol", ["buffer", "array_struct", "array_interface"])
def test_host_objects_without_the_protocol_are_type_errors(bi, protocol):
    refused(bi, object(), protocol, "protocol", TypeError)


@pytest.mark.parametrize("value, is_right", [([1], True), ((1, 2), True), (1.5, True), (1j, True), (Fraction(1, 2), False)])
def test_host_the_remedy_is_one_that_works(bi, value, is_right):
    """np.asarray(Fraction(1, 2)) is an array of objects. Sparse matrices and tracers have operators of numbers, too."""
    with pytest.raises(TypeError) as info:
        bi.buffer_interface(value)
    assert str(info.value).endswith("np.asarray(x) makes an array of it") == is_right


def test_H5_masked_arrays_of_numpy_are_refused(bi):
    with pytest.raises(bi.UnsupportedError, match=r"import x\.data and x\.mask one by one \[H5\]"):
        bi.buffer_interface(np.ma.array([1, 2], mask=[1, 0]), mask="keep")
    for mask in ([1, 0, 0], [0, 0, 0]):
        refused(bi, np.ma.array([1, 2, 3], mask=mask), "buffer", "H5", bi.UnsupportedError)
    assert bi.buffer_interface(np.ma.array([1, 2, 3]), protocol="buffer").shape == (3,)


def test_host_subclasses_of_ndarray_are_arrays(bi):
    source = np.arange(6).view(type("Mine", (np.ndarray,), {}))
    assert values(bi.buffer_interface(source, protocol="buffer")) == list(range(6))


@pytest.mark.parametrize("protocol", ["buffer", "array_struct", "array_interface"])
def test_C8_the_producer_lives_as_long_as_the_view(bi, protocol):
    source = np.arange(24, dtype="<i4")
    alive = weakref.ref(source)
    view = bi.buffer_interface(source, protocol=protocol)
    part = view[3:5]
    del source
    gc.collect()
    assert alive() is not None
    view.release()
    assert values(part) == [3, 4]
    del view
    assert alive() is not None
    part.release()
    del part
    gc.collect()
    assert alive() is None


def test_C8_an_exporter_that_names_no_owner_lives_as_long_as_the_view(bi):
    def name_nobody(buffer, flags, array):
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(array))
        buffer.obj = None

    source = buffer_type(name_nobody)()
    alive = weakref.ref(source)
    view = bi.buffer_interface(source)
    del source
    gc.collect()
    assert alive() is not None and values(view) == [0, 1, 2, 3, 4, 5]
    view.release()
    assert alive() is None


@pytest.mark.parametrize("protocol", [None, "buffer", "array_struct", "array_interface"])
def test_host_no_reference_is_left(bi, protocol):
    source = np.arange(24, dtype="<i4")
    before = sys.getrefcount(source)
    for _ in range(10):
        bi.buffer_interface(source, protocol=protocol).release()
    assert sys.getrefcount(source) == before


@pytest.mark.parametrize("protocol", ["buffer", "array_struct", "array_interface"])
def test_host_no_reference_is_left_by_a_refusal(bi, protocol):
    source = np.zeros(3, "g" if protocol == "buffer" else "M8[s]")
    before = sys.getrefcount(source)
    for _ in range(10):
        with pytest.raises(bi.InvalidArrayError):
            bi.buffer_interface(source, protocol=protocol)
    assert sys.getrefcount(source) == before


# __array_interface__


def test_H5_interface_with_a_pointer(bi):
    producer = Interface(version=99)
    view = bi.buffer_interface(producer, protocol="array_interface")
    assert view.host_pointer == producer.memory.ctypes.data
    assert values(view) == np.arange(24).reshape(4, 6).tolist()


def test_H5_interface_is_found_without_a_word(bi):
    assert bi.buffer_interface(Interface()).shape == (4, 6)


def test_H5_interface_pointer_is_that_of_the_first_element(bi):
    producer = Interface(shape=(3,), strides=(-8,))
    producer.__array_interface__["data"] = (producer.memory.ctypes.data + 20 * 4, True)
    view = bi.buffer_interface(producer, protocol="array_interface")
    assert values(view) == [20, 18, 16]
    assert view.readonly


@pytest.mark.parametrize("data", [None, Interface], ids=["None", "absent"])
def test_H5_interface_without_data_is_the_buffer_of_the_object(bi, data):
    class Bytes(bytearray):
        pass

    producer = Bytes(np.arange(6, dtype="<i2").tobytes())
    entry = {"shape": (2, 2), "typestr": "<i2", "offset": 4, "version": 3}
    if data is None:
        entry["data"] = None
    producer.__array_interface__ = entry
    view = bi.buffer_interface(producer, protocol="array_interface")
    assert values(view) == [[2, 3], [4, 5]]
    with pytest.raises(BufferError):
        producer.append(1)


def test_H5_interface_with_a_buffer_and_an_offset(bi):
    data = bytearray(np.arange(8, dtype="<i2").tobytes())
    view = bi.buffer_interface(Interface(data=data, shape=(3,), typestr="<i2", offset=6), protocol="array_interface")
    assert values(view) == [3, 4, 5]
    assert not view.readonly
    assert bi.buffer_interface(Interface(data=bytes(data), shape=(3,), typestr="<i2")).readonly


def test_H5_interface_and_its_buffer_live_as_long_as_the_view(bi):
    data = bytearray(96)
    producer = Interface(data=data)
    alive = weakref.ref(producer)
    view = bi.buffer_interface(producer, protocol="array_interface")
    del producer
    gc.collect()
    assert alive() is not None
    with pytest.raises(BufferError):
        data.append(1)
    view.release()
    gc.collect()
    assert alive() is None
    data.append(1)


@pytest.mark.parametrize(
    "entries",
    [{"offset": 2}, {"offset": -1}, {"shape": (5,)}, {"strides": (-2,)}, {"strides": (4,)}, {"offset": 2**62}],
    ids=str,
)
def test_H5_interface_that_leaves_its_buffer_is_refused(bi, entries):
    entry = {"data": bytes(8), "shape": (4,), "typestr": "<i2", **entries}
    refused(bi, Interface(**entry), "array_interface", "8 bytes.*H5")


def test_H5_interface_with_a_mask_is_refused(bi):
    refused(bi, Interface(mask=np.zeros((4, 6), "?")), "array_interface", "H5", bi.UnsupportedError)
    bi.buffer_interface(Interface(mask=None), protocol="array_interface")


@pytest.mark.parametrize("key", ["shape", "strides"])
def test_H5_interface_with_lists_for_tuples_is_refused(bi, key):
    refused(bi, Interface(**{key: [4, 6]}), "array_interface", f"{key} is of type list.*H5", TypeError)


@pytest.mark.parametrize("key", ["shape", "typestr"])
def test_H5_interface_without_a_required_key_is_a_key_error(bi, key):
    refused(bi, Interface(**{key: Interface}), "array_interface", key, KeyError)


def test_H5_interface_that_is_no_dictionary_is_a_type_error(bi):
    producer = Interface()
    producer.__array_interface__ = [1]
    refused(bi, producer, "array_interface", "list", TypeError)


@pytest.mark.parametrize(
    "entries, match",
    [({"shape": (4, -1)}, "shape"), ({"shape": (2**63,)}, "9223372036854775808"), ({"shape": (2**40, 2**40)}, "shape"),
     ({"strides": (4,)}, "strides has 1"), ({"typestr": "<f3"}, "<f3"), ({"typestr": "|O8"}, "objects"),
     ({"typestr": "<M8[s]"}, "dates"), ({"typestr": "<i4\0"}, "NUL"),
     ({"typestr": "\ud800"}, "surrogate"), ({"data": (0, False)}, "data is 0"),
     ({"data": (-1, False)}, "-1"), ({"data": (2**64, False)}, "18446744073709551616"), ({"data": (1,)}, "data has 1"),
     ({"data": (2**64 - 8, False)}, "outside"), ({"data": (16, False), "strides": (-24, 4)}, "outside"),
     ({"shape": (1,) * 65}, "65")],
    ids=str,
)
def test_host_interface_with_numbers_that_cannot_be_is_refused(bi, entries, match):
    refused(bi, Interface(**entries), "array_interface", match)


@pytest.mark.parametrize(
    "entries", [{"shape": (4.0, 6)}, {"typestr": 4}, {"data": (1.5, False)}, {"shape": (None,)}, {"offset": "1",
    "data": b""}],
    ids=str,
)
def test_host_interface_with_other_objects_is_a_type_error(bi, entries):
    refused(bi, Interface(**entries), "array_interface", "shape|typestr|data|offset", TypeError)


@pytest.mark.parametrize("pointer", [0, None, 1, 2**64 - 1])
def test_H4_interface_without_elements_has_any_address(bi, pointer):
    view = bi.buffer_interface(Interface(shape=(0, 6), data=(pointer, False)), protocol="array_interface")
    assert view.shape == (0, 6)
    assert values(view) == []


def test_host_interface_with_descr(bi):
    dtype = np.dtype([("x", "<i4"), ("y", "<i2", (2,))])
    view = bi.buffer_interface(Interface(shape=(3,), typestr="|V8", descr=dtype.descr), protocol="array_interface")
    assert view.dtype == dtype
    refused(bi, Interface(shape=(3,), typestr="|V9", descr=dtype.descr), "array_interface", "descr")
    refused(bi, Interface(shape=(3,), typestr="|V8", descr=(1,)), "array_interface", "tuple", TypeError)


def test_host_interface_with_a_descr_of_a_simple_type(bi):
    assert bi.buffer_interface(Interface(descr=[("", "<i4")]), protocol="array_interface").descr is None
    with pytest.warns(RuntimeWarning, match="descr"):
        view = bi.buffer_interface(Interface(descr=[("", "<f4")]), protocol="array_interface")
    assert view.typestr == "<i4"


def test_H5_data_that_is_neither_a_tuple_nor_a_buffer_is_named(bi):
    refused(bi, Interface(data=1234), "array_interface", r"data is of type int.*H5", TypeError)


# __array_struct__


def test_H6_struct(bi):
    producer = StructProducer()
    view = bi.buffer_interface(producer, protocol="array_struct")
    assert view.host_pointer == producer.memory.ctypes.data
    assert values(view) == np.arange(24).reshape(4, 6).tolist()
    assert not view.readonly


def test_H6_struct_is_found_without_a_word(bi):
    assert bi.buffer_interface(StructProducer()).shape == (4, 6)


def test_H6_struct_flags(bi):
    assert bi.buffer_interface(StructProducer(flags=NOT_SWAPPED), protocol="array_struct").readonly
    assert bi.buffer_interface(StructProducer(flags=WRITEABLE), protocol="array_struct").typestr == ">i4"
    assert bi.buffer_interface(StructProducer(flags=WRITEABLE, itemsize=1), protocol="array_struct").typestr == "|i1"


def test_H6_struct_with_descr(bi):
    dtype = np.dtype([("a", "<i2"), ("b", "<i2")])
    producer = StructProducer(flags=NOT_SWAPPED | HAS_DESCR, typekind=b"V", descr=dtype.descr)
    assert bi.buffer_interface(producer, protocol="array_struct").dtype == dtype


@pytest.mark.parametrize(
    "members, match",
    [({"two": 3}, "two = 3.*H6"), ({"nd": -1}, "nd = -1.*H6"), ({"nd": 65}, "nd = 65.*H6"),
     ({"typekind": b"O"}, "objects"), ({"typekind": b"M", "itemsize": 8}, "dates"), ({"itemsize": 3}, "<i3"),
     ({"shape": None}, "no shape.*H6"), ({"data": None}, "data is 0"),
     ({"typekind": b"U", "itemsize": 5}, "itemsize is 5.*H6")],
    ids=str,
)
def test_H6_struct_that_cannot_be_is_refused(bi, members, match):
    refused(bi, StructProducer(**members), "array_struct", match)


def test_H6_struct_in_a_capsule_with_a_name_is_refused(bi):
    refused(bi, StructProducer(name=b"dltensor"), "array_struct", "name.*H6")


def test_H6_struct_that_is_no_capsule_is_a_type_error(bi):
    refused(bi, type("P", (), {"__array_struct__": 5})(), "array_struct", "int.*H6", TypeError)


def test_H6_capsule_and_object_live_as_long_as_the_view(bi):
    gone = []
    destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda capsule: gone.append("capsule"))

    class Producer(StructProducer):
        @property
        def __array_struct__(self):
            return new_capsule(ctypes.addressof(self.struct), None, ctypes.cast(destructor, ctypes.c_void_p))

    producer = Producer()
    alive = weakref.ref(producer)
    view = bi.buffer_interface(producer, protocol="array_struct")
    del producer
    gc.collect()
    assert alive() is not None and not gone
    view.release()
    gc.collect()
    assert alive() is None and gone == ["capsule"]


# Looking attributes up


@pytest.mark.parametrize(
    "name, protocol", [("__array_interface__", "array_interface"), ("__array_struct__", "array_struct")]
)
def test_C14_one_look_up_and_only_attribute_errors_mean_absent(bi, name, protocol):
    asked = []

    class Producer:
        def __getattr__(self, key):
            if key != name:
                raise AttributeError(key)
            asked.append(key)
            raise error

    error = AttributeError(name)
    refused(bi, Producer(), protocol, "protocol", TypeError)
    assert asked == [name]
    error = ZeroDivisionError("of the producer")
    refused(bi, Producer(), protocol, "of the producer", ZeroDivisionError)


# Structured types of NumPy, whose formats lack the padding at the end


ALIGNED = np.dtype([("a", "i4"), ("b", "u1")], align=True)
SOURCE = np.zeros(3, [("a", "<i2"), ("b", "<f8"), ("c", "u1")])


@pytest.mark.parametrize(
    "array",
    [
        SOURCE[["a"]],
        SOURCE[["b"]],
        SOURCE[["a", "c"]],
        np.zeros((2, 2), ALIGNED),
        np.zeros(2, [("n", ALIGNED), ("z", "u1")]),
        np.zeros(2, [("n", ALIGNED, (3,)), ("z", "u1")]),
        np.zeros(2, [("n", ALIGNED, (2, 3))]),
    ],
    ids=lambda array: str(array.dtype),
)
def test_gaps_of_structured_arrays_stay_where_they_are(bi, array):
    for source in (array, memoryview(array), array.view(np.recarray)):
        view = bi.buffer_interface(source)
        assert view.itemsize == array.itemsize and view.strides == array.strides
        assert view.dtype == array.dtype and view.descr == array.dtype.descr
        assert int(view.buffer) == array.ctypes.data
        view.release()


def test_values_behind_the_gaps(bi):
    array = np.zeros(2, [("n", ALIGNED, (3,)), ("z", "u1")])
    array["n"]["a"], array["n"]["b"], array["z"] = [[1, 2, 3], [4, 5, 6]], 9, [7, 8]
    assert bi.buffer_interface(array).numpy()["n"]["a"].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert bi.buffer_interface(array).numpy()["n"]["b"].tolist() == [[9] * 3] * 2
    assert bi.buffer_interface(SOURCE[["b"]]).shape == (3,)


# Scalars of NumPy


@pytest.mark.parametrize("scalar", [np.float64(3.5), np.complex64(1j), np.bool_(True), np.str_("ab"), np.bytes_(b"ab"), np.void(b"ab")])
def test_a_copied_scalar_is_read_only(bi, scalar):
    for protocol in (None, "buffer"):
        view = bi.buffer_interface(scalar, protocol=protocol)
        assert view.readonly and view.tolist() == scalar.tolist() and not view.numpy().flags.writeable
    with pytest.raises(bi.InvalidArrayError, match="read-only"):
        bi.buffer_interface(scalar, writable=True)
    with pytest.raises(ValueError, match="read-only"):
        bi.copyto(scalar, scalar)


def test_a_structured_scalar_is_its_own_memory(bi):
    records = np.zeros(2, "i4,f4")
    bi.buffer_interface(records[1], writable=True)["f0"].fill(7)
    assert records.tolist() == [(0, 0.0), (7, 0.0)]
    alone = np.void((1, 2.0), "i4,f4")
    bi.buffer_interface(alone, writable=True)["f1"].fill(9)
    assert alone.tolist() == (1, 9.0)
    records.flags.writeable = False
    assert bi.buffer_interface(records[1]).readonly


def test_the_array_that_a_scalar_gives_is_not_changed(bi):
    given = np.array(3.5)
    scalar = type("Scalar", (np.float64,), {"__array__": lambda self: given})(3.5)
    assert bi.buffer_interface(scalar).readonly and given.flags.writeable


def test_a_refused_scalar_lets_its_array_go(bi):
    class Given(np.ndarray):
        base = property(lambda self: 1 / 0)

    given = np.zeros(()).view(Given)
    alive = weakref.ref(given)
    scalar = type("Scalar", (np.float64,), {"__array__": lambda self: alive()})(3.5)
    with pytest.raises(ZeroDivisionError):
        bi.buffer_interface(scalar)
    del given
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("protocol", ["buffer", "array_struct", "array_interface"])
def test_the_elements_of_a_scalar_live_as_long_as_the_view(bi, protocol):
    view = bi.buffer_interface(np.float64(3.25), protocol=protocol)
    others = [np.full((), 7.5) for _ in range(100)]
    assert view.tolist() == 3.25 and len(others) == 100


@pytest.mark.parametrize("protocol", [None, "array_struct"])
def test_a_structured_array_is_as_writable_as_it_is(bi, protocol):
    """NumPy refuses the buffer, and clears the flags in the struct of a structured type."""
    source = np.zeros(2, [("a:b", "<i4"), ("c", "<i4")])
    view = bi.buffer_interface(source, protocol=protocol)
    assert not view.readonly and view.host_pointer == source.ctypes.data
    warned = np.broadcast_arrays(source, np.zeros((2, 2)))[0]
    source.flags.writeable = False
    for readonly in (source, warned):
        assert bi.buffer_interface(readonly, protocol=protocol).readonly


# Structures of ctypes


def of_ctypes(base, kinds, **members):
    return type("Made", (base,), {**members, "_fields_": [(name, kind) for name, kind in zip("abc", kinds)]})


def test_structures_of_ctypes_with_gaps_and_unions(bi):
    """Before Python 3.12, the formats of ctypes lack the gaps. The message names what reads such a structure then."""
    padded = of_ctypes(ctypes.Structure, [ctypes.c_char, ctypes.c_int])
    packed = of_ctypes(ctypes.Structure, [ctypes.c_char, ctypes.c_int], _pack_=1, _layout_="ms")
    union = of_ctypes(ctypes.Union, [ctypes.c_int, ctypes.c_double])
    with_union = of_ctypes(ctypes.Structure, [union, ctypes.c_int])
    described = (padded, packed) if sys.version_info >= (3, 12) else ()
    for kind in (padded, packed, union, with_union):
        for made in (kind(), (kind * 3)()):
            if kind not in described:
                refused(bi, made, None, r"itemsize.*numpy\.asarray\(x\).*numpy\.frombuffer\(x, 'u1'\)")
            view = bi.buffer_interface(np.frombuffer(made, "u1"), writable=True)
            assert view.nbytes == ctypes.sizeof(made) and view.host_pointer == ctypes.addressof(made)
    for kind in (padded, packed):
        made = (kind * 3)()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, about the format of ctypes
            views = [bi.buffer_interface(np.asarray(made), writable=True)]
        if kind in described:
            views.append(bi.buffer_interface(made, writable=True))
        for number, view in enumerate(views, 7):
            view["b"].fill(number)
            assert [item.b for item in made] == [number] * 3 and view.itemsize == ctypes.sizeof(kind)


def test_structures_of_ctypes_with_bit_fields_are_refused(bi):
    """The sizes of the integers of the format add up to the item size by chance."""

    class Bits(ctypes.Structure):
        _fields_ = [("a", ctypes.c_int, 3), ("b", ctypes.c_int, 5), ("c", ctypes.c_longlong)]

    outer = of_ctypes(ctypes.Structure, [Bits * 2])
    derived = of_ctypes(Bits, [])
    for kind in (Bits, outer, derived):
        for made in (kind(), (kind * 3)(), memoryview(kind())):
            with pytest.raises(bi.UnsupportedTypeError, match="'a'.*bit field"):
                bi.buffer_interface(made)
    assert bi.buffer_interface(of_ctypes(ctypes.Structure, [ctypes.c_int, ctypes.c_float])()).descr == [("a", "<i4"), ("b", "<f4")]
