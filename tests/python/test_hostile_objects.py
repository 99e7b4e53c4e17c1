"""
buffer_interface(obj) with hostile objects: a fuzz of every protocol in Python.

Each case makes one object that describes an array in one protocol, and spoils it: attributes that raise, change between
two reads, delete themselves, call back into the library, release views, collect garbage, or give values of wrong types
and sizes. The case is right if the import raises an exception of a documented class, or the exception that the object
raised, or returns a view. The view is compared with the array if nothing of its description was spoiled. Afterwards the
object is gone, and every tensor and buffer was given back once. What each case holds is counted in batches.

The suite runs a short form. The long form is one command; COUNT cases begin at case SEED, and a case depends on its
number alone:

    python tests/python/test_hostile_objects.py SEED COUNT
"""

import array
import ctypes
import faulthandler
import gc
import random
import sys
import threading
import weakref

import numpy as np
import pytest

import conftest  # chooses the drivers before the library is loaded
import dlpack_structs as dl
from array_struct import ArrayStruct
from exchange_struct import FILL, RELEASE, VERSION, Exchange, Table

import buffer_interface as bi

BATCH = 500
SECONDS_PER_BATCH = 120
CASES_IN_THE_SUITE, ROUNDS_IN_THE_SUITE = 1500, 4

DOCUMENTED = (bi.InvalidArrayError, bi.UnsupportedError, bi.DriverError, BufferError, TypeError, ValueError, LookupError)
OPTIONS = [
    {},
    {"sync": False},
    {"check": False},
    {"writable": False},
    {"writable": True},
    {"mask": "keep"},
    {"copy": False, "sync": True},
    {"stream": 1},
    {"producer_stream": 2},
]


class Interrupt(BaseException):
    """An exception that no code may turn into another."""


RAISED = [
    AttributeError, AttributeError, BufferError, KeyError, LookupError, MemoryError, OverflowError, RecursionError,
    RuntimeError, StopIteration, TypeError, ValueError, ZeroDivisionError, Interrupt, KeyboardInterrupt, SystemExit,
    GeneratorExit,
]  # fmt: skip
# What an importer may take as an answer: the attribute is missing, the keyword is unknown, the protocol does not fit.
ANSWERS = (AttributeError, TypeError, BufferError, ImportError, ValueError, LookupError)
UNTOUCHABLE = (Interrupt, KeyboardInterrupt, SystemExit, GeneratorExit)


class World:
    """One case: its random numbers, what it raised, and whether the description still says what the array is."""

    def __init__(self, number):
        self.random = random.Random(number)
        self.raised = []
        self.is_spoiled = False
        self.is_over = False  # attributes act no more
        self.depth = 0
        self.held = []  # objects that the case may drop in the middle of the import
        self.threads = []
        self.tensor, self.capsules = None, []
        self.memory = np.arange(24, dtype="<f4")
        # memory.ctypes.data leaves a number of blocks behind that varies from round to round.
        self.address = self.memory.__array_interface__["data"][0]
        self.is_cuda = False

    def raise_one(self):
        error = self.random.choice(RAISED)("hostile")
        self.raised.append(error)
        raise error

    def spoil(self):
        self.is_spoiled = True


class Int(int):
    """An int with a life of its own."""

    def __index__(self):
        gc.collect(0)
        return int(self) + 1

    def __repr__(self):
        raise ValueError("no name")


class Text(str):
    def __eq__(self, other):
        raise RuntimeError("not comparable")

    __hash__ = str.__hash__


class Tuple(tuple):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        raise IndexError(i)


class Index:
    """A number that acts when it is read."""

    __slots__ = ("world", "value")

    def __init__(self, world, value):
        self.world, self.value = world, value

    def __index__(self):
        act(self.world, self)
        return self.value

    __int__ = __index__

    def __bool__(self):
        act(self.world, self)
        return True


def cyclic():
    loop = []
    loop.append(loop)
    return loop


NUMBERS = [
    0, 1, -1, 2, 3, 7, 16, 63, 64, 65, 255, 256, 4095, 4096, 2**31 - 1, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1, 2**63,
    -(2**63), 2**64 - 1, 2**64, 10**30, -(10**30), 10**5000,
]  # fmt: skip


