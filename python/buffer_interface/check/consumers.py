"""Arrays of the checker for consumers: plain ones, ones that are legal in an odd way, and illegal ones.

All have 24 numbers in host memory, int32 unless the name of the case has another type. When an array is released its
memory is overwritten, so that a later use is seen.
"""

import ctypes
import gc
import struct
import threading

from . import layout, opencl, structs
from .judge import kind_of, short

COUNT = 24
PLAIN, ODD, ILLEGAL = "plain", "odd", "illegal"

# Types by their letters in a typestr: the type of ctypes, the code of DLPack, the letter of module struct.
ITEMS = {
    "i4": (ctypes.c_int32, 0, "i"), "i1": (ctypes.c_int8, 0, "b"), "i2": (ctypes.c_int16, 0, "h"),
    "i8": (ctypes.c_int64, 0, "q"), "c16": (ctypes.c_double * 2, 5, None),
}  # fmt: skip
OTHER_ITEMS = {f"elements of type {layout.ORDER if item != 'i1' else '|'}{item}": item for item in ITEMS if item != "i4"}


class Memory:
    """24 numbers, and the count of releases."""

    def __init__(self, item):
        self._complex = item[0] == "c"
        self.numbers = (ITEMS[item][0] * COUNT)(*map(self._number, range(COUNT)))
        self.address = ctypes.addressof(self.numbers)
        self.released = 0

    def _number(self, number):
        return (number, 0) if self._complex else number

    def release(self):
        """Keeps the numbers of the first release, and overwrites the memory."""
        if not self.released:
            self.last = list(self.numbers)
        self.released += 1
        for i in range(COUNT):
            self.numbers[i] = self._number(-1)


