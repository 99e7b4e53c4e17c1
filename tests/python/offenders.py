"""Producers for the tests of the checker: right ones, and for each rule one that breaks it.

`PLANTED[rule]` is a factory. `RIGHT[protocol]` is the same producer without a defect.
"""

import atexit
import ctypes
import functools
import mmap
import pathlib
import sys
import threading

import numpy as np

import dlpack_structs as dl
from peers import compiled
import buffer_interface as package
from buffer_interface.check import consumers, cuda, layout, opencl, structs
from buffer_interface.check.judge import elements

ITEMS = 6
KEPT = []  # memory of producers that are gone, so that a late look at it does not crash


class Memory:
    """Six int32. At its end the numbers change, so that a look at them afterwards is noticed."""

    def __init__(self, readonly=False):
        self.numbers = (ctypes.c_int32 * ITEMS)(*range(ITEMS))
        self.address = ctypes.addressof(self.numbers)
        KEPT.append(self.numbers)

    def __del__(self):
        for i in range(len(self.numbers)):  # a global variable may be None at the end of the process
            self.numbers[i] = -1


# Dictionaries

DICT = {"shape": (2, 3), "typestr": "<i4", "version": 3, "strides": None}


class Dictionary:
    """`defect` is a function that changes the dictionary, given the object and the number of the look."""

    def __init__(self, defect=None):
        self.memory, self.defect, self.looks = Memory(), defect, 0

    def made(self):
        self.looks += 1
        said = {**DICT, "data": (self.memory.address, False)}
        changed = self.defect(self, said) if self.defect else None
        return said if changed is None else changed

    @property
    def __array_interface__(self):
        return self.made()


class Device(Dictionary):
    __array_interface__ = None

    def __init__(self, defect=None):
        super().__init__(defect)

    def __getattribute__(self, name):
        if name == "__array_interface__":
            raise AttributeError(name)
        return super().__getattribute__(name)

    @property
    def __cuda_array_interface__(self):
        return self.made()


def put(**members):
    return lambda array, said: said.update(members)


def raise_value_error(array, said):
    raise ValueError("mine")


def point_to_garbage(array, said):
    """The memory belongs to a cycle, which the next collection ends."""
    cycle = [Memory()]
    cycle.append(cycle)
    said["data"] = (cycle[0].address, False)


def other_shape(array, said):
    if array.looks % 2:
        said["shape"] = (3, 2)


DICTIONARIES = {
    "dict": lambda array, said: [1],
    "version": put(version="3"),
    "shape": put(shape=[2, 3]),
    "typestr": put(typestr="i4"),
    "descr": put(descr=[("a", "<i2")]),
    "strides": put(strides=(4,)),
    "mask": put(mask=7),
    "again": other_shape,
    "error": raise_value_error,
}


class Struct(Dictionary):
    """Also has __array_struct__."""

    def __init__(self, **members):
        super().__init__()
        self.members = members

    @property
    def __array_struct__(self):
        self.numbers = (ctypes.c_ssize_t * 2)(2, 3), (ctypes.c_ssize_t * 2)(12, 4)
        self.raw = structs.ArrayStruct(two=2, nd=2, typekind=b"i", itemsize=4, flags=0x701, data=self.memory.address)
        self.raw.shape, self.raw.strides = self.numbers
        for name, value in self.members.items():
            setattr(self.raw, name, value)
        return dl.plain_capsule(ctypes.addressof(self.raw), None)


# Buffers: a type of Python whose bf_getbuffer is replaced

GETBUFFER = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(structs.PyBuffer), ctypes.c_int)
AS_BUFFER = object.__basicsize__ + 144  # offset of tp_as_buffer in a type of 64-bit Python
incref = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))