def number(world):
    r = world.random
    kind = r.randrange(10)
    value = r.choice(NUMBERS)
    if kind < 6:
        return value
    if kind == 6:
        return Int(r.choice(NUMBERS[:14]))
    if kind == 7:
        return Index(world, value)
    if kind == 8:
        return world.address + r.choice([0, 1, 4, -4, 95, 96, 4096])
    return r.choice([True, False, 1.5, float("nan"), "4", b"4", None, 1j, np.int64(3), np.float32(2)])


def numbers(world):
    r = world.random
    values = tuple(number(world) for _ in range(r.choice([0, 1, 1, 2, 2, 3, 8, 64, 65])))
    kind = r.randrange(8)
    if kind == 0:
        return list(values)
    if kind == 1:
        return Tuple(values)
    if kind == 2:
        return iter(values)
    return values


TEXTS = [
    "<f4", ">f4", "=f4", "|u1", "<i8", "<c16", "|b1", "|V0", "|V12", "<U3", "|S5", "|O8", "<M8[ns]", "<f3", "f4", "", "<",
    "<f99999999999999999999", "<f-4", "<f4\0", "\ud800", "é", "<f4" * 1000, "|t1", "<V4:<f4", "(2,3)<f4", "bfloat16",
    "float32", "d", "?",
]  # fmt: skip


def text(world):
    kind = world.random.randrange(6)
    value = world.random.choice(TEXTS)
    if kind < 4:
        return value
    return Text(value) if kind == 4 else anything(world)


def anything(world):
    r = world.random
    return r.choice(
        [
            lambda: None,
            lambda: number(world),
            lambda: numbers(world),
            lambda: cyclic(),
            lambda: {},
            lambda: {"shape": (1,), "typestr": "<f4"},
            lambda: object(),
            lambda: type,
            lambda: ValueError,
            lambda: (x for x in ()),
            lambda: world.memory,
            lambda: memoryview(world.memory),
            lambda: b"bytes",
            lambda: bytearray(8),
            lambda: (world.address, False),
            lambda: (number(world), number(world)),
            lambda: (1, number(world)),
            lambda: [("x", "<f4"), ("y", "<i2", (3,))],
            lambda: [("x", "<f4")] * 3,
            lambda: [("", "|V4")],
            lambda: [(text(world), text(world), numbers(world))],
            lambda: Spoiled(world),
            lambda: bi.empty(3, "<f4", device="host"),
            lambda: Text(r.choice(TEXTS)),
        ]
    )()


class Spoiled:
    """An object of which every attribute acts."""

    def __init__(self, world):
        self.__dict__["world"] = world

    def __getattr__(self, name):
        world = self.__dict__.get("world")
        if world is None:
            raise AttributeError(name)
        act(world, self)
        return anything(world) if world.random.random() < 0.5 else None


def delete_all(world, producer):
    for name in list(vars(producer) if hasattr(producer, "__dict__") else ()):
        if name != "world":
            producer.__dict__.pop(name, None)
    world.spoil()


def change_type(world, producer):
    names = [name for name in vars(type(producer)) if name.startswith("__") and name.endswith("__")]
    names = [name for name in names if any(word in name for word in ("array", "dlpack", "interface"))]
    if names:
        try:
            delattr(type(producer), world.random.choice(names))
        except (AttributeError, TypeError):
            pass
    world.spoil()


def call_back(world, producer):
    if world.depth < 3:
        world.depth += 1
        try:
            world.held.append(bi.buffer_interface(producer))
        except DOCUMENTED:
            pass
        finally:
            world.depth -= 1


def recurse(world, producer):
    """As deep as Python allows: what is called at the end has no stack."""
    try:
        recurse(world, producer)
    except RecursionError:
        bi.buffer_interface(world.memory)


def release_views(world, producer):
    for held in world.held:
        if isinstance(held, bi.BufferInterface):
            held.release()
    world.held.clear()


def mutate(world, producer):
    """Another thread changes the object meanwhile."""

    def work(target=vars(producer) if hasattr(producer, "__dict__") else {}):
        for _ in range(20):
            for name in ("shape", "strides", "data", "typestr"):
                if name in target:
                    target[name] = target[name]
            members = target.get("members")
            if isinstance(members, dict):
                members["spoiled"] = 1
                members.pop("spoiled", None)

    if not world.threads:
        world.threads.append(threading.Thread(target=work))
        world.threads[-1].start()


