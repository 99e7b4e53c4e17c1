"""Element types: what is read as one, what numpy.dtype becomes of it, and the formats of the buffer protocol."""

import array
import ctypes
import json
import pickle
import subprocess
import sys

import _testbuffer
import ml_dtypes
import numpy as np
import pytest

import dlpack_structs as dl
from exchange_struct import Exchange, Table

EXTRA = (
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
)
SIMPLE = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "S3", "U2", "V5")


class Draft:
    """Host memory, described by the attributes of the draft."""

    backend = "host"
    offset = 0

    def __init__(self, memory, dtype, shape=(1,)):
        self.memory = memory
        self.buffer = memory.ctypes.data
        self.dtype = dtype
        self.shape = shape
        self.strides = None


def read(bi, dtype):
    """The type that the package makes of what a producer says."""
    return bi.buffer_interface(Draft(np.zeros(64, "u1"), dtype), protocol="draft")


def exported(items, format, **options):
    return _testbuffer.ndarray(items, format=format, **options)


# What is read as a type


@pytest.mark.parametrize("text", SIMPLE)
def test_dtype_of_numpy_is_read_and_given_back(bi, text):
    dtype = np.dtype(text)
    array = read(bi, dtype)
    assert array.dtype == dtype
    assert array.typestr == dtype.str


@pytest.mark.parametrize("text", [t for t in SIMPLE if t not in ("?", "i1", "u1", "S3", "V5")])
def test_dtype_with_swapped_bytes_stays_swapped(bi, text):
    dtype = np.dtype(text).newbyteorder()
    assert read(bi, dtype).typestr == dtype.str
    assert read(bi, dtype).dtype == dtype


@pytest.mark.parametrize("name", EXTRA)
def test_dtype_of_ml_dtypes_by_class_dtype_and_name(bi, name):
    scalar = getattr(ml_dtypes, name)
    for given in (scalar, np.dtype(scalar), name):
        array = read(bi, given)
        assert array.typestr == name
        assert array.dtype == np.dtype(scalar)
        assert array.itemsize == 1 if name != "bfloat16" else 2


@pytest.mark.parametrize(
    "given, typestr",
    [(float, "<f8"), (int, "<i8"), (bool, "|b1"), (complex, "<c16"), (np.float32, "<f4"), (np.bool_, "|b1"),
     ("float32", "<f4"), ("<i2", "<i2"), ("u2", "<u2"), ("=f8", "<f8"), (np.longlong, "<i8")],
)
def test_dtype_by_class_or_text(bi, given, typestr):
    assert read(bi, given).typestr == typestr


@pytest.mark.parametrize("lanes", [2, 3, 16])
def test_dtype_of_several_lanes_is_a_subarray_of_numpy(bi, lanes):
    array = read(bi, f"float32x{lanes}")
    assert array.dtype == np.dtype(("<f4", (lanes,)))
    assert array.itemsize == 4 * lanes
    assert read(bi, array.dtype).typestr == f"float32x{lanes}"


def test_dtype_of_extra_types_with_lanes(bi):
    assert read(bi, "bfloat16x4").dtype == np.dtype((ml_dtypes.bfloat16, (4,)))


@pytest.mark.parametrize(
    "dtype",
    [
        np.dtype([("x", "<f4"), ("n", "<i2", (3,))]),
        np.dtype([("a", "u1"), ("b", "<f8")], align=True),
        np.dtype([("outer", [("inner", ">i4"), ("text", "<U2")]), ("tail", "S1", (2, 2))]),
        np.dtype({"names": ["b"], "formats": ["<i4"], "offsets": [8], "itemsize": 20}),
        np.dtype([("it's", "<f4"), ('"quoted"', "i1"), ("ünï", "?")]),
        np.dtype([("a\xa0b", "<f4"), ("\u200b", "i1"), ("\x1b'\x7f", "?"), ("\U000e0001", "<i2")]),
        np.dtype([(("title", "name"), "<f4")]),
    ],
    ids=str,
)
def test_dtype_structured_is_read_and_given_back(bi, dtype):
    array = read(bi, dtype)
    assert array.dtype == dtype
    assert array.itemsize == dtype.itemsize
    assert array.descr == dtype.descr


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float4_e2m1fn", "int4"])
@pytest.mark.parametrize("wrap", [lambda field: field, lambda field: (field, (2,)), lambda field: [("inner", field)]])
def test_a_field_of_a_type_that_numpy_misnames_is_refused_by_name(bi, name, wrap):
    """NumPy's descr gives a bfloat16 the typestr '<V2', and a float8_e5m2 '<f1'."""
    dtype = np.dtype([("x", "<f4"), ("weight", wrap(getattr(ml_dtypes, name)))])
    array = np.ones(2, [("x", "<f4"), ("weight", getattr(ml_dtypes, name))])
    for refused in (lambda: bi.buffer_interface(np.zeros(2, dtype)), lambda: bi.empty(2, dtype, device="host"),
                    lambda: read(bi, dtype)):  # fmt: skip
        with pytest.raises(bi.UnsupportedTypeError, match=f"field '(weight|inner)' .* {name}"):
            refused()
    if name != "int4":
        assert bi.buffer_interface(array["weight"]).tolist() == [1, 1]