def buffer_type(defect):
    """A type whose buffers are those of a bytearray of six int32, changed by `defect(view, flags, array)`."""

    class Buffer:
        def __init__(self):
            self.memory, self.takes = Memory(), 0
            self.shape, self.strides = (ctypes.c_ssize_t * 2)(ITEMS, 9), (ctypes.c_ssize_t * 1)(4)

    def getbuffer(array, view, flags):
        array.takes += 1
        v = view.contents
        v.buf, v.len, v.itemsize, v.readonly, v.ndim = array.memory.address, 4 * ITEMS, 4, 0, 1
        v.format = b"i" if flags & 4 else None
        v.shape = array.shape if flags & 8 else None
        v.strides = array.strides if flags & 0x18 == 0x18 else None
        v.suboffsets, v.internal, v.obj = None, None, id(array)
        incref(array)
        if defect:
            defect(v, flags, array)
        return 0

    Buffer.function = GETBUFFER(getbuffer)
    procs = ctypes.c_void_p.from_address(id(Buffer) + AS_BUFFER).value
    ctypes.c_void_p.from_address(procs).value = ctypes.cast(Buffer.function, ctypes.c_void_p).value
    KEPT.append(Buffer)
    return Buffer


def edit(**members):
    def defect(view, flags, array):
        for name, value in members.items():
            setattr(view, name, value)

    return defect


def when(mask, **members):
    def defect(view, flags, array):
        if flags & mask:
            edit(**members)(view, flags, array)

    return defect


def unless(mask, **members):
    def defect(view, flags, array):
        if not flags & mask:
            edit(**members)(view, flags, array)

    return defect


def take_strided(view, flags, array):
    array.strides[0] = 8
    array.shape[0], view.len = 3, 12


def leak(view, flags, array):
    incref(array)


def leak_elsewhere(view, flags, array):
    if threading.current_thread() is not threading.main_thread():
        incref(array)


def move(view, flags, array):
    if array.takes == 2:
        view.buf += 4


def borrow(view, flags, array):
    """Names an object that does not keep the memory."""
    other = KEPT[0]
    incref(other)
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(array))
    view.obj = id(other)


BUFFERS = {
    "buffer.obj": edit(obj=None),
    "buffer.len": edit(len=20),
    "buffer.shape": when(8, shape=None),
    "buffer.strides": when(0x10, strides=None),
    "buffer.suboffsets": edit(suboffsets=(ctypes.c_ssize_t * 1)(-1)),
    "buffer.format": edit(format=b"i"),
    "buffer.itemsize": when(4, format=b"d"),
    "buffer.writable": when(1, readonly=1),
    "buffer.contiguous": take_strided,
    "buffer.memory": edit(buf=4096),
    "buffer.again": move,
    "buffer.release": leak,
    "buffer.lifetime": borrow,
    "buffer.threads": leak_elsewhere,
}


# DLPack


class Tensors:
    """`edit(tensor, array)` changes a tensor of dlpack_structs; `capsule(tensor)` makes a capsule in another way."""

    device = (1, 0)

    def __init__(self, edit=None, capsule=None, device=(1, 0), keeps=True, accepts=("copy", "dl_device"), version=None):
        self.memory, self.edit, self.capsule = Memory(), edit, capsule
        self.device, self.keeps, self.accepts, self.version, self.exports = device, keeps, accepts, version, 0

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device is not None and "dl_device" not in self.accepts:
            raise TypeError("dl_device is not known")
        self.exports += 1
        memory = self.memory
        if copy and "copy" in self.accepts or (copy is False and "always" in self.accepts):
            memory = Memory()
        versioned = max_version is not None if self.version is None else self.version
        owner = (self if self.keeps else None, memory if self.keeps else None)
        tensor = dl.Tensor(memory.address, (2, 3), (3, 1), (0, 32, 1), (1, 0), versioned=versioned, owner=owner)
        if self.edit:
            self.edit(tensor, self)
        return self.capsule(tensor) if self.capsule else tensor.capsule()


def tensor_members(**members):
    def edit(tensor, array):
        for name, value in members.items():
            setattr(tensor.tensor if hasattr(tensor.tensor, name) else tensor.block, name, value)

    return edit


def keep_forever(tensor, array):
    KEPT.append(tensor.owner)


def keep_if_elsewhere(tensor, array):
    """A deleter that fails on another thread keeps the object."""

    class Owner:
        def __init__(self, owner):
            self.owner = owner

        def __del__(self):
            if threading.current_thread() is not threading.main_thread():
                KEPT.append(self.owner)

    tensor.owner = Owner(tensor.owner)


def shift(tensor, array):
    if array.exports > 2:
        tensor.tensor.byte_offset = 4
        tensor.tensor.shape[0] = 1