def act(world, producer):
    """What an attribute does when it is read."""
    chance = world.random.random()
    if chance < 0.6 or world.is_over:
        return
    action = world.random.choice(ACTIONS)
    action(world, producer)


def import_another(world, producer):
    world.held.append(bi.buffer_interface(np.zeros(3)))


ACTIONS = [
    lambda world, producer: world.raise_one(),
    lambda world, producer: world.raise_one(),
    lambda world, producer: gc.collect(world.random.choice([0, 0, 0, 1])),
    lambda world, producer: world.held.clear(),
    delete_all,
    change_type,
    call_back,
    recurse,
    release_views,
    mutate,
    import_another,
    lambda world, producer: bi.trim() if world.random.random() < 0.02 else None,
]


class Members(dict):
    """The dictionary of an array interface; its items act, or change between two reads."""

    def __init__(self, world, members):
        super().__init__(members)
        self.world = world

    def __getitem__(self, name):
        act(self.world, self)
        if self.world.random.random() < 0.1:
            self.world.spoil()
            return anything(self.world)
        return super().__getitem__(name)

    def get(self, name, default=None):
        act(self.world, self)
        return super().get(name, default)

    def __contains__(self, name):
        act(self.world, self)
        return super().__contains__(name)


def spoil_members(world, members, names):
    """Changes some members. Returns the dictionary, or what is no dictionary."""
    r = world.random
    for _ in range(r.choice([0, 0, 1, 1, 2, 3])):
        name = r.choice(names)
        world.spoil()
        kind = r.randrange(5)
        if kind == 0:
            members.pop(name, None)
        elif name in ("shape", "strides") and kind < 4:
            members[name] = numbers(world)
        elif name == "typestr" and kind < 4:
            members[name] = text(world)
        else:
            members[name] = anything(world)
    kind = r.randrange(20)
    if kind == 0:
        world.spoil()
        return anything(world)
    return Members(world, members) if kind == 1 else members


class Acting:
    """A property of a type that acts, then returns a value or one of several."""

    def __init__(self, world, values, acts=True):
        self.world, self.values, self.acts, self.reads = world, values, acts, 0

    def __get__(self, producer, owner):
        if producer is None:
            raise AttributeError("only on objects")
        if self.acts:
            act(self.world, producer)
        value = self.values[min(self.reads, len(self.values) - 1)]
        self.reads += 1
        if isinstance(value, BaseException):
            self.world.raised.append(value)
            raise value
        return value


def new_type(world, members, bases=()):
    """A class of its own for the case, because cases change their types."""
    if world.random.random() < 0.1:
        members["__getattribute__"] = lambda self, name: (act(world, self), object.__getattribute__(self, name))[1]
    if world.random.random() < 0.1:
        members["__del__"] = lambda self: bi.buffer_interface(bytearray(4)).release()
    if world.random.random() < 0.1 and not bases:
        members["__slots__"] = ("__weakref__", "members", "world")
    return type("Hostile", bases, members)


def values_of(world, value):
    """The value at each read: mostly the same, sometimes another one, sometimes an exception."""
    r = world.random
    if r.random() < 0.9:
        return [value]
    world.spoil()
    return [value, r.choice([None, RuntimeError("later"), anything(world)])]


CUDA = {}


def cuda_address(world):
    if "array" not in CUDA:
        CUDA["array"] = bi.from_numpy(np.arange(24, dtype="<f4"), device="cuda")
        CUDA["address"] = CUDA["array"].cuda_array_interface(synchronize=True)["data"][0]
    world.is_cuda = True
    return CUDA["address"]


def array_members(world, address):
    shape, strides = world.random.choice([((24,), None), ((4, 6), None), ((4, 6), (24, 4)), ((), None), ((0, 3), None), ((6, 4), (4, 24))])
    members = {"shape": shape, "typestr": "<f4", "data": (address, world.random.random() < 0.5)}
    if strides or world.random.random() < 0.5:
        members["strides"] = strides
    return members


def make_array_interface(world):
    members = {**array_members(world, world.address), "version": 3}
    expected = dict(members)
    value = spoil_members(world, members, ["shape", "strides", "data", "typestr", "descr", "offset", "mask", "version"])
    producer = new_type(world, {"__array_interface__": Acting(world, values_of(world, value))})()
    return producer, expected