@pytest.mark.parametrize("typestr, words", [("M8[s]", "dates .* int64"), ("m8[s]", "time .* int64"), ("O", "objects"),
                                            ("g", "no type")])  # fmt: skip
def test_a_field_of_an_unsupported_type_is_no_wrong_description(bi, typestr, words):
    dtype = np.dtype([("x", "<f4"), ("y", typestr)])
    for refused in (lambda: bi.buffer_interface(np.zeros(2, dtype)), lambda: bi.empty(2, dtype, device="host"),
                    lambda: bi.empty(2, dtype.descr, device="host")):  # fmt: skip
        with pytest.raises(bi.UnsupportedTypeError, match=words):
            refused()


def test_strings_and_integers_of_subclasses_name_fields(bi):
    class Extent(int):
        __repr__ = object.__repr__

    names = np.array(["a", "b"])
    dtype = np.dtype([(name, "f4") for name in names])
    assert read(bi, dtype).dtype == dtype
    assert bi.empty(2, [(names[0], np.str_("<i2"), (Extent(3),))], device="host").descr == [("a", "<i2", (3,))]


def test_a_descr_that_contains_itself_is_refused(bi):
    descr = [("a", "<i2")]
    descr.append(("b", descr))
    with pytest.raises((RecursionError, bi.InvalidArrayError)):
        bi.empty(2, descr, device="host")


@pytest.mark.parametrize("depth", [16, 110, 5000])
@pytest.mark.parametrize("kind", [str, np.str_])
def test_a_descr_that_is_nested_too_deep_is_refused(bi, depth, kind):
    descr = [("a", kind("<i2"))]
    for _ in range(depth):
        descr = [("a", descr)]
    with pytest.raises(bi.InvalidArrayError, match="nested more than"):
        bi.empty(2, descr, device="host")


@pytest.mark.parametrize("name", ["a\xa0b", "\u200b", "\x1b", "\x7f", "\x85", "\ue000", "\U000e0001", "it's\xa0", "\\xa0"])
def test_names_that_repr_escapes(bi, name):
    """Excel and web pages put a non-breaking space between the words of a column's name."""
    array = np.array([(1, 2), (3, 4)], [("x", "<i4"), (name, "<i2")])
    for protocol in ("array_interface", "buffer"):
        view = bi.buffer_interface(array, protocol=protocol)
        assert (view.dtype, view.descr) == (array.dtype, array.dtype.descr)
        assert view[name].tolist() == [2, 4]
        assert np.asarray(view).dtype == array.dtype
        assert pickle.loads(pickle.dumps(view)).dtype == array.dtype
    exchange = Exchange.empty()
    table = Table.from_address(dl.capsule_pointer(vars(bi.BufferInterface)["__buffer_interface_c__"]))
    assert table.acquire(view, 0, ctypes.byref(exchange)) == 0
    assert json.loads(exchange.descr) == [["x", "<i4"], [name, "<i2"]]
    exchange.let_go()


def test_dtype_by_descr_list(bi):
    assert read(bi, [("x", "<f4"), ("", "|V4")]).itemsize == 8


