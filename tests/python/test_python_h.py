"""buffer_interface/python.h and the example that is made with it: arguments of any kind in C extensions.

The example is compiled here, once, with the warnings of the project as errors. Producers that describe themselves are
written in ctypes: what python.h meets is a capsule on a type.
"""

import ctypes
import gc
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import weakref

import numpy as np
import pytest

import dlpack_structs as dl
from exchange_struct import BORROW, FILL, READING, READY, VERSION, Exchange, Table
from producers import CuPyLike, TorchLike

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples/python_extension"
STRICT = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wvla -Wcast-qual -Wundef -Werror".split()
INCLUDE = [f"-I{ROOT / 'include'}", "-isystem", sysconfig.get_path("include")]
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


def compiler(language):
    variable, name = {"c": ("CC", "cc"), "c++": ("CXX", "c++")}[language]
    return os.environ.get(variable, name)


def load(path):
    specification = importlib.util.spec_from_file_location("array_report", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("example") / ("array_report" + SUFFIX)
    command = [compiler("c"), "-std=c11", "-O1", "-shared", "-fPIC", *STRICT, *INCLUDE, EXAMPLE / "array_report.c"]
    subprocess.run([*command, "-o", path], check=True)
    return load(path)


# The header


LIMITED = {"whole": [], "limited": ["-DPy_LIMITED_API=0x030B0000"]}
if sys.version_info >= (3, 15):  # before, Python.h does not read Py_TARGET_ABI3T
    LIMITED["free-threaded limited"] = ["-DPy_TARGET_ABI3T=0x030F0000"]


@pytest.mark.parametrize("limited", LIMITED.values(), ids=LIMITED)
@pytest.mark.parametrize("language, standard", [("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++17")])
def test_header_compiles_alone(tmp_path, language, standard, limited):
    unit = tmp_path / "unit"
    unit.write_text('#include "buffer_interface/python.h"\n' * 2 + "typedef int unit_is_not_empty;\n")
    command = [compiler(language), f"-std={standard}", *STRICT, *limited, *INCLUDE, "-fsyntax-only", "-x", language]
    subprocess.run([*command, unit], check=True)


@pytest.mark.needs("setuptools")
def test_example_builds_with_its_setup(tmp_path):
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder)
    include = folder / "include"
    shutil.copytree(ROOT / "include", include)
    environment = dict(os.environ, CFLAGS=f"-I{include}")
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=folder, env=environment, check=True)
    assert load(folder / ("array_report" + SUFFIX)).total(np.arange(10.0)[::-2]) == 25


def test_example_needs_a_setuptools_that_makes_wheels():
    """The command bdist_wheel is part of setuptools since 70.1."""
    assert 'requires = ["setuptools>=70.1"]' in (EXAMPLE / "pyproject.toml").read_text()
    assert "setuptools 70.1 or later" in (EXAMPLE / "README.md").read_text()


# What describes itself


def test_our_arrays(bi, report):
    values = np.arange(24, dtype="<f4").reshape(4, 6)
    view = bi.buffer_interface(values)[::-1, ::2]
    told = report.describe(view)
    assert told["device"] == "CPU" and told["type"] == "f4"
    assert told["shape"] == (4, 3) and told["strides"] == (-24, 8)
    assert told["handle"] + told["offset"] == values[::-1, ::2].ctypes.data
    assert not told["readonly"] and told["order_kind"] == 0
    assert report.total(view) == values[:, ::2].sum()


def test_our_arrays_on_opencl(bi, pocl, report):
    view = bi.zeros((4,), "<i2", device=pocl)[1:]
    told = report.describe(view)
    assert (told["handle"], told["offset"]) == (view.buffer.int_ptr, 2)
    assert (told["device"], told["shape"]) == ("OpenCL", (3,))
    assert told["order_kind"] == (3 if view.stream else 0) and told["stream"] == (view.stream or 0)
    with pytest.raises(TypeError, match="OpenCL"):
        report.total(view)


def test_our_arrays_on_cuda_name_their_stream(bi, cuda, report):
    producer = CuPyLike(cuda)
    producer.fill(1)
    told = report.describe(bi.buffer_interface(producer))
    assert (told["device"], told["handle"], told["offset"]) == ("CUDA", producer.pointer, 0)
    assert (told["order_kind"], told["stream"]) == (1, producer.stream)


def test_masked_arrays_are_two_exchanges(bi, cuda):
    class Masked(CuPyLike):
        @property
        def __cuda_array_interface__(self):
            return dict(super().__cuda_array_interface__, mask=self.mask)

    producer = Masked(cuda)
    producer.mask = CuPyLike(cuda, typestr="|b1")
    view = bi.buffer_interface(producer, mask="keep")
    for wishes in (0, BORROW):
        with pytest.raises(bi.UnsupportedError, match="masked"):
            exchange_of(bi, view, wishes)
    exchange = exchange_of(bi, view.mask)
    assert exchange.handle == producer.mask.pointer and exchange.type_code == 6
    exchange.let_go()


# What does not