def make_cai(world):
    version = world.random.choice([0, 1, 2, 3, 3, 3])
    members = {**array_members(world, cuda_address(world)), "version": version}
    if version == 3:
        members["stream"] = world.random.choice([None, 1, 2])
    expected = dict(members)
    names = ["shape", "strides", "data", "typestr", "descr", "mask", "version", "stream"]
    value = spoil_members(world, members, names)
    made = {"__cuda_array_interface__": Acting(world, values_of(world, value))}
    if world.random.random() < 0.2:
        add_dlpack(world, made, dl.CUDA)
    return new_type(world, made)(), expected


class Tensor(dl.Tensor):
    """A tensor that may be wrong in each member. Its arrays are long enough for every number of dimensions."""

    def __init__(self, world, device, address):
        r = world.random
        super().__init__(address, (4, 6), (6, 1), (dl.FLOAT, 32, 1), (device, 0), versioned=r.random() < 0.7)
        self._shape = (ctypes.c_int64 * 80)(4, 6)
        self._strides = (ctypes.c_int64 * 80)(6, 1)
        self.tensor.shape, self.tensor.strides = self._shape, self._strides
        for _ in range(r.choice([0, 0, 1, 2])):
            world.spoil()
            self.spoil(world, r)

    def spoil(self, world, r):
        some = [value for value in NUMBERS if -(2**63) <= value < 2**63]
        kind = r.randrange(10)
        if kind == 0:
            self.tensor.ndim = r.choice([-1, 0, 1, 3, 64, 65, 70, 2**31 - 1])
        elif kind == 1:
            self._shape[r.randrange(2)] = r.choice(some)
        elif kind == 2:
            self._strides[r.randrange(2)] = r.choice(some)
        elif kind == 3:
            self.tensor.dtype = dl.Type(r.randrange(256), r.choice([0, 1, 4, 8, 16, 32, 64, 255]), r.choice([0, 1, 2, 65535]))
        elif kind == 4:
            self.tensor.device = dl.Device(r.choice([-1, 0, 1, 2, 3, 4, 7, 13, 14, 2**31 - 1]), r.choice([-1, 0, 1, 99]))
        elif kind == 5:
            self.tensor.byte_offset = r.choice([1, 4, 2**63, 2**64 - 1])
        elif kind == 6:
            self.tensor.data = r.choice([None, 1, self.tensor.data and self.tensor.data + 1, 2**64 - 8])
        elif kind == 7:
            self.tensor.strides = None
        elif kind == 8 and self.name == dl.VERSIONED:
            self.block.flags = r.choice([1, 2, 4, 7, 8, 2**63])
        elif kind == 9 and self.name == dl.VERSIONED:
            self.block.major, self.block.minor = r.choice([(0, 0), (1, 99), (2, 0), (2**32 - 1, 0)])


def add_dlpack(world, made, device):
    r = world.random
    address = cuda_address(world) if device == dl.CUDA else world.address
    tensor = Tensor(world, device, address)
    announced = (tensor.tensor.device.device_type, tensor.tensor.device.device_id)
    if r.random() < 0.15:
        world.spoil()
        announced = r.choice([(1, 0), (2, 0), (4, 0), (2, 7), (number(world), number(world)), anything(world)])
    knows = r.choice([("stream", "max_version"), ("stream", "max_version"), ("stream",), ()])
    wrong = anything(world) if r.random() < 0.1 else None
    if wrong is not None:
        world.spoil()

    def dlpack_device(self):
        act(world, self)
        return announced

    def dlpack(self, **keywords):
        act(world, self)
        if set(keywords) - set(knows):
            raise TypeError("unknown keyword")
        if wrong is not None:
            return wrong
        if r.random() < 0.05:
            world.spoil()
            return dl.plain_capsule(tensor.address, r.choice(NAMES))
        return hand_out(world, tensor)

    made["__dlpack__"], made["__dlpack_device__"] = dlpack, dlpack_device
    world.tensor = tensor
    return tensor


def hand_out(world, tensor):
    """The capsule of the tensor, once: who has it deletes the tensor."""
    if world.capsules:
        raise BufferError("handed out before")
    world.capsules.append(dl.plain_capsule(tensor.address, tensor.name))
    return world.capsules[0]