def nested(numbers, shape, strides, offset, size):
    """The elements as lists, read by the layout."""
    if not shape:
        return numbers[offset // size]
    return [nested(numbers, shape[1:], strides[1:], offset + i * strides[0], size) for i in range(shape[0])]


class Case:
    """One array: `array` is passed to the consumer; `wanted` are its elements, None for an illegal one."""

    rule = "odd"  # the rule of the consumer that is broken by a wrong result

    def __init__(self, name, kind, shape=(2, 3), strides=None, offset=0, readonly=False, item="i4"):
        self.name, self.kind, self.readonly, self.item = name, kind, readonly, item
        self.size = ctypes.sizeof(ITEMS[item][0])
        self.typestr = ("|" if self.size == 1 else layout.ORDER) + item
        self.memory = Memory(item)
        self.shape, self.offset = shape, offset
        self.strides = layout.c_strides(shape, self.size) if strides is None else strides
        self.wanted = None if kind == ILLEGAL else nested(list(range(COUNT)), shape, self.strides, offset, self.size)
        self.array = None

    def c_numbers(self):
        n = max(len(self.shape), 1)
        self.kept = (ctypes.c_int64 * n)(*self.shape), (ctypes.c_int64 * n)(*self.strides)
        return self.kept

    def read(self):
        return self.memory.last if self.memory.released else list(self.memory.numbers)

    def poison(self):
        """Overwrites memory that nobody holds any more, where a release does not do that."""

    def balance(self):
        """Returns a sentence if the array is not released as often as it was taken, when nobody uses it any more."""
        return None


LAYOUTS = [
    ("two dimensions", PLAIN, {}),
    ("no dimensions", ODD, {"shape": ()}),
    ("no elements", ODD, {"shape": (2, 0, 3)}),
    ("an extent of 1 with an odd stride", ODD, {"shape": (1, 3), "strides": (4096, 4)}),
    ("Fortran order", ODD, {"strides": (4, 8)}),
    ("gaps between rows", ODD, {"strides": (24, 4)}),
    ("a stride of 0", ODD, {"strides": (0, 4)}),
    ("negative strides", ODD, {"strides": (-12, -4), "offset": 20}),
    ("an offset", ODD, {"offset": 8}),
    ("six dimensions", ODD, {"shape": (1, 2, 1, 3, 1, 2)}),
    ("read-only", ODD, {"readonly": True}),
]


# The BufferInterface


@structs.RELEASE
def _release(address):
    exchange = structs.Exchange.from_address(address)
    exchange.release = None
    _live[exchange.owner].memory.release()


_live = {}


class ExchangeType:
    """The base of the types whose capsule describes a case, which is `case`."""


class ExchangeCase(Case):
    def __init__(self, name, kind, members=None, rule="odd", **arguments):
        super().__init__(name, kind, **arguments)
        self.members, self.acquired, self.rule = members or {}, 0, rule
        if rule == "swapped":
            self.memory.numbers[:] = [int.from_bytes(number.to_bytes(4, "little"), "big") for number in range(COUNT)]

        def acquire(array, wishes, out):
            self.fill(structs.Exchange.from_address(out))
            return 0

        self._function = structs.ACQUIRE(acquire)
        self._table = structs.Table(structs.VERSION, ctypes.sizeof(structs.Table), ctypes.cast(self._function, ctypes.c_void_p))
        capsule = structs.new_capsule(ctypes.addressof(self._table), b"buffer_interface.c_api", None)
        self.array = type("ArrayOfTheChecker", (ExchangeType,), {"__buffer_interface_c__": capsule})()
        self.array.case = self

    def fill(self, out):
        self.acquired += 1
        _live[id(self)] = self
        shape, strides = self.c_numbers()
        flags = structs.READONLY if self.readonly else 0
        said = {"version": structs.VERSION, "struct_size": structs.EXCHANGE_SIZE, "owner": id(self), "size": COUNT * self.size}
        said |= {"release": ctypes.cast(_release, ctypes.c_void_p).value, "handle": self.memory.address, "offset": self.offset}
        said |= {"device_type": 1, "handle_kind": 1, "type_lanes": 1, "item_size": self.size, "flags": flags}
        said |= {"type_code": ITEMS[self.item][1], "type_bits": 8 * self.size}
        said |= {"ndim": len(self.shape), "shape": ctypes.addressof(shape), "strides": ctypes.addressof(strides)}
        ctypes.memset(ctypes.addressof(out), 0, structs.EXCHANGE_SIZE)
        for member, value in {**said, **self.members}.items():
            setattr(out, member, value)

    def balance(self):
        return None if self.memory.released == self.acquired else f"was acquired {self.acquired} times and released {self.memory.released} times"


DESCR = ctypes.create_string_buffer(b'[["a", "<i4"]')
SWAPPED = ctypes.create_string_buffer(f'"{layout.OTHER}i4"'.encode())
ODD_CASES = [
    ("no elements and the handle 0", {"rule": "empty", "shape": (0, 3), "members": {"handle": 0, "size": 0}}),
    ("no elements and an offset of 2^63", {"rule": "empty", "shape": (0, 3), "members": {"offset": 1 << 63}}),
    ("numbers in the other byte order", {"rule": "swapped", "members": {"type_code": 3, "type_bits": 8, "type_lanes": 4, "descr": ctypes.addressof(SWAPPED)}}),
]
ODD_MEMBERS = [
    ("unknown flags above bit 15", {"flags": 1 << 30}),
    ("a true flag of contiguity", {"flags": structs.C_CONTIGUOUS}),
]
ILLEGAL_MEMBERS = [
    ("an unknown version", {"version": 0x90000}),
    ("a struct_size that is too small", {"struct_size": 64}),
    ("an unknown flag below bit 16", {"flags": 1 << 9}),
    ("a reserved member", {"reserved": 1}),
    ("65 dimensions", {"ndim": 65}),
    ("shape NULL", {"shape": None}),
    ("a memory of 8 bytes", {"size": 8}),
    ("an offset near 2^64", {"offset": 2**64 - 4}),
    ("a handle of 0", {"handle": 0}),
    ("an untrue flag of contiguity", {"flags": structs.F_CONTIGUOUS}),
    ("a CUDA device for host memory", {"device_type": 2}),
    ("an unknown kind of handle", {"handle_kind": 77}),
    ("a context in host memory", {"context": 8}),
    ("a negative device", {"device_id": -1}),
    ("a stream without a kind of order", {"stream": 8}),
    ("a kind of order without a stream", {"order_kind": 3}),
    ("the order of HIP", {"order_kind": 2, "stream": 8}),
    ("the order of OpenCL for CUDA memory", {"device_type": 2, "handle_kind": 2, "order_kind": 3, "stream": 8}),
    ("stream 2 of CUDA", {"order_kind": 1, "stream": 2}),
    ("a type of 0 bits", {"type_bits": 0}),
    ("an unknown type", {"type_code": 99}),
    ("an item_size that does not go with the type", {"item_size": 3}),
    ("type code 3 without descr", {"type_code": 3, "type_bits": 8, "type_lanes": 4}),
    ("descr beside a type of the table", {"descr": ctypes.addressof(DESCR)}),
    ("descr that is no JSON", {"type_code": 3, "type_bits": 8, "type_lanes": 4, "descr": ctypes.addressof(DESCR)}),
]
ILLEGAL_SHAPES = [("a negative extent", {"shape": (-2, 3), "strides": (12, 4)}), ("elements beyond the memory", {"shape": (20, 3)}),
                  ("a reach below the memory", {"strides": (-12, 4)}), ("more elements than 2^63", {"shape": (2**62, 2**62), "strides": (0, 0)})]  # fmt: skip


def exchange_cases():
    for name, kind, arguments in LAYOUTS:
        yield lambda name=name, kind=kind, a=arguments: ExchangeCase(name, kind, **a)
    for kind, listed in ((ODD, ODD_MEMBERS), (ILLEGAL, ILLEGAL_MEMBERS)):
        for name, members in listed:
            yield lambda name=name, kind=kind, members=members: ExchangeCase(name, kind, members)
    for name, arguments in ODD_CASES:
        yield lambda name=name, a=arguments: ExchangeCase(name, ODD, **a)
    for name, item in OTHER_ITEMS.items():
        yield lambda name=name, item=item: ExchangeCase(name, ODD, item=item)
    for name, arguments in ILLEGAL_SHAPES:
        yield lambda name=name, a=arguments: ExchangeCase(name, ILLEGAL, **a)


# DLPack


@structs.DELETER
def _delete(address):
    _tensors[address].memory.release()


_tensors = {}


class TensorCase(Case):
    """`tensor` and `block` replace members. A consumer that does not pass `max_version` gets tensors without version."""

    def __init__(self, name, kind, tensor=None, block=None, is_versioned=True, **arguments):
        super().__init__(name, kind, **arguments)
        self._tensor, self._block, self._is_versioned = tensor or {}, block or {}, is_versioned
        self._made = []  # (block, capsule, name of the capsule)
        self.array = _TensorArray(self)

    def capsule(self, max_version):
        is_versioned = self._is_versioned and max_version is not None
        if not is_versioned and (self.readonly or self._block):
            raise BufferError("a tensor without version cannot say this")
        block = structs.ManagedVersioned(major=1, minor=1) if is_versioned else structs.Managed()
        block.deleter = ctypes.cast(_delete, ctypes.c_void_p).value
        if self.readonly:
            block.flags = 1
        shape, strides = self.c_numbers()
        self._steps = (ctypes.c_int64 * max(len(self.shape), 1))(*(n // self.size for n in self.strides))
        said = {"data": self.memory.address, "device_type": 1, "ndim": len(self.shape), "lanes": 1}
        said |= {"code": ITEMS[self.item][1], "bits": 8 * self.size}
        for member, value in {**said, "byte_offset": self.offset, "shape": shape, "strides": self._steps, **self._tensor}.items():
            setattr(block.tensor, member, value)
        for member, value in self._block.items():
            setattr(block, member, value)
        _tensors[ctypes.addressof(block)] = self
        name = b"dltensor_versioned" if is_versioned else b"dltensor"
        self._made.append((block, structs.new_capsule(ctypes.addressof(block), name, None), name))
        return self._made[-1][1]

    def balance(self):
        taken = sum(structs.capsule_name(capsule) != name for _, capsule, name in self._made)
        return None if self.memory.released == taken else f"was taken {taken} times and released {self.memory.released} times"


class _TensorArray:
    def __init__(self, case):
        self._case = case

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self._case.capsule(max_version)


# Other wrong members are the producer's fault alone: DLPack does not require that a consumer finds them.
ILLEGAL_TENSORS = [("major version 2", {"block": {"major": 2}})]


def tensor_cases():
    for is_versioned in (True, False):
        for name, kind, arguments in LAYOUTS:
            if is_versioned or not arguments.get("readonly"):
                kind_here = kind if is_versioned else ODD
                named = name if is_versioned else f"{name}, without version"
                yield lambda n=named, k=kind_here, v=is_versioned, a=arguments: TensorCase(n, k, is_versioned=v, **a)
    for name, item in OTHER_ITEMS.items():
        yield lambda name=name, item=item: TensorCase(name, ODD, item=item)
    yield lambda: TensorCase("strides NULL", ODD, {"strides": None})
    yield lambda: TensorCase("version 1.99", ODD, block={"minor": 99})
    for name, arguments in ILLEGAL_TENSORS:
        yield lambda name=name, a=arguments: TensorCase(name, ILLEGAL, **a)


# The array interface


class DictionaryCase(Case):
    def __init__(self, name, kind, members=None, **arguments):
        super().__init__(name, kind, **arguments)
        said = {"version": 3, "typestr": self.typestr, "shape": self.shape, "strides": self.strides}
        said["data"] = (self.memory.address + self.offset, self.readonly)
        self.array = _DictionaryArray({**said, **(members or {})}, self.memory)

    def balance(self):
        return None if self.memory.released == 1 else "is still alive"


class _DictionaryArray:
    def __init__(self, said, memory):
        self._said, self._memory = said, memory

    @property
    def __array_interface__(self):
        return self._said

    def __del__(self):
        self._memory.release()


def dictionary_cases():
    for name, kind, arguments in LAYOUTS:
        yield lambda name=name, kind=kind, a=arguments: DictionaryCase(name, kind, **a)
    for name, item in OTHER_ITEMS.items():
        yield lambda name=name, item=item: DictionaryCase(name, ODD, item=item)
    yield lambda: DictionaryCase("strides None", ODD, {"strides": None})
    yield lambda: DictionaryCase("descr of a simple type", ODD, {"descr": [("", layout.ORDER + "i4")]})
    for name, members in (
        ("an unknown typestr", {"typestr": "<q4"}),
        ("a shape that is no tuple", {"shape": "23"}),
        ("strides of another length", {"strides": (4,)}),
        ("a data without a flag", {"data": (1,)}),
        ("a negative extent", {"shape": (-2, 3)}),
        ("an address that is no int", {"data": ("x", False)}),
    ):
        yield lambda name=name, members=members: DictionaryCase(name, ILLEGAL, members)


# The buffer protocol


class BufferCase(Case):
    def __init__(self, name, kind, cut=None, **arguments):
        super().__init__(name, kind, **arguments)
        self._letter = ITEMS[self.item][2]
        self._bytes = bytearray(struct.pack(f"{COUNT}{self._letter}", *range(COUNT)))
        view = memoryview(self._bytes)[self.offset :]
        if cut is not None:
            view = view.cast("i")[cut]
            self.wanted = view.tolist()
        else:
            view = view[: self.size * layout.math.prod(self.shape)].cast(self._letter, list(self.shape))
        self.array = view.toreadonly() if self.readonly else view

    def read(self):
        return list(struct.unpack(f"{COUNT}{self._letter}", self._bytes))

    def poison(self):
        if self.balance() is None:
            self._bytes[:] = b"\xff" * len(self._bytes)

    def balance(self):
        self.array = None
        try:
            self._bytes.append(0)
        except BufferError:
            return "is still exported"
        del self._bytes[-1]
        return None


def buffer_cases():
    for name, kind, arguments in LAYOUTS:
        if "strides" not in arguments and 0 not in arguments.get("shape", ()):
            yield lambda name=name, kind=kind, a=arguments: BufferCase(name, kind, **a)
    for name, item in OTHER_ITEMS.items():
        if ITEMS[item][2]:
            yield lambda name=name, item=item: BufferCase(name, ODD, item=item)
    yield lambda: BufferCase("a step of 2", ODD, slice(None, None, 2))
    yield lambda: BufferCase("a step of -1", ODD, slice(None, None, -1))


CASES = {
    "array": ("array", dictionary_cases),
    "buffer": ("buffer", buffer_cases),
    "dlpack": ("dlpack", tensor_cases),
    "buffer-interface": ("bi", exchange_cases),
}


def read(result):
    """Returns the elements of a result as lists, or None if it has none."""
    if hasattr(result, "tolist"):
        result = result.tolist()
    return result if is_numbers(result) else None


def flat(value):
    return [number for part in value for number in flat(part)] if isinstance(value, list) else [value]


def is_numbers(value):
    return all(map(is_numbers, value)) if isinstance(value, list) else isinstance(value, (int, float, complex))


def judge_case(make, function, judge, prefix):
    """Passes one array to the consumer. Returns True if it was accepted."""
    case = make()
    array, case.array = case.array, None
    result, refused = None, None
    try:
        result = function(array)
        found = read(result)
    except Exception as error:
        refused, found = short(error), None
        del error
    is_unchanged = case.read() == list(range(COUNT))
    array = None
    gc.collect()
    case.poison()
    named = case.name
    if refused is None:
        judge_accepted(judge, prefix, case, found, result, named)
    else:
        judge_refused(judge, prefix, case, refused, named)
    if case.readonly:
        judge.rule(prefix + ".unchanged", is_unchanged, f"{named}: the elements were written")
    del result, found
    gc.collect()
    why = case.balance()
    judge.rule(prefix + ".released", why is None, f"the array with {named} {why}{', after it was refused' if refused else ''}")
    return refused is None


def judge_accepted(judge, prefix, case, found, result, named):
    if case.kind == ILLEGAL:
        judge.rule(prefix + ".illegal", False, f"{named} is accepted")
        return
    if found is None:
        judge.skip(prefix + ".odd", f"the consumer returns a {kind_of(result)} without elements")
        return
    # A consumer of the buffer protocol may request bytes in a row.
    is_right = found == case.wanted or (prefix == "buffer" and flat(found) == flat(case.wanted))
    judge.rule(f"{prefix}.{'takes' if case.kind == PLAIN else case.rule}", is_right, f"{named}: the elements are {found}, and should be {case.wanted}")
    again = read(result)
    judge.rule(prefix + ".lifetime", again == found, f"{named}: after the array had no other owner the elements are {again}, and were {found}")


def judge_refused(judge, prefix, case, refused, named):
    if case.kind == ILLEGAL:
        judge.rule(prefix + ".illegal", True)
    elif prefix == "bi" and case.kind == ODD and case.rule != "swapped" and case.item == "i4":
        judge.rule(f"bi.{case.rule}", False, f"{named} is refused ({refused})")
    else:
        judge.skip(f"{prefix}.{case.rule}", f"{named} is refused ({refused})")


def judge_protocol(protocol, number):
    """Returns the step for one case of a protocol."""
    prefix, cases = CASES[protocol]
    make = list(cases())[number]

    def step(function, judge):
        judge_case(make, function, judge, prefix)

    return step


def takes(protocol, function):
    """Returns None if the consumer accepts a plain array of the protocol, otherwise the reason."""
    case = next(iter(CASES[protocol][1]()))()
    try:
        result = function(case.array)
    except Exception as error:
        return f"a plain array is refused ({short(error)})"
    return None if result is None or read(result) is not None else "the result for a plain array has no numbers"


def judge_order(function, judge):
    """A cl_mem with 1, and behind a gate a command that writes 2. A consumer that waits reads 2."""
    made = opencl.pending(COUNT) if opencl.library() else None
    if made is None:
        return judge.skip("bi.order", "there is no OpenCL device")
    memory, context, queue, gate = made
    members = {"handle": memory, "context": context, "stream": queue, "order_kind": 3, "handle_kind": 3, "device_type": 4}
    case = ExchangeCase("pending work", ODD, members, shape=(COUNT,))
    timer = threading.Timer(0.4, gate.open)
    timer.start()
    try:
        found = read(function(case.array))
    except Exception as error:
        return judge.skip("bi.order", f"memory of OpenCL is refused ({short(error)})")
    finally:
        timer.cancel()
        gate.open()
    if found is None:
        return judge.skip("bi.order", "the consumer returns no elements")
    return judge.rule("bi.order", found == [2] * COUNT, f"the elements are {found[:3]}..., and should be 2")