@pytest.mark.parametrize("make", [np.arange, lambda n: bytes(range(n)), lambda n: memoryview(bytearray(range(n)))])
def test_arrays_of_others(report, make):
    told = report.describe(make(5))
    assert told["device"] == "CPU" and told["shape"] == (5,)


@pytest.mark.parametrize("kind", [CuPyLike, TorchLike])
def test_arrays_of_others_on_cuda(bi, cuda, report, kind):
    producer = kind(cuda)
    told = report.describe(producer)
    assert (told["device"], told["handle"], told["offset"]) == ("CUDA", producer.pointer, 0)


def test_package_is_imported_when_it_is_needed(report):
    code = (
        "import importlib.util, sys\n"
        f"s = importlib.util.spec_from_file_location('array_report', {report.__file__!r})\n"
        "m = importlib.util.module_from_spec(s); s.loader.exec_module(m)\n"
        "assert 'buffer_interface' not in sys.modules\n"
        "assert m.describe(b'123')['readonly']\n"
        "assert 'buffer_interface' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("argument", [None, 3, "text", object(), [1.0, 2.0]])
def test_no_array_is_a_type_error(report, argument):
    for function in (report.describe, report.total):
        with pytest.raises(TypeError):
            function(argument)


def test_released_arrays_are_refused(bi, report):
    view = bi.buffer_interface(bytearray(8))
    view.release()
    for function in (report.describe, report.total):
        with pytest.raises(bi.InvalidArrayError, match="released"):
            function(view)


def test_converter_takes_two(report, bi):
    assert report.same_shape(np.zeros((2, 3)), bi.buffer_interface(np.ones((2, 3), "u1")))
    assert not report.same_shape(np.zeros((2, 3)), np.zeros(6))


def test_converter_lets_go_of_the_first_if_the_second_is_refused(report):
    class Owner(bytearray):
        pass

    owner = Owner(8)
    end = weakref.ref(owner)
    with pytest.raises(TypeError):
        report.same_shape(owner, None)
    del owner
    gc.collect()
    assert end() is None


def test_nothing_is_kept(report, bi):
    values = np.arange(6.0)
    view = bi.buffer_interface(values)
    before = sys.getrefcount(values), sys.getrefcount(view)
    for _ in range(100):
        for function in (report.describe, report.total):
            function(values)
            function(view)
    assert (sys.getrefcount(values), sys.getrefcount(view)) == before


# The table itself

CAPSULE = b"buffer_interface.c_api"


def table_of(bi):
    capsule = vars(bi.BufferInterface)["__buffer_interface_c__"]
    assert dl.capsule_name(capsule) == CAPSULE
    return Table.from_address(dl.capsule_pointer(capsule))


def exchange_of(bi, array, wishes=0):
    exchange = Exchange.empty()
    assert table_of(bi).acquire(array, wishes, ctypes.byref(exchange)) == 0
    return exchange


def test_table_is_on_the_type(bi):
    table = table_of(bi)
    assert (table.version, table.struct_size) == (VERSION, ctypes.sizeof(Table))


@pytest.mark.parametrize("wishes", [0, BORROW])
@pytest.mark.parametrize("argument", [None, b"123", np.zeros(3)], ids=["None", "bytes", "ndarray"])
def test_table_takes_its_own_type_only(bi, wishes, argument):
    exchange = Exchange.empty()
    with pytest.raises(TypeError, match="BufferInterface"):
        table_of(bi).acquire(argument, wishes, ctypes.byref(exchange))
    assert not exchange.release


@pytest.mark.parametrize("wishes, is_kept", [(BORROW, False), (0, True), (READING, True), (1 << 30, True)])
def test_only_what_is_acquired_keeps_the_memory(bi, wishes, is_kept):
    class Owner(bytearray):
        pass

    owner = Owner(b"12345678")
    end = weakref.ref(owner)
    view = bi.buffer_interface(owner)
    exchange = exchange_of(bi, view, wishes)
    del owner
    view.release()
    gc.collect()
    assert (end() is not None) == is_kept
    if is_kept:
        assert ctypes.string_at(exchange.handle + exchange.offset, 8) == b"12345678"
        exchange.let_go()
        assert not exchange.release
        gc.collect()
        assert end() is None


def test_borrowed_struct_is_released(bi):
    view = bi.buffer_interface(bytearray(8))
    exchange = exchange_of(bi, view, BORROW)
    exchange.let_go()
    assert not exchange.release
    exchange_of(bi, view, BORROW).let_go()


# Negotiation


@pytest.mark.parametrize(
    "version, size", [(0, 128), (1, 128), (VERSION + 1, 128), (1 << 16, 128), (VERSION, 127), (VERSION, 16), (VERSION, 4097)]
)
def test_a_caller_of_another_version_or_size_is_refused(bi, version, size):
    room = (ctypes.c_uint8 * 8192)(*[0xA5] * 8192)
    exchange = Exchange.from_buffer(room)
    exchange.version, exchange.struct_size = version, size
    with pytest.raises(BufferError, match="version|struct_size"):
        table_of(bi).acquire(bi.buffer_interface(bytearray(8)), 0, ctypes.byref(exchange))
    assert not exchange.release
    assert (exchange.version, exchange.struct_size) == (version, size)
    assert set(room[16:]) == {0xA5}


def test_a_newer_caller_reads_0_in_what_it_has_more(bi):
    """Every byte up to struct_size is written, none behind."""
    room = (ctypes.c_uint8 * 256)(*[0xA5] * 256)
    exchange = Exchange.from_buffer(room)
    exchange.version, exchange.struct_size = VERSION, 160
    assert table_of(bi).acquire(bi.buffer_interface(bytearray(8)), 0, ctypes.byref(exchange)) == 0
    assert exchange.struct_size == 160
    assert set(room[128:160]) == {0} and set(room[160:]) == {0xA5}
    exchange.let_go()


def test_an_unknown_demand_is_refused(bi):
    exchange = Exchange.empty()
    with pytest.raises(BufferError, match="demand"):
        table_of(bi).acquire(bi.buffer_interface(bytearray(8)), 1 << 7, ctypes.byref(exchange))
    assert not exchange.release


# Types of others


class Foreign:
    """A type with a table of its own over ours, which counts its calls. Version and capsule can be wrong."""

    made = []

    def __new__(cls, bi, array, *, version=VERSION, size=ctypes.sizeof(Table), name=CAPSULE):
        ours, wished = table_of(bi), []

        def acquire(_, wishes, out):
            wished.append(wishes)
            return ours.acquire(array, wishes, out)

        table = Table(version, size, FILL(acquire))
        cls.made.append(table)
        kind = type("Kind", (), {"__buffer_interface_c__": dl.plain_capsule(ctypes.addressof(table), name)})
        instance = kind()
        instance.wished = wished
        return instance


def test_foreign_types_are_asked_themselves(bi, report):
    foreign = Foreign(bi, bi.buffer_interface(np.arange(4.0)))
    assert report.describe(foreign)["shape"] == (4,) and report.total(foreign) == 6
    # total() reads with the CPU, so it demands that pending work is complete.
    assert foreign.wished == [BORROW, READY | READING]


def test_types_take_turns(bi, report):
    ours, foreign = bi.buffer_interface(np.arange(4.0)), Foreign(bi, bi.buffer_interface(np.arange(5.0)))
    for _ in range(3):
        assert (report.total(ours), report.total(foreign), report.total(np.arange(3.0))) == (6, 10, 3)
    assert foreign.wished == [READY | READING] * 3


def test_capsule_of_an_instance_does_not_count(bi, report):
    class Plain:
        pass

    plain = Plain()
    plain.__buffer_interface_c__ = vars(bi.BufferInterface)["__buffer_interface_c__"]
    with pytest.raises(TypeError):
        report.describe(plain)


@pytest.mark.parametrize("version, size", [(1, 16), (3, 16), (1 << 16, 16), (0, 16), (2, 8)])
def test_unknown_versions_are_refused_before_anything_is_called(bi, report, version, size):
    foreign = Foreign(bi, bi.buffer_interface(np.arange(4.0)), version=version, size=size)
    for function in (report.describe, report.total):
        with pytest.raises(BufferError, match=f"version {version >> 16}.{version & 0xFFFF} and {size} bytes"):
            function(foreign)
    assert foreign.wished == []


def test_other_capsules_are_refused(bi, report):
    with pytest.raises(TypeError, match="buffer_interface.c_api"):
        report.describe(Foreign(bi, bi.buffer_interface(np.arange(4.0)), name=b"dltensor"))
    kind = type("Kind", (), {"__buffer_interface_c__": 17})
    with pytest.raises(TypeError, match="buffer_interface.c_api"):
        report.describe(kind())


def test_error_of_a_type_that_is_looked_at_is_passed_on(report):
    class Meta(type):
        @property
        def __buffer_interface_c__(cls):
            raise ArithmeticError("asked")

    class Kind(metaclass=Meta):
        pass

    with pytest.raises(ArithmeticError, match="asked"):
        report.describe(Kind())


def test_a_subinterpreter_gets_the_refusal_of_the_package(report):
    """The cache of the header belongs to the interpreter that used it first."""
    use = f"""
import importlib.util, sys
sys.path[:] = {sys.path!r}
specification = importlib.util.spec_from_file_location("array_report", {report.__file__!r})
report = importlib.util.module_from_spec(specification)
specification.loader.exec_module(report)
try:
    print(report.total(memoryview(bytearray(8)).cast("d")), flush=True)
except ImportError as error:
    print(error, flush=True)
"""
    code = f"""
try:  # from Python 3.13 on; the extension of this test loads in a "legacy" interpreter alone
    import _interpreters as interpreters
    run_in, other = interpreters.exec, interpreters.create("legacy")
except ImportError:
    import _xxsubinterpreters as interpreters
    run_in, other = interpreters.run_string, interpreters.create()
exec({use!r})
run_in(other, {use!r})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("0.0") and "subinterpreter" in done.stdout.replace("-", "")