@dl.DELETER
def delete_often(address):
    tensor = dl.Tensor._live.pop(address, None)
    if tensor:
        tensor.owner = None


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def always_delete(capsule):
    for name in (b"dltensor_versioned", b"used_dltensor_versioned", b"dltensor", b"used_dltensor"):
        if structs.dying_is_valid(capsule, name):
            kind = dl.ManagedVersioned if b"versioned" in name else dl.Managed
            dl.call_deleter(kind.from_address(structs.dying_pointer(capsule, name)))


def capsule_that_always_deletes(tensor):
    KEPT.append(tensor)  # a second call finds the block
    tensor.block.deleter = ctypes.cast(delete_often, ctypes.c_void_p)
    return structs.new_capsule(tensor.address, tensor.name, ctypes.cast(always_delete, ctypes.c_void_p))


def strides_null(tensor, array):
    tensor.tensor.strides = None


class ReadOnly(Tensors):
    @property
    def __array_interface__(self):
        return {**DICT, "data": (self.memory.address, True)}


class OtherShape(Tensors):
    @property
    def __array_interface__(self):
        return {**DICT, "shape": (3, 2), "data": (self.memory.address, False)}


TENSORS = {
    "dlpack.device": lambda: Tensors(device=[1, 0]),
    "dlpack.capsule": lambda: Tensors(version=True),
    "dlpack.version": lambda: Tensors(tensor_members(major=2)),
    "dlpack.unused": lambda: Tensors(capsule=lambda tensor: dl.plain_capsule(tensor.address, tensor.name)),
    "dlpack.used": lambda: Tensors(capsule=capsule_that_always_deletes),
    "dlpack.deleter": lambda: Tensors(keep_forever),
    "dlpack.thread": lambda: Tensors(keep_if_elsewhere),
    "dlpack.lifetime": lambda: Tensors(keeps=False),
    "dlpack.copy": lambda: Tensors(accepts=("dl_device",)),
    "dlpack.no-copy": lambda: Tensors(accepts=("dl_device", "copy", "always")),
    "dlpack.dl-device": lambda: Tensors(accepts=("copy",)),
    "dlpack.shape": lambda: Tensors(tensor_members(ndim=-1)),
    "dlpack.strides": lambda: Tensors(strides_null),
    "dlpack.type": lambda: Tensors(tensor_members(dtype=dl.Type(2, 7, 1))),
    "dlpack.flags": lambda: Tensors(tensor_members(flags=64)),
    "dlpack.readonly": lambda: ReadOnly(),
    "dlpack.memory": lambda: Tensors(tensor_members(data=4096)),
    "dlpack.again": lambda: Tensors(shift),
    "all.agree": lambda: OtherShape(),
}


TABLE_NAME = b"dlpack_exchange_api"


class BadTable(Tensors):
    table = structs.DLTable(2, 0)
    __dlpack_c_exchange_api__ = dl.plain_capsule(ctypes.addressof(table), TABLE_NAME)


TENSORS["dlpack.table"] = BadTable


class WrongTable(Tensors):
    """The table's tensor has another shape."""

    @staticmethod
    @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
    def give(array, out):
        tensor = dl.Tensor(array.memory.address, (1, 3), (3, 1), (0, 32, 1), (1, 0), owner=array)
        out[0] = tensor.address
        return 0

    _at = ctypes.cast(give.__func__, ctypes.c_void_p).value
    table = structs.DLTable(1, 3, None, _at, _at, _at, None, _at)
    __dlpack_c_exchange_api__ = dl.plain_capsule(ctypes.addressof(table), TABLE_NAME)


TENSORS["dlpack.table-agrees"] = WrongTable

# The BufferInterface


@structs.RELEASE
def release(address):
    exchange = structs.Exchange.from_address(address)
    exchange.release = None
    LIVE.pop(exchange.owner)


@structs.RELEASE
def release_and_stay(address):
    LIVE.pop(structs.Exchange.from_address(address).owner)


@structs.RELEASE
def release_nothing(address):
    structs.Exchange.from_address(address).release = None


@structs.RELEASE
def release_all(address):
    exchange = structs.Exchange.from_address(address)
    LIVE.pop(exchange.owner)
    exchange.release = None
    for other in LAST:
        structs.Exchange.from_address(other).release = None


