"""The BufferInterface: struct bi_exchange through the table of __buffer_interface_c__, and the attributes in Python."""

import ctypes
import gc
import json
import math
import os

from . import cuda, layout, opencl, structs
from .judge import LOOKS, Stop, elements, is_int, is_ints, kind_of, on_thread, published, references, same_elements, short, together

CAPSULE = b"buffer_interface.c_api"
LIMIT = 2**63 - 1
CANARY = 0xA5
CL_KINDS = (3, 4, 5)
DEVICES_OF_KIND = {1: (1, 3), 2: (2, 13), 3: (4,), 4: (4,), 5: (4,)}


def publishes(array):
    return not isinstance(array, type) and (hasattr(type(array), "__buffer_interface_c__") or hasattr(type(array), "__buffer_interface__"))


class Taken:
    """A structure that acquire filled, with `room` bytes behind it."""

    def __init__(self, function, array, wishes=0, version=structs.VERSION, size=structs.EXCHANGE_SIZE, room=64):
        self._bytes = ctypes.create_string_buffer(bytes([CANARY]) * (max(size, structs.EXCHANGE_SIZE) + room), max(size, structs.EXCHANGE_SIZE) + room)
        self.address = ctypes.addressof(self._bytes)
        self.x = structs.Exchange.from_address(self.address)
        self.x.version, self.x.struct_size, self.x.release = version, size, None
        self._size = size
        self.error = None
        try:
            self.code = function(array, wishes, self.address)
        except Exception as error:
            self.code, self.error = -1, error

    def behind(self, start):
        """Bytes from `start` on, behind what the caller offered."""
        return self._bytes.raw[start:]

    def release(self):
        if self.x.release:
            structs.RELEASE(self.x.release)(self.address)

    def look(self):
        return self.x.handle + self.x.offset, self.shape(), self.strides(), self.x.item_size

    def shape(self):
        return structs.numbers(self.x.shape, min(self.x.ndim, 64))

    def strides(self):
        return structs.numbers(self.x.strides, min(self.x.ndim, 64))


def open_table(judge, array):
    """Returns acquire. Stop if there is none."""
    capsule = getattr(type(array), "__buffer_interface_c__", None)
    if capsule is None:
        judge.skip("B-44", "no type has __buffer_interface_c__")
        raise Stop
    is_capsule = isinstance(capsule, structs.CapsuleType) and structs.capsule_name(capsule) == CAPSULE
    judge.must("B-44", is_capsule, f"{capsule!r}")
    table = structs.Table.from_address(structs.capsule_pointer(capsule))
    fits = table.version == structs.VERSION and table.struct_size >= ctypes.sizeof(structs.Table)
    judge.must("B-45", fits, f"version {table.version >> 16}.{table.version & 0xffff}, {table.struct_size} bytes")
    judge.must("B-45", table.acquire, "acquire is NULL")
    return structs.ACQUIRE(table.acquire)


def take(judge, acquire, array, wishes=0):
    """Acquires the structure. Stop if the array is refused."""
    taken = Taken(acquire, array, wishes)
    if taken.code:
        judge.rule("B-46", taken.error is not None, f"acquire returns {taken.code} without an exception")
        judge.rule("B-7", not taken.x.release, "acquire failed, and release is not NULL")
        judge.skip("B-17", f"the array is refused ({short(taken.error)})" if taken.error else "the array is refused")
        raise Stop
    judge.rule("B-46", True)
    return taken


def judge_structure(make, judge):
    array = make()
    taken = take(judge, open_table(judge, array), array)
    x = taken.x
    judge.rule("B-8", x.struct_size == structs.EXCHANGE_SIZE, f"struct_size was {structs.EXCHANGE_SIZE} and is {x.struct_size}")
    behind = taken.behind(structs.EXCHANGE_SIZE)
    judge.rule("B-8", set(behind) == {CANARY}, "bytes behind the structure were written")
    for rule, is_kept, seen in check(taken):
        judge.rule(rule, is_kept, seen)
    judge_place(judge, taken)
    judge_byte_order(judge, array, x)
    same = bytes(x), taken.shape(), taken.strides()
    second = take(judge, open_table(judge, array), array)
    judge.rule("B-12", (bytes(x), taken.shape(), taken.strides()) == same, "the structure has changed after another acquire")
    second.release()
    judge.rule("B-43", x.release is not None, "the release of a second structure released the first")
    taken.release()
    judge.rule("B-39", x.release is None, "release is not NULL after release")