NAMES = [b"used_dltensor", b"used_dltensor_versioned", b"tensor", b"", b"dltensor_version"]


def make_dlpack(world):
    made = {}
    tensor = add_dlpack(world, made, world.random.choice([dl.CPU, dl.CPU, dl.CUDA]))
    expected = {"shape": (4, 6), "typestr": "<f4"}
    if world.random.random() < 0.2:
        return hand_out(world, tensor), expected
    return new_type(world, made)(), expected


def make_array_struct(world):
    r = world.random
    shape, strides = (ctypes.c_ssize_t * 80)(4, 6), (ctypes.c_ssize_t * 80)(24, 4)
    block = ArrayStruct(2, 2, b"f", 4, 0x701, shape, strides, world.address)
    for _ in range(r.choice([0, 1, 2])):
        world.spoil()
        kind = r.randrange(7)
        if kind == 0:
            block.nd = r.choice([-1, 0, 1, 64, 65, 70, 2**31 - 1, -(2**31)])
        elif kind == 1:
            block.itemsize = r.choice([-1, 0, 1, 3, 2**31 - 1])
        elif kind == 2:
            block.typekind = bytes([r.randrange(256)])
        elif kind == 3:
            block.flags = r.choice([0, 1, 2, 0x200, 0x400, 0xFF7, 0xFFF & ~0x800])
        elif kind == 4:
            shape[r.randrange(2)] = r.choice([-1, 0, 2**62, 2**63 - 1])
        elif kind == 5:
            strides[r.randrange(2)] = r.choice([-4, 0, 2**62, -(2**63)])
        else:
            block.two = r.choice([0, 3, -1])
    world.block = block, shape, strides
    capsule = dl.plain_capsule(ctypes.addressof(block), None)
    if r.random() < 0.1:
        world.spoil()
        capsule = anything(world)
    elif r.random() < 0.1:
        world.spoil()
        capsule = dl.plain_capsule(ctypes.addressof(block), b"named")
    return new_type(world, {"__array_struct__": Acting(world, values_of(world, capsule))})(), {"shape": (4, 6), "typestr": "<f4"}


def make_draft(world):
    r = world.random
    members = {"buffer": world.address, "offset": 0, "shape": (4, 6), "strides": None, "typestr": "<f4", "backend": "host"}
    if r.random() < 0.3:
        members["dtype"] = r.choice([np.dtype("<f4"), np.dtype("<f8"), np.dtype([("x", "<f4")]), "f4"])
        world.spoil()
    for _ in range(r.choice([0, 1, 1, 2])):
        world.spoil()
        name = r.choice([*members, "stream", "descr", "mask", "readonly", "dtype"])
        if name == "buffer":
            # An object with int_ptr counts as a cl_mem, which no driver can check.
            members[name] = r.choice([0, -1, 2**64, "x", None, 1.5, Index(world, world.address), (1,), b""])
        elif r.random() < 0.2:
            members.pop(name, None)
        else:
            members[name] = anything(world)
    made = {name: Acting(world, values_of(world, value), acts=r.random() < 0.3) for name, value in members.items()}
    # A changed buffer could be a host address that nobody can check, and it is not used here.
    return new_type(world, made)(), {"shape": (4, 6), "typestr": "<f4"}


def make_buffer(world):
    """Objects of types in C, because the buffer protocol of Python 3.11 is for those."""
    r = world.random
    kind = r.randrange(9)
    if kind == 0:
        made = bytearray(range(24))
    elif kind == 1:
        made = memoryview(world.memory).cast("B").cast(r.choice("bBhHiIlLqQfd?c@"[:-1]) if r.random() < 0.5 else "B")
    elif kind == 2:
        made = array.array(r.choice("bBuhHiIlLqQfd"), [])
    elif kind == 3:
        made = (ctypes.c_double * r.choice([0, 1, 5]))()
    elif kind == 4:
        field = type("Record", (ctypes.Structure,), {"_fields_": [("x", ctypes.c_int), ("y", ctypes.c_double * 2)]})
        made = (field * 2)()
    elif kind == 5:
        made = np.zeros((2, 3), r.choice(["<f4", ">i2", "O", "M8[ns]", "U3", "V5", [("a", "<i4"), ("b", "S3")], "c16", "?"]))
        if r.random() < 0.3:
            made = made.T[::-1]
    elif kind == 6:
        made = memoryview(bytearray(16))
        if r.random() < 0.5:
            made.release()
    elif kind == 7:
        made = hostile_subclass(world)
    else:
        return hostile_buffer(world), None
    return made, None