@structs.RELEASE
def release_first_place(address):
    """Writes to the place that acquire filled, wherever the structure is now."""
    exchange = structs.Exchange.from_address(address)
    place = LIVE.pop(exchange.owner)[3]
    structs.Exchange.from_address(place).release = None


@structs.RELEASE
def release_before_the_end(address, abort=ctypes.CDLL(None).abort, is_late=sys.is_finalizing):
    if is_late():
        abort()
    release(address)


LIVE, LAST = {}, []
TEXTS = {text: ctypes.create_string_buffer(text) for text in (b"no JSON", b'[["a", "<i2"]]')}


def address_of(function):
    return ctypes.cast(function, ctypes.c_void_p).value


class Exchanges:
    """`edit(exchange, array, wishes)` changes a structure that was filled; a number that it returns is the result."""

    def __init__(self, edit=None, refuses=True, keeps=True):
        self.memory, self.edit, self.refuses, self.keeps, self.acquired = Memory(), edit, refuses, keeps, 0
        self.shape, self.strides = (ctypes.c_int64 * 65)(2, 3), (ctypes.c_int64 * 65)(12, 4)

    def refuse(self, x, wishes):
        is_known = x.version == structs.VERSION and structs.EXCHANGE_SIZE <= x.struct_size <= 4096
        if self.refuses and (not is_known or wishes & 0xFFFE):
            raise BufferError("refused")

    def fill(self, out, wishes):
        x = structs.Exchange.from_address(out)
        self.refuse(x, wishes)
        ctypes.memset(out + 8, 0, max(x.struct_size, structs.EXCHANGE_SIZE) - 8)
        self.acquired += 1
        key = id(self) + self.acquired
        LIVE[key] = (self if self.keeps else None, self.shape, self.strides, out)
        x.version, x.owner, x.release = structs.VERSION, key, address_of(release)
        x.shape, x.strides = ctypes.addressof(self.shape), ctypes.addressof(self.strides)
        x.handle, x.size, x.flags, x.device_type, x.item_size = self.memory.address, 24, structs.C_CONTIGUOUS, 1, 4
        x.type_bits, x.type_lanes, x.ndim, x.handle_kind = 32, 1, 2, 1
        result = self.edit(x, self, wishes) if self.edit else None
        return result or 0


@functools.cache
def exchange_type(name=b"buffer_interface.c_api", version=structs.VERSION, size=ctypes.sizeof(structs.Table), base=Exchanges):
    """A type whose capsule has this name and table."""
    table = structs.Table(version, size, compiled.acquire())
    KEPT.append(table)
    return type("Exchanges", (base,), {"__buffer_interface_c__": dl.plain_capsule(ctypes.addressof(table), name)})


def members(**values):
    def edit(x, array, wishes):
        for name, value in values.items():
            setattr(x, name, value)

    return edit


def described(text, **values):
    return members(type_code=3, type_bits=8, type_lanes=4, descr=ctypes.addressof(TEXTS[text]), **values)


def numbers(shape, strides):
    def edit(x, array, wishes):
        array.shape[:2], array.strides[:2] = shape, strides
        x.flags = 0

    return edit


def write_behind(x, array, wishes):
    ctypes.memset(ctypes.addressof(x) + structs.EXCHANGE_SIZE, 7, 8)


def change_shape(x, array, wishes):
    if array.acquired == 2:
        array.shape[0] = 1


def release_others(x, array, wishes):
    LAST[:] = [*LAST[-3:], ctypes.addressof(x)]
    x.release = address_of(release_all)


def copy_each_time(x, array, wishes):
    x.handle = Memory().address


def leave_children_out(x, array, wishes):
    """The memory is not there in a forked child."""
    if not hasattr(array, "pages"):
        array.pages = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        array.pages.madvise(mmap.MADV_DONTFORK)
        KEPT.append(ctypes.c_char.from_buffer(array.pages))
        array.address = ctypes.addressof(KEPT[-1])
    x.handle = array.address


def fail_silently(x, array, wishes):
    LIVE.pop(x.owner)
    x.release = None
    return -1


def fail_on_threads(x, array, wishes):
    if threading.current_thread() is not threading.main_thread():
        LIVE.pop(x.owner)
        x.release = None
        raise BufferError("only on the main thread")