def check(taken):
    """Checks all that bi_exchange_check of check.h checks, and more. Yields (rule, is kept, what was seen)."""
    x, shape, strides = taken.x, taken.shape(), taken.strides()
    yield "B-9", x.version == structs.VERSION and structs.EXCHANGE_SIZE <= x.struct_size <= structs.SIZE_MAX, f"version {x.version:#x}, struct_size {x.struct_size}"
    yield "B-11", not x.flags & 0xFFFE and not x.reserved, f"flags are {x.flags:#x}, reserved is {x.reserved}"
    yield "B-21", x.device_type in DEVICES_OF_KIND.get(x.handle_kind, ()) and bool(x.context) <= (x.handle_kind != 1) and (
        bool(x.context) or x.handle_kind not in CL_KINDS
    ), f"handle_kind {x.handle_kind}, device_type {x.device_type}, context {x.context:#x}"
    yield "B-23", x.device_id >= 0 and (x.handle_kind != 1 or x.device_id == 0), f"device_id is {x.device_id}"
    yield "B-32", agrees_order(x), f"order_kind {x.order_kind}, stream {x.stream:#x}, event {x.event:#x}, done {x.done or 0:#x}"
    yield from check_type(x)
    yield from check_layout(x, shape, strides)


def agrees_order(x):
    if x.order_kind == 0:
        return not x.stream and not x.event
    has_order = bool(x.stream or x.event) and x.order_kind in (1, 3) and (x.stream or x.done)
    is_of_device = x.handle_kind == 1 or (x.order_kind == 1) == (x.handle_kind == 2)
    return bool(has_order) and is_of_device and not (x.order_kind == 1 and x.stream == 2)