def hostile_subclass(world):
    kind = type("Sub", (np.ndarray,), {name: Acting(world, [anything(world)]) for name in world.random.sample(OF_NUMPY, 2)})
    return np.zeros((2, 3), "<f4").view(kind)


OF_NUMPY = ["__array_interface__", "__array_struct__", "mask", "dtype", "shape", "strides", "flags", "__dlpack__", "ctypes"]


class PyBuffer(ctypes.Structure):
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


GET = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(PyBuffer), ctypes.c_int)
GIVE = ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.POINTER(PyBuffer))
ctypes.pythonapi.Py_IncRef.argtypes = [ctypes.py_object]


class BufferSlots(ctypes.Structure):
    _fields_ = [("get", ctypes.c_void_p), ("give", ctypes.c_void_p)]


def act_in_silence(world, producer):
    """For functions that C calls: ctypes cannot hand their exceptions on."""
    count = len(world.raised)
    try:
        act(world, producer)
    except BaseException:  # noqa: BLE001
        del world.raised[count:]


@GET
def get_buffer(producer, buffer, flags):
    world, fields, given = producer.world, producer.fields, producer.given
    if world:
        act_in_silence(world, producer)
    ctypes.memmove(buffer, ctypes.addressof(fields), ctypes.sizeof(PyBuffer))
    buffer[0].obj = id(producer)
    ctypes.pythonapi.Py_IncRef(producer)
    given.append(1)
    return 0


@GIVE
def give_buffer(producer, buffer):
    producer.given.append(-1)


class Exporter:
    """An exporter whose buffer has the members of `fields`. The slots are set behind the back of Python 3.11."""

    def __init__(self, world, fields, keep):
        self.world, self.fields, self.keep, self.given = world, fields, keep, []

    __slots__ = ("world", "fields", "keep", "given", "__weakref__")


def set_buffer_slots(kind):
    """Finds the slots of the type by looking for those of bytearray in its struct."""
    words = ctypes.sizeof(ctypes.c_void_p)
    known = ctypes.cast(id(np.ndarray), ctypes.POINTER(ctypes.c_void_p))
    offset = TP_AS_BUFFER // words
    assert known[offset]
    slots = BufferSlots.from_address(ctypes.cast(id(kind), ctypes.POINTER(ctypes.c_void_p))[offset])
    slots.get = ctypes.cast(get_buffer, ctypes.c_void_p).value
    slots.give = ctypes.cast(give_buffer, ctypes.c_void_p).value


TP_AS_BUFFER = object.__basicsize__ + 144  # offset of tp_as_buffer in PyTypeObject, in all versions from 3.8 on
set_buffer_slots(Exporter)


def hostile_buffer(world):
    r = world.random
    shape, strides = (ctypes.c_ssize_t * 80)(4, 6), (ctypes.c_ssize_t * 80)(24, 4)
    subs = (ctypes.c_ssize_t * 80)(*[-1] * 80)
    fields = PyBuffer(world.address, None, 96, 4, 0, 2, b"f", shape, strides, None, None)
    for _ in range(r.choice([0, 1, 2])):
        kind = r.randrange(9)
        if kind == 0:
            fields.ndim = r.choice([-1, 0, 1, 64, 65, 2**31 - 1])
        elif kind == 1:
            fields.itemsize = r.choice([-1, 0, 1, 8, 2**62])
        elif kind == 2:
            fields.format = r.choice([None, b"", b"<f", b">f", b"2h", b"T{f:x:i:y:}", b"T{", b"(2,3)f", b"O", b"x", b"99999999999999999999f", b"Zd", b"\xff"])
        elif kind == 3:
            shape[r.randrange(2)] = r.choice([-1, 0, 5, 2**62])
        elif kind == 4:
            strides[r.randrange(2)] = r.choice([-4, 0, 2**62, -(2**63)])
        elif kind == 5:
            fields.shape = None
        elif kind == 6:
            fields.strides = None
        elif kind == 7:
            fields.suboffsets = subs
            subs[r.randrange(2)] = r.choice([-1, 0, 8])
        else:
            fields.len = r.choice([0, -1, 1, 95, 97, 2**62])
    return Exporter(world, fields, (shape, strides, subs))