def refuse_promises(x, array, wishes):
    if wishes & 1 << 30:
        LIVE.pop(x.owner)
        x.release = None
        raise BufferError("promise")


def move_if_borrowed(x, array, wishes):
    if wishes & structs.BORROW:
        x.offset, x.size = 4, 28


def pending_though_ready(x, array, wishes):
    x.order_kind, x.stream = 3, 8


class Described(Exchanges):
    """Also has the method of section 2."""

    is_released = False

    def __buffer_interface__(self, flags=0, /):
        return View(self)

    def refuse(self, x, wishes):
        super().refuse(x, wishes)
        if self.is_released:
            raise Released("released")


class Released(BufferError, ValueError):
    pass


class View:
    """The object that __buffer_interface__ returns."""

    buffer_interface_version = structs.VERSION
    buffer, offset, typestr, shape, strides, ndim, itemsize = 0, 0, "<i4", (2, 3), (12, 4), 2, 4

    def __init__(self, array):
        self._array = array

    def release(self):
        self._array.is_released = True


def view_with(**values):
    """A factory of an array whose description has other members."""
    other = type("View", (View,), {name: value for name, value in values.items() if value is not None})
    base = type("Base", (Described,), {"__buffer_interface__": lambda self, flags=0: other(self)})
    return exchange_type(base=base)


class OtherOrder(Exchanges):
    """The dictionary says what the structure does not."""

    @property
    def __array_interface__(self):
        return {**DICT, "typestr": f"{layout.OTHER}i4", "data": (self.memory.address, False)}


class NeverReleased(Described):
    def refuse(self, x, wishes):
        pass


def planted(edit, **arguments):
    return lambda: exchange_type()(edit, **arguments)


def _exchanges():
    return {
        "B-1": view_with(typestr=7, shape=[2, 3]),
        "B-2": exchange_type(base=type("Base", (Exchanges,), {"__buffer_interface__": 7})),
        "B-3": view_with(buffer_interface_version=7),
        "B-4": view_with(ndim=3),
        "B-5": exchange_type(base=NeverReleased),
        "B-7": planted(None, refuses=False),
        "B-8": planted(write_behind),
        "B-9": planted(members(version=9)),
        "B-11": planted(members(reserved=1)),
        "B-12": planted(change_shape),
        "B-13": planted(members(release=address_of(release_first_place))),
        "B-14": planted(members(ndim=65)),
        "B-15": planted(numbers((-2, 3), (12, 4))),
        "B-16": planted(numbers((2**62, 2), (2**40, 4))),
        "B-17": planted(members(size=8)),
        "B-18": planted(members(flags=structs.F_CONTIGUOUS)),
        "B-19": planted(members(handle=4096)),
        "B-21": planted(members(device_type=2)),
        "B-23": planted(members(device_id=-1)),
        "B-24": exchange_type(base=OtherOrder),
        "B-25": planted(members(type_code=2, type_bits=24)),
        "B-26": planted(members(type_code=3)),
        "B-27": planted(members(item_size=3)),
        "B-28": planted(described(b"no JSON")),
        "B-29": planted(described(b'[["a", "<i2"]]')),
        "B-32": planted(members(stream=8)),
        "B-38": planted(pending_though_ready),
        "B-39": planted(members(release=address_of(release_and_stay))),
        "B-42": planted(leave_children_out),
        "B-43": planted(release_others),
        "B-44": exchange_type(name=b"another"),
        "B-45": exchange_type(version=9),
        "B-46": planted(fail_silently),
        "B-47": planted(copy_each_time),
        "B-48": planted(refuse_promises),
        "B-49": planted(move_if_borrowed),
        "B-50": view_with(mask=View),
        "B-51": planted(members(release=address_of(release_nothing))),
        # The last one: it ends the process.
        "B-41": planted(members(release=address_of(release_before_the_end))),
    }