@pytest.mark.parametrize(
    "given",
    [np.dtype("M8[s]"), np.dtype("O"), np.dtype("g"), "float33", "<f3", "", "f4\0x", 4, None, object, list,
     np.dtype(("<f4", (2, 2))), np.dtype((">f4", (2,))), ml_dtypes.int4, [("x", "|O")], np.dtype({"names": ["a",
     "b"], "formats": ["<i4", "<i4"],
                                                                        "offsets": [0, 2]})],
    ids=repr,
)
def test_dtype_that_is_none_is_refused_as_type(bi, given):
    with pytest.raises((TypeError, bi.InvalidArrayError)):
        read(bi, given)


def test_a_class_that_is_no_type_is_named(bi):
    """numpy.dtype() makes the type "object" of such a class, for example of polars.Float32."""

    class Float32:
        pass

    for given, words in [(Float32, "Float32'> is not an element type"), (list, "'list'> is not"),
                         (np.datetime64, "dates"), (np.object_, "Python objects"), (ml_dtypes.int4, "int4")]:  # fmt: skip
        with pytest.raises(bi.UnsupportedTypeError, match=words):
            bi.empty(2, given, device="host")


def test_dtype_needs_no_numpy_until_it_is_asked_for(bi):
    code = (
        "import sys, array, buffer_interface as bi\n"
        "a = bi.buffer_interface(array.array('f', [1, 2]))\n"
        "assert a.typestr == '<f4' and a.itemsize == 4\n"
        "assert 'numpy' not in sys.modules\n"
        "a.dtype\n"
        "assert 'numpy' in sys.modules and 'ml_dtypes' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_dtype_without_ml_dtypes_names_the_package(bi, monkeypatch):
    array = read(bi, "bfloat16")
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(TypeError, match="bfloat16.*ml_dtypes"):
        array.dtype


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_what_ends_the_conversion_by_numpy_is_raised(bi, error):
    """It says nothing about the object, which may be an element type."""

    class Type:
        @property
        def dtype(self):
            raise error

    with pytest.raises(error):
        bi.empty(2, Type(), device="host")


# Formats of the buffer protocol


@pytest.mark.parametrize(
    "format, typestr",
    [("?", "|b1"), ("b", "|i1"), ("B", "|u1"), ("h", "<i2"), ("H", "<u2"), ("i", "<i4"), ("I", "<u4"), ("l", "<i8"),
     ("L", "<u8"), ("q", "<i8"), ("Q", "<u8"), ("n", "<i8"), ("N", "<u8"), ("e", "<f2"), ("f", "<f4"), ("d", "<f8"),
     ("<l", "<i4"), ("=L", "<u4"), (">i", ">i4"), ("!h", ">i2"), (">q", ">i8"), ("@f", "<f4"), ("c", "|S1"),
     ("5s", "|S5"), (">b", "|i1"), ("!d", ">f8"), ("1f", "<f4"), (" f", "<f4")],
)
def test_format_simple(bi, format, typestr):
    item = b"x" if format == "c" else b"abcde" if format == "5s" else 1
    array = bi.buffer_interface(exported([item], format, shape=[1]), protocol="buffer")
    assert array.typestr == typestr


@pytest.mark.parametrize("dtype", ["c8", "c16", ">c8", "U3", ">U3", "V7", "V1"])
def test_format_that_numpy_writes(bi, dtype):
    array = bi.buffer_interface(memoryview(np.zeros(2, dtype)), protocol="buffer")
    assert array.typestr == np.dtype(dtype).str


@pytest.mark.parametrize("format, typestr", [("Zf", "<c8"), ("Zd", "<c16"), ("<Zf", "<c8"), ("=Zd", "<c16"), (">Zd", ">c16"),
                                             ("F", "<c8"), ("D", "<c16"), ("<F", "<c8"), ("!D", ">c16")])  # fmt: skip
def test_format_of_complex_numbers(bi, format, typestr):
    """struct has F and D from Python 3.14 on, and also Zf and Zd from 3.15 on. NumPy, array and ctypes write them."""
    from offenders import buffer_type, edit

    size = int(typestr[2:])
    kind = buffer_type(edit(format=format.encode(), itemsize=size, len=size, ndim=0, shape=None, strides=None))
    assert bi.buffer_interface(kind(), protocol="buffer").typestr == typestr


@pytest.mark.filterwarnings("ignore:The 'u' type code:DeprecationWarning")
@pytest.mark.parametrize("code", array.typecodes)
def test_each_type_of_an_array_of_python_is_read_and_written(bi, code):
    """The module array, which got 'w' with Python 3.13, and 'e', 'Zf' and 'Zd' with 3.15."""
    source = array.array(code, "ab" if code in "uw" else [1, 2])
    view = bi.buffer_interface(source)
    assert view.dtype == np.asarray(source).dtype and view.host_pointer == source.buffer_info()[0]
    written = memoryview(view)
    assert np.asarray(written).tolist() == source.tolist() == view.numpy().tolist()
    if code not in "uw":  # which memoryview cannot index
        assert written.tolist() == memoryview(source).tolist() == view.tolist()


@pytest.mark.skipif(not hasattr(ctypes, "c_float_complex"), reason="ctypes has complex numbers from Python 3.14 on")
def test_complex_numbers_of_ctypes(bi):
    for name, typestr in [("c_float_complex", "<c8"), ("c_double_complex", "<c16")]:
        kind = getattr(ctypes, name)
        made = (kind * 2)(1 + 2j, 3j)
        assert bi.buffer_interface(made).typestr == typestr and bi.buffer_interface(made).tolist() == [1 + 2j, 3j]
        fields = type("Made", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_char), ("z", kind)]})
        view = bi.buffer_interface(fields(b"x", 1j))
        assert view.itemsize == ctypes.sizeof(fields) and view["z"].typestr == typestr and view["z"].item() == 1j