@RELEASE
def release_exchange(block):
    block[0].release = None
    RELEASED.append(1)


RELEASED, ACQUIRED = [], []


def fill_exchange(world):
    def fill(producer, wishes, out):
        act_in_silence(world, producer)
        ctypes.memmove(out, ctypes.addressof(world.exchange), ctypes.sizeof(Exchange))
        ACQUIRED.append(1)
        return 0

    return fill


def make_native(world):
    r = world.random
    shape, strides = (ctypes.c_int64 * 80)(4, 6), (ctypes.c_int64 * 80)(24, 4)
    block = Exchange(
        version=VERSION, struct_size=ctypes.sizeof(Exchange), release=ctypes.cast(release_exchange, ctypes.c_void_p),
        device_type=1, handle_kind=1, flags=0, handle=world.address, offset=0, size=96, type_code=2, type_bits=32,
        type_lanes=1, item_size=4, ndim=2, shape=shape, strides=strides,
    )  # fmt: skip
    some = [value for value in NUMBERS if 0 <= value < 2**32]
    names = ["version", "struct_size", "device_type", "device_id", "handle_kind", "flags", "offset", "size", "type_code",
             "type_bits", "type_lanes", "item_size", "ndim", "order_kind", "reserved"]  # fmt: skip
    for _ in range(r.choice([0, 1, 1, 2])):
        world.spoil()
        name = r.choice(names)
        # A cl_mem that is none crashes the driver, as abi.h says; so kinds other than the host's have no handle here.
        if name == "handle_kind":
            block.handle_kind, block.handle = r.choice([0, 2, 3, 4, 5, 99, 2**31]), 0
        else:
            setattr(block, name, r.choice(some) & 0x7F if name.startswith("type_") else r.choice(some) & 0x7FFFFFFF)
        if r.random() < 0.3:
            shape[r.randrange(2)] = r.choice([-1, 0, 2**62])
        if r.random() < 0.3:
            strides[r.randrange(2)] = r.choice([-4, 0, 2**62, -(2**63)])
    fill = FILL(fill_exchange(world))
    table = Table(r.choice([VERSION, VERSION, VERSION, 0x20000]), ctypes.sizeof(Table), fill)
    world.exchange, world.table = block, (table, fill, shape, strides)
    name = NATIVE if r.random() < 0.95 else b"other"
    capsule = dl.plain_capsule(ctypes.addressof(table), name)
    if r.random() < 0.1:
        world.spoil()
        capsule = anything(world)
    # The table lives as long as the type, as the header demands.
    return new_type(world, {"__buffer_interface_c__": capsule, "kept": world.table})(), {"shape": (4, 6), "typestr": "<f4"}


NATIVE = b"buffer_interface.c_api"


def make_anything(world):
    world.spoil()
    return anything(world), None


MAKERS = [
    make_array_interface, make_cai, make_dlpack, make_array_struct, make_draft, make_buffer, make_native, make_anything,
]  # fmt: skip


def is_right(world, view, expected):
    """The view of a description that was not spoiled has its elements."""
    if world.is_spoiled or expected is None or world.is_cuda:
        return
    shape = expected["shape"]
    assert view.shape == shape and view.typestr == expected["typestr"], (view, expected)
    if "data" in expected:
        assert view.host_pointer == expected["data"][0] or not view.size
    if view.size:
        got = np.asarray(view)
        whole = np.arange(24, dtype="<f4")
        strides = expected.get("strides")
        wanted = whole.reshape(shape, order="F" if strides == (4, 24) else "C") if shape else whole[0]
        assert (got == wanted).all(), (got, wanted)


def look_at(view):
    """What of a view can be read without touching its bytes."""
    view.shape, view.strides, view.typestr, view.ndim, view.size, view.nbytes, view.device, view.backend  # noqa: B018


def judge(world, error):
    """The class is documented, or the object raised it."""
    if any(error is raised for raised in world.raised):
        return
    chain = []
    while error is not None and len(chain) < 20:
        chain.append(error)
        error = error.__cause__ or error.__context__
    for raised in world.raised:
        assert not isinstance(raised, UNTOUCHABLE), f"{raised!r} became {chain[0]!r}"
    allowed = (*DOCUMENTED, *{type(raised) for raised in world.raised})
    assert isinstance(chain[0], allowed) and not isinstance(chain[0], SystemError), chain