EXCHANGES = _exchanges()
RIGHT = {
    "array": lambda: Struct(),
    "buffer": buffer_type(None),
    "cai": lambda: Device(),
    "dlpack": lambda: Tensors(),
    "buffer-interface": lambda: exchange_type(base=Described)(),
}
PLANTED = {
    **{f"array.{name}": lambda defect=defect: Dictionary(defect) for name, defect in DICTIONARIES.items()},
    "array.data": lambda: Dictionary(put(data=(1,))),
    "array.memory": lambda: Dictionary(put(data=(4096, False))),
    "array.lifetime": lambda: Dictionary(point_to_garbage),
    "array.struct": lambda: Struct(two=3),
    "array.struct-agrees": lambda: Struct(itemsize=8),
    "array.struct-flags": lambda: Struct(flags=0x702),
    **{rule: buffer_type(defect) for rule, defect in BUFFERS.items()},
    **{f"cai.{name}": lambda defect=defect: Device(defect) for name, defect in DICTIONARIES.items()},
    "cai.data": lambda: Device(put(data=(0, False))),
    "cai.empty": lambda: Device(put(shape=(0, 3))),
    "cai.stream": lambda: Device(put(stream=0)),
    **TENSORS,
    **EXCHANGES,
}


def protocol_of(rule):
    return "buffer-interface" if rule.startswith("B-") else "dlpack" if rule == "all.agree" else rule.split(".")[0]


def _factory(protocol):
    """A factory of all offenders of a protocol, by the name of the rule, and of the right producer."""
    made = {rule: make for rule, make in PLANTED.items() if protocol_of(rule) == protocol}

    def factory():
        return {"right": RIGHT[protocol](), **{rule: make() for rule, make in made.items()}}

    return factory


array, buffer, cai, dlpack = map(_factory, ("array", "buffer", "cai", "dlpack"))
buffer_interface = _factory("buffer-interface")


def independent():
    """The producer of examples/independent."""
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples/independent"))
    import producer

    return {name: producer.Array(name) for name, (_, is_pending, *_) in producer.KINDS.items() if not is_pending}


# Producers for the command itself


def raises():
    raise LookupError("mine")


def hangs():
    while True:
        pass


def crashes():
    ctypes.string_at(8)


def returns_a_number():
    return 7


class Hanging(Tensors):
    def __dlpack__(self, **arguments):
        hangs()


class Crashing(Tensors):
    def __dlpack__(self, **arguments):
        crashes()


class OtherRaises(Tensors):
    @property
    def __array_interface__(self):
        raise RuntimeError("mine")

    __cuda_array_interface__ = __array_interface__


def troubles():
    return {"hangs": Hanging(), "crashes": Crashing(), "other": OtherRaises(), "right": Tensors()}


class DescrNone(Dictionary, Tensors):
    """Right: the dictionary has the key `descr` with the value None."""

    def __init__(self):
        Tensors.__init__(self)
        self.defect, self.looks = put(descr=None), 0


def beside_each_other():
    """Arrays of which two protocols are compared, or would be if the format of the buffer named a type."""
    formats = {"no letter": b"<", "not UTF-8": b"\xff"}
    return {"descr None": DescrNone(), **{name: buffer_type(when(4, format=format))() for name, format in formats.items()}}


def right():
    return Tensors()


def ending():
    return Ending()


class Ending(Tensors):
    """Crashes the process after the check."""

    def __init__(self):
        super().__init__()
        atexit.register(crashes)


def returns_bad():
    return Tensors(tensor_members(flags=64))


# Consumers


def taken(array):
    return package.buffer_interface(array).numpy()


def wrong_for_other_types(array):
    numbers = taken(array)
    return numbers if numbers.itemsize == 4 else 0 * numbers + 99


def refuses_other_types(array):
    numbers = taken(array)
    if numbers.itemsize != 4:
        raise TypeError("not int32")
    return numbers


def refuses_all(array):
    raise ValueError("no")


def numberless(array):
    return "text"


def of_dlpack(array):
    return package.from_dlpack(array).numpy()


def crashes_first(array):
    ctypes.string_at(0)


def crashes_later(array, calls=[]):
    calls.append(array)
    return [0] if len(calls) == 1 else ctypes.string_at(0)


def wrong_elements(array):
    taken(array)
    return [7]


def takes_everything(array):
    try:
        return taken(array)
    except Exception:
        return [7]


def never_releases(array):
    KEPT.append(taken(array))
    return KEPT[-1].tolist()