def test_strings_of_variable_length_are_refused_by_name(bi):
    for given in (np.zeros(2, "T"), np.dtypes.StringDType()):
        with pytest.raises(bi.UnsupportedTypeError, match=r"StringDType\(\) is not supported: x.astype\(\)"):
            bi.buffer_interface(given) if isinstance(given, np.ndarray) else bi.empty(2, given, device="host")


@pytest.mark.parametrize("dtype, remedy", [("g", "float64"), ("G", "complex128"), ("O", "float64")])
def test_a_refused_format_names_the_type_to_convert_to(bi, dtype, remedy):
    with pytest.raises(bi.UnsupportedTypeError, match=f"not supported .x.astype.'{remedy}'"):
        bi.buffer_interface(np.zeros(2, dtype))


@pytest.mark.parametrize(
    "format, item",
    [("P", 1), ("iP", (1, 1))],
)
def test_format_that_is_no_element_is_refused_by_name(bi, format, item):
    with pytest.raises(bi.InvalidArrayError, match=f"'{format}'"):
        bi.buffer_interface(exported([item], format, shape=[1]), protocol="buffer")


@pytest.mark.parametrize(
    "format, words",
    [(b"", "a type is expected at byte 0"), (b"T{", "a type is expected at byte 2"), (b">", "a type is expected at byte 1"),
     (b"Zq", "a type that is not supported at byte 1"), (b"Zg", "a complex long double, which is not supported"),
     (b"G", "a complex long double, which is not supported"),
     (b"T{i:\xff:}", "the name of a field is not UTF-8 at byte 4"),
     (b"(2,x)i", "a number is expected at byte 3"), (b"(2147483648)i", "a number above 2147483647 at byte 10"),
     (b"(2i", r"'\)' is expected at byte 2")],
)  # fmt: skip
def test_format_that_is_damaged_is_refused_with_its_place(bi, format, words):
    from offenders import buffer_type, edit

    with pytest.raises(bi.InvalidArrayError, match=f"of the buffer: {words}"):
        bi.buffer_interface(buffer_type(edit(format=format))(), protocol="buffer")


@pytest.mark.parametrize(
    "format",
    ["1073741824w", "T{(3)2147483647s:a:}", "T{2147483647s:a:2147483647s:b:2s:c:}", "T{q:a:2147483647s:b:2147483640s:c:}"],
)
def test_format_of_an_item_that_is_too_large_is_refused(bi, format):
    """The gap at the end of the last one counts as well."""
    from offenders import buffer_type, edit

    with pytest.raises(bi.InvalidArrayError, match="an item of more than 4294967295 bytes at byte"):
        bi.buffer_interface(buffer_type(edit(format=format.encode()))(), protocol="buffer")


