"""
Objects with one odd attribute: None, numbers, texts, an object, a property that raises, and others.

An import returns, or raises an exception of a documented class, or the exception that the property raises. It raises no
SystemError, which comes from a C function that was called with an object of a wrong type. It keeps no reference. An
imitation of numpy.dtype may also raise AttributeError and OverflowError.
"""

import ctypes
import gc
import sys
import weakref

import ml_dtypes
import numpy as np
import pyopencl
import pyopencl.array
import pytest

import buffer_interface as bi
from peers.fixtures import opencl_queue  # noqa: F401

pytestmark = pytest.mark.filterwarnings("ignore:descr")

DOCUMENTED = (bi.InvalidArrayError, bi.UnsupportedError, bi.DriverError, BufferError, TypeError, ValueError,
              LookupError)  # fmt: skip


class OfTheProperty(Exception):
    pass


class Index:
    def __index__(self):
        raise OfTheProperty


class Raising:
    """Stands for a property that raises."""


# No driver checks a number that could be a handle, so these have none.
NO_HANDLES = [None, -1, -(2**70), 2**70, 1.5, "", "odd", "\0", "\udc80", b"", b"odd", object(), Index(), Raising, (),
              (None,), [], {}, int]  # fmt: skip
TUPLES = [(-1,), (2**70,), (Index(),), (1.5,), ("odd",), (1, 2), (0, None), (None, False), (2**63, 2**63), [None],
          [("", "f4")], [("x", None)], [5], {"odd": 1}]  # fmt: skip
VALUES = [*NO_HANDLES, *TUPLES, 0, 1, 3, True, 2**31, 2**62, 2**64 - 1]


def of_class(members, base=object, **others):
    """A class whose objects have these attributes, which properties return."""

    def getter(value):
        def get(self):
            if value is Raising:
                raise OfTheProperty
            return value

        return property(get)

    return type("Odd", (base,), {**{name: getter(value) for name, value in members.items()}, **others})


def references(value):
    """Counts the references to a value that has no other users."""
    return sys.getrefcount(value) if isinstance(value, (Index, list, dict)) or type(value) is object else 0


def sweep_one(members, make, use=bi.buffer_interface, values=VALUES, also=()):
    """Replaces each of the members by each of the values. `make` makes an object of the members, and `use` imports it,
    which may raise a documented exception, or one of the classes `also`."""
    failed = []
    for name in members:
        for value in values:
            count = references(value)
            made = make({**members, name: value})
            try:
                use(made)
            except (*DOCUMENTED, OfTheProperty, *also):
                pass
            except Exception as error:
                failed.append((name, value, repr(error)))
            reference = weakref.ref(made)
            del made
            if reference() is not None or references(value) != count:
                gc.collect()
            if reference() is not None or references(value) != count:
                failed.append((name, value, f"{references(value) - count} references"))
    assert not failed, failed


def sweep(members, make, use=bi.buffer_interface, values=VALUES, also=()):
    """The same for members that are accepted as they are. So an odd value is reached, and not refused before."""
    use(make(members))
    sweep_one(members, make, use, values, also)


MEMORY = np.zeros(24, "f4")
ADDRESS = MEMORY.__array_interface__["data"][0]
ARRAY = {"shape": (4, 6), "strides": (24, 4), "typestr": "<f4", "descr": [("", "<f4")], "mask": None, "version": 3}
DRAFT = {"buffer": ADDRESS, "offset": 0, "shape": (4, 6), "strides": (24, 4), "typestr": "<f4", "dtype": np.dtype("f4"),
         "descr": [("", "<f4")], "backend": "host", "device": None, "context": None, "stream": None, "mask": None,
         "readonly": False, "itemsize": 4, "ndim": 2, "size": 24, "nbytes": 96, "host_pointer": ADDRESS}  # fmt: skip


def test_array_interface():
    for data in ((ADDRESS, False), MEMORY):
        members = {**ARRAY, "data": data, "offset": 0}
        sweep(members, lambda members: of_class({"__array_interface__": members})())
    sweep_one({"__array_interface__": None, "__array_struct__": None}, lambda members: of_class(members)())


def test_cuda_array_interface(cuda):
    members = {**ARRAY, "data": (cuda.alloc(96), False), "stream": 1}
    sweep(members, lambda members: of_class({"__cuda_array_interface__": members})(), values=[*NO_HANDLES, *TUPLES, 0])
    sweep_one({"__cuda_array_interface__": members, "stream": None, "is_neg": None}, lambda members: of_class(members)())


def test_draft():
    sweep(DRAFT, lambda members: of_class(members)())
    stated = {**DRAFT, "buffer_interface_version": 2}
    sweep(stated, lambda members: of_class({}, __buffer_interface__=lambda self: of_class(members)())())
    sweep_one({"__buffer_interface__": None}, lambda members: of_class(members)())


def test_draft_of_opencl(opencl_queue):  # noqa: F811
    buffer = pyopencl.Buffer(opencl_queue.context, pyopencl.mem_flags.READ_WRITE, 96)
    members = {**DRAFT, "buffer": buffer, "backend": "opencl", "stream": opencl_queue, "context": opencl_queue.context}
    del members["host_pointer"]
    sweep(members, lambda members: of_class(members)(), values=NO_HANDLES)