class Late:
    """Reads the elements whenever it is asked, and keeps the array for the first time only."""

    def __init__(self, view):
        self.view = view
        self.look = int(view.buffer), view.shape, view.strides, 4
        self.dense = view.numpy().shape

    def tolist(self):
        bytes_of = elements(*self.look)
        self.view = None
        return np.frombuffer(b"".join(bytes_of), "i4").reshape(self.dense).tolist()


def refuses_handle_0(array):
    if isinstance(array, consumers.ExchangeType) and array.case.members.get("handle") == 0:
        raise BufferError("the handle is 0")
    return taken(array)


def ignores_descr(array):
    if isinstance(array, consumers.ExchangeType) and array.case.rule == "swapped":
        array.case.members = {}
    return taken(array)


def reads_late(array):
    return Late(package.buffer_interface(array))


def writes(array):
    view = package.buffer_interface(array)
    found = view.numpy().tolist()
    if view.size:
        ctypes.memset(int(view.buffer), 7, 4)
    return found


def reads_at_once(array):
    """Reads a cl_mem on a queue of its own."""
    if not isinstance(array, consumers.ExchangeType) or array.case.members.get("handle_kind") != 3:
        return taken(array)
    said, cl, numbers = array.case.members, opencl.library(), (ctypes.c_int32 * 24)()
    device = opencl.ask("clGetCommandQueueInfo", said["stream"], opencl.DEVICE_OF_QUEUE, ctypes.c_void_p)
    queue = cl.clCreateCommandQueue(*map(ctypes.c_void_p, (said["context"], device)), ctypes.c_uint64(0), None)
    where = ctypes.c_void_p(queue), ctypes.c_void_p(said["handle"]), ctypes.c_uint32(1), ctypes.c_size_t(0)
    cl.clEnqueueReadBuffer(*where, ctypes.c_size_t(96), numbers, 0, None, None)
    return list(numbers)


CONSUMERS = {
    "takes": wrong_elements,
    "odd": wrong_elements,
    "illegal": takes_everything,
    "released": never_releases,
    "lifetime": reads_late,
    "unchanged": writes,
    "order": reads_at_once,
    "empty": refuses_handle_0,
    "swapped": ignores_descr,
}

# Order


class Pending(Exchanges):
    """Memory of OpenCL on whose queue work waits behind the checker's gate. `edit` is that of Exchanges."""

    def __init__(self, gate, edit=None):
        super().__init__(edit)
        self.cl_mem, self.context, self.queue, opened = opencl.pending(ITEMS)
        opened.open()
        if gate is not None:
            gate(self.queue)

    def fill(self, out, wishes):
        code = super().fill(out, wishes)
        x = structs.Exchange.from_address(out)
        x.handle_kind, x.device_type, x.context, x.handle = 3, 4, self.context, self.cl_mem
        if wishes & structs.READY:
            opencl.library().clFinish(ctypes.c_void_p(self.queue))
            return code
        x.order_kind, x.stream, x.done = 3, self.queue, address_of(done)
        self.edit_order(x)
        return code

    def edit_order(self, x):
        pass


@structs.DONE
def done(address, kind, stream, event):
    """Makes the producer's queue wait for the event."""
    opencl.Gate._enqueue(structs.Exchange.from_address(address).stream, "clEnqueueBarrierWithWaitList", event)
    return 0


@structs.DONE
def done_nothing(address, kind, stream, event):
    return 0


@structs.DONE
def done_waits(address, kind, stream, event):
    opencl.library().clFinish(ctypes.c_void_p(stream))
    return 0


def another_queue(array):
    device = opencl.ask("clGetCommandQueueInfo", array.queue, opencl.DEVICE_OF_QUEUE, ctypes.c_void_p)
    return opencl.create("clCreateCommandQueue", ctypes.c_void_p(array.context), ctypes.c_void_p(device), ctypes.c_uint64(0))


class OfPart(Pending):
    """Names a sub-buffer."""

    def __init__(self, gate):
        super().__init__(gate)
        opencl.library().clCreateSubBuffer.restype = ctypes.c_void_p
        region = (ctypes.c_size_t * 2)(0, 4 * ITEMS)
        self.part = opencl.create("clCreateSubBuffer", ctypes.c_void_p(self.cl_mem), ctypes.c_uint64(1), ctypes.c_uint32(0x1220), region)

    def edit_order(self, x):
        x.handle = self.part