@pytest.mark.parametrize(
    "dtype",
    [
        np.dtype([("x", "<f4"), ("n", "<i2", (3,)), ("s", "S3")]),
        np.dtype([("a", "u1"), ("b", "<f8")], align=True),
        np.dtype([("a", "<f8"), ("b", [("c", ">i4"), ("d", "<U3")])]),
        np.dtype([("x", "<f4", (2, 3)), ("h", "e"), ("z", "F"), ("q", "?")]),
        np.dtype([("a", "<i8"), ("b", "u1")], align=True),
        np.dtype([("v", "V3"), ("b", "<i8")]),
    ],
    ids=str,
)
def test_format_of_a_structure_that_numpy_writes(bi, dtype):
    array = bi.buffer_interface(memoryview(np.zeros(2, dtype)), protocol="buffer")
    assert array.dtype == dtype
    assert array.descr == dtype.descr


class Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_double), ("n", ctypes.c_int16 * 2), ("flags", ctypes.c_uint8 * 4)]


class Line(ctypes.Structure):
    _fields_ = [("ends", Point * 2), ("width", ctypes.c_double)]


class Gap(ctypes.Structure):
    _fields_ = [("flag", ctypes.c_uint8), ("x", ctypes.c_double)]


@pytest.mark.parametrize("structure", [Point, Line])
def test_format_of_a_structure_of_ctypes(bi, structure):
    array = bi.buffer_interface((structure * 2)(), protocol="buffer")
    assert array.shape == (2,)
    assert array.itemsize == ctypes.sizeof(structure)
    for name, _ in structure._fields_:
        assert array.dtype.fields[name][1] == getattr(structure, name).offset


def test_format_that_leaves_gaps_out_is_refused_rather_than_misread(bi):
    """Older versions of ctypes name only the fields, newer ones the bytes between them as well."""
    try:
        dtype = bi.buffer_interface((Gap * 2)(), protocol="buffer").dtype
    except bi.InvalidArrayError as refused:
        assert "has 9 bytes" in str(refused) and "16" in str(refused)
    else:
        assert dtype.fields["x"][1] == Gap.x.offset


@pytest.mark.parametrize("format, item", [("hQ", (1, 2)), ("bx", (1,)), ("fi", (1.0, 1)), ("hxi", (1, 1)), ("<hQ", (1, 2)),
                                          ("3sB", (b"abc", 1))])  # fmt: skip
def test_several_items_are_the_fields_that_numpy_reads(bi, format, item):
    producer = exported([item, item], format, shape=[2])
    array = bi.buffer_interface(producer, protocol="buffer")
    expected = np.asarray(memoryview(producer))
    assert array.dtype == expected.dtype
    assert array.tolist() == expected.tolist()


def test_a_count_makes_lanes(bi):
    array = bi.buffer_interface(exported([(1, 2), (3, 4)], "2h", shape=[2]), protocol="buffer")
    assert array.dtype == np.dtype(("<i2", (2,))) and array.shape == (2,)
    assert array.numpy().tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("dtype", [dtype for dtype in SIMPLE if not np.dtype(dtype).kind == "V"])
def test_format_is_written_as_memoryview_and_numpy_read_it(bi, dtype):
    source = np.zeros(2, dtype)
    view = memoryview(bi.buffer_interface(source))
    written = memoryview(source).format
    assert view.format == ("c" if written == "1s" else written)
    assert np.asarray(view).dtype == source.dtype


def test_raw_bytes_reach_numpy_as_they_are(bi):
    source = np.frombuffer(bytes(range(15)), "V5")
    array = bi.buffer_interface(source)
    with pytest.raises(BufferError, match=r"view\('u1'\)"):
        memoryview(array)
    for made in (np.array(array), np.asarray(array), array.numpy()):
        assert made.dtype == source.dtype and made.tobytes() == source.tobytes()
    assert array.tobytes() == source.tobytes()


def test_single_characters_can_be_indexed(bi):
    assert memoryview(bi.buffer_interface(np.array([b"a", b"b"])))[1] == b"b"