def import_once(world, producer, expected):
    options = dict(world.random.choice(OPTIONS)) if world.random.random() < 0.3 else {}
    try:
        view = bi.buffer_interface(producer, **options)
    except BaseException as error:  # noqa: BLE001
        judge(world, error)
        error.__traceback__ = None
        return
    # DLPack may describe what the dictionary of CUDA arrays cannot [C14].
    may_fail = (*ANSWERS, Exception) if hasattr(type(producer), "__dlpack__") else ANSWERS
    for raised in world.raised:
        assert isinstance(raised, may_fail) or world.depth or world.held, f"{raised!r} was lost"
    look_at(view)
    if not options:
        is_right(world, view, expected)
    view.release()


def check_tensor(number, tensor, capsules):
    """The deleter was called once if the capsule was taken. Otherwise the tensor is still the producer's."""
    is_taken = any(dl.capsule_name(capsule).startswith(b"used_") for capsule in capsules)
    assert tensor.deleted == is_taken, f"case {number}: {tensor.deleted} deletions, taken: {is_taken}"
    dl.Tensor._live.pop(tensor.address, None)


def run_case(number):
    world = World(number)
    producer, expected = world.random.choice(MAKERS)(world)
    import_once(world, producer, expected)
    world.is_over = True
    for thread in world.threads:
        thread.join()
    for held in world.held:
        if isinstance(held, bi.BufferInterface):
            held.release()
    # The exceptions keep the producer, and the class keeps them by the world. CPython 3.13 without a GIL may never free
    # the class.
    world.raised.clear()
    given = producer.given if type(producer) is Exporter else []
    try:
        ref = None if isinstance(producer, type) else weakref.ref(producer)
    except TypeError:
        ref = None
    return number, ref, given, world.tensor, world.capsules


def check_gone(alive):
    CUDA.clear()
    conftest.collect()  # closes the contexts, which waits for the memory that is released behind pending work
    gc.collect()
    left = []
    for number, ref, given, tensor, capsules in alive:
        if (ref and ref() is not None) or sum(given):
            left.append(number)
        if tensor:
            check_tensor(number, tensor, capsules)
    assert not left, f"the objects of the cases {left[:10]} are still alive"
    assert len(RELEASED) == len(ACQUIRED), (len(RELEASED), len(ACQUIRED))


def run(seed, count, say=None):
    blocks = []
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(250)
    try:
        for first in range(seed, seed + count, BATCH):
            faulthandler.dump_traceback_later(SECONDS_PER_BATCH, exit=True)
            alive = []
            for number in range(first, min(first + BATCH, seed + count)):
                try:
                    alive.append(run_case(number))
                except BaseException as error:
                    raise AssertionError(f"case {number}") from error
            check_gone(alive)
            blocks.append(sys.getallocatedblocks())
            if say and len(blocks) % 20 == 0:
                say(first + BATCH - seed, blocks[-1])
    finally:
        faulthandler.cancel_dump_traceback_later()
        sys.setrecursionlimit(limit)
        CUDA.clear()
    return blocks


@pytest.mark.filterwarnings("ignore")
def test_hostile_objects(cuda):
    """The same cases again and again: nothing stays allocated. The first rounds fill caches."""
    blocks = [run(0, CASES_IN_THE_SUITE)[-1] for _ in range(ROUNDS_IN_THE_SUITE)]
    is_class_immortal = sys.getrefcount(type("Class", (), {})) > 1 << 30
    assert is_class_immortal or min(after - before for before, after in zip(blocks[1:], blocks[2:])) < 10, blocks


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4


if __name__ == "__main__":
    run(int(sys.argv[1]), int(sys.argv[2]), lambda done, blocks: print(done, blocks, resident(), "KiB", flush=True))
    print("done")


def test_a_dictionary_without_data_needs_a_buffer():
    class Producer:
        __array_interface__ = {"shape": (1,), "typestr": "<f4", "version": 3}  # noqa: RUF012

    with pytest.raises(KeyError, match="no 'data'.*Producer has no buffer"):
        bi.buffer_interface(Producer())