class EndsQueue(Pending):
    """Releases its queue with the object, which no structure keeps."""

    def __init__(self, gate):
        super().__init__(None)
        self.keeps, self.queue = False, another_queue(self)
        if gate is not None:
            gate(self.queue)

    def __del__(self):
        opencl.library().clReleaseCommandQueue(ctypes.c_void_p(self.queue))


class Silent(Pending):
    def edit_order(self, x):
        x.order_kind = x.stream = 0


class OtherQueue(Pending):
    def edit_order(self, x):
        x.stream = another_queue(self)


class OtherContext(Pending):
    def edit_order(self, x):
        x.stream = opencl.pending(1)[2]


class OtherDevice(Pending):
    def edit_order(self, x):
        x.device_id = 99


class DoneNothing(Pending):
    def edit_order(self, x):
        x.done = address_of(done_nothing)


class DoneWaits(Pending):
    def edit_order(self, x):
        x.done = address_of(done_waits)


class Waits(Pending):
    def edit_order(self, x):
        opencl.library().clFinish(ctypes.c_void_p(self.queue))


class Refuses(Pending):
    def fill(self, out, wishes):
        raise BufferError("refused")


class ByEvent(Pending):
    def edit_order(self, x):
        x.stream, x.event = 0, opencl.Gate._enqueue(self.queue, "clEnqueueMarkerWithWaitList")
        self.done = structs.DONE(self.follow)
        x.done = address_of(self.done)

    def follow(self, address, kind, stream, event):
        opencl.Gate._enqueue(self.queue, "clEnqueueBarrierWithWaitList", event)
        return 0


class OfHost(Pending):
    """Memory of the host with an order of OpenCL."""

    def fill(self, out, wishes):
        code = super().fill(out, wishes)
        x = structs.Exchange.from_address(out)
        x.handle_kind, x.device_type, x.context, x.handle = 1, 1, 0, self.memory.address
        return code


RIGHT_ORDERS = {"refuses": Refuses, "by event": ByEvent, "of host": OfHost}
ORDERS = {"right": Pending, "B-32": Silent, "B-30": OtherQueue, "B-33": OtherContext}
ORDERS |= {"B-36": DoneNothing, "B-37": DoneWaits, "B-47": Waits, "B-20": OfPart, "B-23": OtherDevice, "B-31": EndsQueue}


def order(gate=None):
    return {rule: exchange_type(base=base)(gate) for rule, base in {**ORDERS, **RIGHT_ORDERS}.items()}


def cuda_memory(gate):
    """Returns (address, stream): 24 bytes of the simulated driver with work behind the checker's gate."""
    driver, pointer = cuda.driver(), ctypes.c_uint64()
    with driver.entered():
        driver.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(24))
    stream = driver.new_stream()
    if gate is not None:
        gate(stream, "cuda")
    return pointer.value, stream


class CudaPending(Device):
    """`names` says whether it names the stream of its work."""

    def __init__(self, gate, names):
        super().__init__()
        self.pointer, self.stream = cuda_memory(gate)
        self.names = names

    def made(self):
        return {**DICT, "data": (self.pointer, False), "stream": self.stream if self.names else None}


class CudaTensors(Tensors):
    """`waits` says whether the consumer's stream waits for the work."""

    def __init__(self, gate, waits):
        super().__init__(self.to_cuda, device=(2, 0), accepts=("dl_device",))
        self.pointer, self.stream = cuda_memory(gate)
        self.waits = waits

    def to_cuda(self, tensor, array):
        tensor.tensor.data, tensor.tensor.device.device_type = self.pointer, 2

    def __dlpack__(self, *, stream=None, copy=None, **arguments):
        if copy:
            raise BufferError("no copy is made")
        if self.waits and stream is not None:
            driver, event = cuda.driver(), cuda.driver().record(self.stream)
            with driver.entered():
                driver.call("cuStreamWaitEvent", ctypes.c_void_p(stream), ctypes.c_void_p(event), 0)
        return super().__dlpack__(**arguments)


def cuda_tensors(gate=None):
    return {"right": CudaTensors(gate, True), "dlpack.order": CudaTensors(gate, False)}


def cuda_order(gate=None):
    return {"right": CudaPending(gate, True), "cai.order": CudaPending(gate, False), "cai.memory": Device()}