@pytest.mark.parametrize(
    "dtype",
    [
        np.dtype([("x", "<f4"), ("n", "<i2", (3,)), ("s", "S3")]),
        np.dtype([("a", "u1"), ("b", "<f8")], align=True),
        np.dtype([("a", "<f8"), ("b", [("c", ">i4"), ("d", "<U3")]), ("q", "<i8")]),
        np.dtype([("x", ">f4", (2, 3)), ("z", "F"), ("v", "V3")]),
    ],
    ids=str,
)
def test_format_of_a_structure_is_written_as_numpy_reads_it(bi, dtype):
    source = np.zeros(2, dtype)
    source.view("u1")[:] = np.arange(source.nbytes, dtype="u1") % 100
    back = np.asarray(memoryview(bi.buffer_interface(source)))
    assert back.dtype == dtype
    assert back.tobytes() == source.tobytes()


def test_format_of_8191_characters_is_the_longest(bi):
    def written(length):
        return memoryview(bi.buffer_interface(np.zeros(1, [("n" * length, "<f4")]))).format

    assert len(written(8184)) == 8191
    with pytest.raises(bi.UnsupportedError, match="8191"):
        written(8185)


def test_format_of_many_fields(bi):
    source = np.zeros(1, [(f"field_with_a_long_name_{i}", "<f4") for i in range(20)])
    assert np.asarray(memoryview(bi.buffer_interface(source))).dtype == source.dtype
    with pytest.raises(bi.UnsupportedError, match="8191"):
        memoryview(bi.buffer_interface(np.zeros(1, [(f"field_with_a_long_name_{i}", "<f4") for i in range(400)])))


@pytest.mark.parametrize("given", [
    [("f0", "f8"), ("f2", "u1"), ("f1", "f8")] + [(f"g{i}", "f8") for i in range(40)],
    [(f"x{i}", "u1" if i % 2 else "f8") for i in range(40)],
    [(f"a_field_with_a_very_long_name_{i}", "u1" if i % 2 else "f8") for i in range(400)],
    [("co:lon", "u1"), ("x", "f8")],
    [(("title", "b"), "f4"), ("c", "f8")],
])  # fmt: skip
def test_gaps_are_no_fields(bi, given):
    """Where the buffer protocol has no format, and names that NumPy would give to the gaps."""
    dtype = np.dtype(given, align=True)
    source = np.zeros(2, dtype)
    source[dtype.names[0]] = 1, 2
    view = bi.buffer_interface(source)
    found = view.numpy()
    assert found.dtype == dtype
    assert dict(found.dtype.fields) == dict(dtype.fields)
    assert found.tolist() == view.tolist() == source.tolist()
    assert source[0] in view
    assert (view == source).all()


@pytest.mark.parametrize("given", ["S3", "U2"])
def test_one_lane_of_a_sized_type_is_the_type(bi, given):
    assert bi.zeros(2, np.dtype((given, (1,))), device="host").dtype == np.dtype(given)


@pytest.mark.parametrize("given", [("V4", (1,)), ([("a", "i4")], (1,))])
def test_one_lane_that_may_have_fields_is_refused(bi, given):
    with pytest.raises(bi.UnsupportedTypeError):
        bi.zeros(2, np.dtype(given), device="host")


@pytest.mark.parametrize("given", ["bfloat16", "float8_e4m3fn", "float32x4"])
def test_format_that_does_not_exist_is_refused(bi, given):
    with pytest.raises(bi.UnsupportedError, match=given):
        memoryview(read(bi, given))


def test_a_field_of_a_list_or_a_dict_is_refused_by_its_name(bi):
    for dtype in ([("w", ml_dtypes.bfloat16)], {"names": ["w"], "formats": [ml_dtypes.bfloat16]}):
        with pytest.raises(bi.UnsupportedTypeError, match="field 'w'.*bfloat16"):
            bi.empty(2, dtype, device="host")


def test_objects_are_refused_as_such(bi):
    for dtype in (object, np.object_, np.dtype(object)):
        with pytest.raises(bi.UnsupportedTypeError, match="Python objects"):
            bi.empty(2, dtype, device="host")


def test_a_damaged_descr_is_no_unsupported_type(bi):
    for descr in ([("a", 5)], ["x"], [("a",)], [(1, "<f8")]):
        array = np.zeros(2, "V8")
        producer = type("Producer", (), {"__array_interface__": dict(array.__array_interface__, descr=descr)})()
        with pytest.raises(bi.InvalidArrayError) as caught:
            bi.buffer_interface(producer)
        assert caught.type is bi.InvalidArrayError