def check_type(x):
    bits, lanes, size = x.type_bits, x.type_lanes, x.item_size
    named = f"code {x.type_code}, {bits} bits, {lanes} lanes, item_size {size}"
    if x.type_code == 3 or x.descr:
        is_bytes = bits == 8 and lanes == (size if size <= 65535 else 0)
        yield "B-26", x.type_code == 3 and bool(x.descr) and is_bytes, f"{named}, descr {'given' if x.descr else 'NULL'}"
        if x.descr:
            yield from check_descr(ctypes.string_at(x.descr), size)
        return
    yield "B-25", bits in layout.BITS.get(x.type_code, ()) and lanes > 0, named
    yield "B-26", True, ""
    yield "B-27", lanes > 0 and size in ((lanes * bits + 7) // 8, lanes * ((bits + 7) // 8)), named


def check_descr(text, size):
    shown = text[:80].decode("utf-8", "replace")
    try:
        descr = json.loads(text.decode("utf-8"))
        total = layout.descr_size(descr) if isinstance(descr, (str, list)) else None
        is_right = total is not None and len(text) <= 65536 and depth(descr) <= 16
    except (ValueError, TypeError, RecursionError):
        is_right = False
    yield "B-28", is_right, f"descr is {shown!r}"
    if is_right:
        yield "B-29", total == size, f"the fields have {total} bytes, item_size is {size}"


def depth(descr):
    return 1 + max((depth(field[1]) for field in descr), default=0) if isinstance(descr, list) else 0


def check_layout(x, shape, strides):
    is_there = x.ndim <= 64 and (not x.ndim or bool(x.shape and x.strides)) and x.handle + x.size < 2**64
    yield "B-14", is_there, f"ndim is {x.ndim}, shape {x.shape or 0:#x}, strides {x.strides or 0:#x}, handle {x.handle:#x}, size {x.size}"
    if not is_there:
        return
    yield "B-15", all(extent >= 0 for extent in shape), f"shape is {shape}"
    if any(extent <= 0 for extent in shape):
        return
    below, above = layout.reach(shape, strides, x.item_size)
    is_small = max(math.prod(shape), below, above - x.item_size) <= LIMIT
    yield "B-16", is_small, f"shape is {shape}, strides are {strides}"
    is_inside = (x.handle or not (below or above)) and below <= x.offset <= LIMIT and x.offset + above <= x.size
    yield "B-17", bool(is_inside), f"handle {x.handle:#x}, offset {x.offset}, size {x.size}; the elements reach from {x.offset - below} to {x.offset + above}"
    is_c = layout.is_c_contiguous(shape, strides, x.item_size) or not x.flags & structs.C_CONTIGUOUS
    is_f = layout.is_f_contiguous(shape, strides, x.item_size) or not x.flags & structs.F_CONTIGUOUS
    yield "B-18", is_c and is_f, f"flags are {x.flags:#x}, shape is {shape}, strides are {strides}"


def device_count(x):
    """Returns how many devices the structure may name, or None if there is no driver to ask."""
    if x.handle_kind == 2:
        return cuda.driver() and cuda.driver().device_count()
    if x.handle_kind in CL_KINDS and x.context and opencl.library():
        return len(opencl.devices_of(x.context))
    return None


def judge_place(judge, taken):
    x = taken.x
    count = device_count(x)
    judge.rule("B-23", count is None or x.device_id < count, f"device_id is {x.device_id}, and the number of devices is {count}")
    if 0 in taken.shape():
        return
    if x.handle_kind == 1:
        away = layout.unmapped(x.handle, (x.size,), (1,), 1)
        judge.must("B-19", away is None, away)
    elif x.handle_kind == 3 and opencl.library():
        root, size = opencl.memory(x.handle)
        judge.rule("B-20", root == 0, "the cl_mem is a sub-buffer")
        judge.rule("B-19", x.size <= size, f"size is {x.size}, the cl_mem has {size} bytes")


def judge_byte_order(judge, array, x):
    """Compares the order of the structure with that of a typestr of the same object."""
    said = published(array, "__array_interface__") or published(array, "__cuda_array_interface__")
    typestr = said.get("typestr") if isinstance(said, dict) else published(description(array), "typestr")
    if not isinstance(typestr, str) or typestr[:1] not in ("<", ">"):
        return judge.skip("B-24", "no typestr of the object says what order its numbers have")
    descr = ctypes.string_at(x.descr).decode("utf-8", "replace") if x.type_code == 3 and x.descr else ""
    named = layout.OTHER if descr.lstrip().startswith(f'"{layout.OTHER}') else layout.ORDER
    return judge.rule("B-24", typestr[0] == named or layout.typestr_size(typestr) == 1, f"the typestr is {typestr}, and the structure says {named}")


def description(array):
    """Returns the object of section 2, or None. judge_object reports a method that raises."""
    method = getattr(type(array), "__buffer_interface__", None)
    try:
        return method(array) if callable(method) else None
    except Exception:
        return None


def judge_mask(make, judge):
    array = make()
    if published(description(array), "mask") is None:
        return judge.skip("B-50", "no array has a mask")
    taken = Taken(open_table(judge, array), array)
    judge.rule("B-50", taken.code == -1, "an array with a mask is given without it")
    return taken.release() if not taken.code else None


def judge_negotiation(make, judge):
    array = make()
    acquire = open_table(judge, array)
    take(judge, acquire, array).release()
    size = structs.EXCHANGE_SIZE
    for version, given, what in ((0x70000, size, "version 7.0"), (structs.VERSION, size - 1, "one byte too few"), (structs.VERSION, 8, "8 bytes"), (structs.VERSION, 4097, "4097 bytes")):
        taken = Taken(acquire, array, version=version, size=given)
        judge.rule("B-7", taken.code == -1 and not taken.x.release, f"acquire for {what} returns {taken.code}, release is {taken.x.release}")
        judge.rule("B-46", taken.error is not None or not taken.code, f"acquire for {what} returns {taken.code} without an exception")
        if taken.code == 0:
            taken.release()
    big = Taken(acquire, array, size=size + 40)
    if judge.rule("B-7", big.code == 0, f"a longer structure is refused ({short(big.error)})" if big.error else "a longer structure is refused"):
        judge.rule("B-8", big.x.struct_size == size + 40 and not any(big.behind(size)[:40]), "the bytes of unknown members are not 0, or struct_size was changed")
        judge.rule("B-8", set(big.behind(size + 40)) == {CANARY}, "bytes behind struct_size were written")
        big.release()
    demand = Taken(acquire, array, wishes=1 << 15)
    judge.rule("B-48", demand.code == -1 and not demand.x.release, "an unknown demand is accepted")
    promise = Taken(acquire, array, wishes=1 << 30)
    judge.rule("B-48", promise.code == 0, "an unknown promise is refused")
    for taken in (demand, promise):
        if taken.code == 0:
            taken.release()
    judge_wishes(judge, acquire, array)


def judge_wishes(judge, acquire, array):
    plain = take(judge, acquire, array)
    borrowed = take(judge, acquire, array, structs.BORROW)
    judge.rule("B-49", borrowed.look() == plain.look(), "address, shape, strides or item_size differ")
    borrowed.release()
    ready = Taken(acquire, array, structs.READY)
    if ready.code == 0:
        judge.rule("B-38", not ready.x.order_kind and not ready.x.stream, f"order_kind is {ready.x.order_kind}")
        ready.release()
    second = take(judge, acquire, array)
    judge.rule("B-47", second.look() == plain.look(), "two structures have different memory, so one is a copy")
    second.release()
    plain.release()


def judge_lifetime(make, judge):
    array = make()
    acquire = open_table(judge, array)
    taken = take(judge, acquire, array)
    lives, look = make.watch(array), taken.look()
    is_host = taken.x.handle_kind == 1 and not taken.x.order_kind
    if is_host and layout.unmapped(*look):
        taken.release()
        return
    before = elements(*look) if is_host else None
    del array
    if is_host:
        same_elements(judge, "B-51", before, look)
        judge_fork(judge, look, before)
    moved = structs.Exchange()
    ctypes.memmove(ctypes.addressof(moved), taken.address, structs.EXCHANGE_SIZE)
    taken.x.release = None
    on_thread(lambda: structs.RELEASE(moved.release)(ctypes.addressof(moved)))
    judge.rule("B-13", moved.release is None, "release at the new place did not set itself to NULL")
    judge.rule("B-39", taken.x.release is None, "release wrote to the place that the structure was moved from")
    if lives is None:
        judge.skip("B-51", "the type has no weak references")
    else:
        judge.rule("B-51", not lives(), "the object lives on after release")


def judge_fork(judge, look, before):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if elements(*look) == before else 1
        finally:
            os._exit(code)
    judge.rule("B-42", os.waitpid(child, 0)[1] == 0, "the child could not read the elements")


def judge_threads(make, judge):
    array = make()
    acquire = open_table(judge, array)
    take(judge, acquire, array).release()
    before = references(array)

    def one():
        taken = Taken(acquire, array)
        if taken.code:
            raise taken.error or BufferError("acquire failed without an exception")
        taken.release()

    error = together(one)
    judge.rule("B-46", error is None, short(error) if error else "")
    left = references(array) - before
    judge.rule("B-51", left == 0, f"{left} references to the object are left after as many releases as acquires")


def judge_object(make, judge):
    array = make()
    judge_method(judge, array)
    described = array.__buffer_interface__() if callable(getattr(type(array), "__buffer_interface__", None)) else array
    missing = [name for name in ("buffer", "offset", "shape", "strides") if not hasattr(described, name)]
    if not hasattr(described, "dtype") and not hasattr(described, "typestr"):
        missing.append("dtype or typestr")
    if described is array and "buffer" in missing:
        return judge.skip("B-1", "the object has the C structure only")
    judge.must("B-1", not missing, f"the object has no {', '.join(missing)}")
    judge.rule("B-1", is_ints(described.shape) and is_ints(described.strides) and is_int(described.offset), f"shape {described.shape!r}, strides {described.strides!r}, offset {described.offset!r}")
    judge_agreement(judge, described)
    if not hasattr(described, "release"):
        return judge.skip("B-5", "the object has no release()")
    described.release()
    described.release()
    try:
        memory = described.strides, described.shape, Taken(open_table(judge, array), array).error
        judge.rule("B-5", isinstance(memory[2], BufferError) and isinstance(memory[2], ValueError), "a later use raises no error that is BufferError and ValueError")
    except (BufferError, ValueError) as error:
        judge.rule("B-5", isinstance(error, BufferError) and isinstance(error, ValueError), f"a later use raises {short(error)}")
    return None


def judge_method(judge, array):
    method = getattr(type(array), "__buffer_interface__", None)
    if method is None:
        judge.skip("B-2", "no type has __buffer_interface__")
        judge.skip("B-3", "no type has __buffer_interface__")
        return
    judge.must("B-2", callable(method), f"a {kind_of(method)}")
    version = getattr(array.__buffer_interface__(), "buffer_interface_version", None)
    judge.rule("B-3", version == structs.VERSION and is_int(version), f"buffer_interface_version is {version!r}")


def judge_agreement(judge, described):
    """Compares the attributes that state one fact twice."""
    shape, size = described.shape, getattr(described, "itemsize", None)
    typed = layout.typestr_size(getattr(described, "typestr", None))
    pairs = [("itemsize", typed), ("ndim", len(shape)), ("size", math.prod(shape))]
    if size is not None or typed is not None:
        pairs.append(("nbytes", math.prod(shape) * (typed if size is None else size)))
    said = [(name, getattr(described, name, None), wanted) for name, wanted in pairs]
    wrong = [f"{name} is {is_so}, and {wanted} by the others" for name, is_so, wanted in said if None not in (is_so, wanted) and is_so != wanted]
    if len(described.strides) != len(shape):
        wrong.append(f"shape is {shape}, strides are {described.strides}")
    judge.rule("B-4", not wrong, "; ".join(wrong))


def judge_order(make, judge):
    """The array's work waits behind a gate; nothing that is ordered behind it may be complete."""
    gate = make.gate()
    array = make(gate)
    if array is None or not gate.is_used:
        return judge.skip("B-30", "the factory has no parameter `gate`, or did not use it")
    acquire = open_table(judge, array)
    try:
        has_returned, taken = on_thread(lambda: Taken(acquire, array), LOOKS)
        is_host = has_returned and taken.x.handle_kind == 1
        judge.must("B-47", has_returned, "acquire waits for a device") if not is_host else None
        if taken.code:
            return judge.skip("B-30", f"the array is refused ({short(taken.error)})" if taken.error else "the array is refused")
        judge_pending(judge, gate, acquire, array, taken)
        gate.open()
        taken.release()
    finally:
        gate.open()
    return None


def belongs(x):
    """True if the queue belongs to `context`, or, for host memory, to any."""
    context = opencl.context_of(x.stream)
    return context is not None and x.context in (0, context)


def judge_pending(judge, gate, acquire, array, taken):
    x = taken.x
    judge.must("B-32", x.order_kind and (x.stream or x.event), "work is pending, and neither stream nor event is named")
    if x.order_kind == 3:
        judge.rule("B-33", not x.stream or belongs(x), "the queue belongs to another context")
    if x.stream:
        judge.rule("B-30", not gate.passes(x.stream), "work on the stream runs before the pending work")
    if x.event:
        judge.rule("B-30", not gate.is_complete(x.event), "the event is complete before the pending work")
    if not x.done:
        for rule in ("B-36", "B-37"):
            judge.skip(rule, "`done` is NULL")
        return
    with gate.another(x) as work:
        has_returned, code = on_thread(lambda: structs.DONE(x.done)(taken.address, x.order_kind, work.stream, work.event), LOOKS)
        judge.must("B-37", has_returned, "done waits for a device")
        if code:
            judge.skip("B-36", "done returns another value than 0")
            return
        gate.open()
        again = take(judge, acquire, array)
        if again.x.stream:
            judge.rule("B-36", not work.passes(again.x.stream), "work on the next stream runs before the work that was handed back")
        elif again.x.event:
            judge.rule("B-36", not work.is_complete(again.x.event), "the next event is complete before the work that was handed back")
        else:
            judge.rule("B-36", False, "the next structure names neither stream nor event while the work that was handed back is pending")
        work.open()
        again.release()


def judge_stream_lives(make, judge):
    array = make()
    taken = take(judge, open_table(judge, array), array)
    if taken.x.order_kind == 3 and opencl.library():
        with opencl.held(taken.x) as has_other_references:
            del array
            gc.collect()
            judge.rule("B-31", has_other_references(), "after the end of the object nobody but the checker holds the queue or the event")
    else:
        judge.skip("B-31", "no array names a queue or an event of OpenCL")
    taken.release()


STEPS = {
    "buffer-interface": (
        publishes,
        [judge_structure, judge_mask, judge_negotiation, judge_lifetime, judge_threads, judge_object, judge_order, judge_stream_lives],
    )
}