def test_dlpack():
    whole = bi.empty((4, 6), "f4", device="host")
    results = {"__dlpack__": whole.__dlpack__, "__dlpack_device__": whole.__dlpack_device__}
    sweep(results, lambda members: of_class(members)())
    answers = {"__dlpack__": None, "__dlpack_device__": (1, 0)}
    sweep_one(answers, lambda members: of_class({}, __dlpack__=lambda self, **words: members["__dlpack__"],
                                                __dlpack_device__=lambda self: members["__dlpack_device__"])())  # fmt: skip
    for name in ("__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__", "__buffer_interface_c__"):
        sweep_one({name: None}, lambda members: of_class({}, **members)())


@pytest.mark.parametrize("dtype", ["f4", ml_dtypes.bfloat16, [("x", "f4"), ("y", "u1")]], ids=str)
def test_subclasses_of_ndarray(dtype):
    array = np.zeros((4, 6), dtype)
    names = ["dtype", "flags", "base", "mask", "shape", "strides", "__array_struct__", "__array_interface__"]
    members = {name: getattr(array, name, None) for name in names if name != "__array_interface__" or dtype == "f4"}
    sweep(members, lambda members: array.view(of_class(members, np.ndarray)))


def test_numpy_scalars():
    for base in (np.float64, np.void):
        sweep_one({"__array__": None},
                  lambda members: of_class({}, base, __array__=lambda self, *args: members["__array__"])(3))  # fmt: skip


def test_structures_of_ctypes():
    class Structure(ctypes.Structure):
        _fields_ = [("x", ctypes.c_int)]

    sweep({"_fields_": []}, lambda members: type("Odd", (Structure, type("Mixin", (), members)), {})())


def test_arrays_of_pyopencl(opencl_queue):  # noqa: F811
    array = pyopencl.array.zeros(opencl_queue, (4, 6), "f4")
    names = ["base_data", "offset", "shape", "strides", "dtype", "queue", "events"]

    def make(members):
        made = object.__new__(of_class(members, pyopencl.array.Array))
        made.context = array.context
        return made

    sweep({name: getattr(array, name) for name in names}, make)


def test_streams(cuda):
    array = bi.empty(4, "f4", device="cuda")
    for name in ("__cuda_stream__", "cuda_stream", "ptr", "handle"):
        for wrapped in (lambda value: value, lambda value: of_class({"value": value})(), lambda value: (0, value)):
            for use in (lambda made: bi.empty(4, device="cuda", stream=made), lambda made: array.copy(stream=made)):
                sweep_one({name: 0}, lambda members: of_class({name: wrapped(members[name])})(), use, NO_HANDLES)


def test_devices():
    sweep({"spec": "host"}, lambda members: of_class(members)(), lambda made: bi.empty(4, device=made))


TYPE = {"names": None, "subdtype": None, "isbuiltin": 1, "isnative": True, "name": "float32", "str": "<f4", "kind": "f",
        "descr": [("", "<f4")], "base": None, "fields": None, "itemsize": 4}  # fmt: skip


def import_with(dtype):
    members = {name: DRAFT[name] for name in ("buffer", "offset", "backend", "readonly")}
    bi.buffer_interface(of_class({**members, "shape": (3,), "strides": None, "dtype": dtype})())


LANES = np.dtype("f4"), (2,)


@pytest.mark.parametrize("others", [{}, {"isbuiltin": 2}, {"names": ("x",)}, {"subdtype": LANES}], ids=str)
def test_types_of_an_imitation_of_numpy(others, monkeypatch):
    def make(members, **more):
        kind = of_class(members, **more)
        monkeypatch.setattr(np, "dtype", kind)
        return kind()

    def use(dtype):
        try:
            import_with(dtype)
        finally:
            monkeypatch.undo()
            for size in range(1, 9):  # the library keeps the types that it has read last
                bi.empty(1, np.dtype(f"V{size}"), device="host")

    members, also = {**TYPE, **others}, (AttributeError, OverflowError)
    methods = {"__getitem__": lambda self, name, field=np.dtype("f4"): field, "__init__": lambda self, *args: None}
    sweep(members, lambda odd: make(odd, **methods), use, also=also)
    pairs = [pair for odd in VALUES for pair in ((odd, (2,)), ("f4", odd), (np.dtype("f4"), (odd,)))]
    sweep_one({"subdtype": None}, lambda odd: make({**members, **odd}), use, pairs, also)
    sweep_one({"x": None}, lambda odd: make(members, __getitem__=lambda self, name: odd[name]), use, VALUES, also)


def test_a_type_that_names_itself_as_the_type_of_its_lanes(monkeypatch):
    class Type:
        names, isbuiltin, str = None, 1, "|V4"

        @property
        def subdtype(self):
            return self, (2,)

    monkeypatch.setattr(np, "dtype", Type)
    with pytest.raises(TypeError, match="not an element type"):
        import_with(Type())
