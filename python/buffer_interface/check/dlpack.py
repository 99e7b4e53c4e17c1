"""DLPack: the capsules of __dlpack__, and the table __dlpack_c_exchange_api__."""

import ctypes
import gc

from . import layout, structs
from .judge import LOOKS, Stop, elements, kind_of, on_thread, published, references, same_elements, short

NEWEST = (1, 3)
NAMES = {b"dltensor": structs.Managed, b"dltensor_versioned": structs.ManagedVersioned}
USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}
IS_COPIED, IS_READONLY, KNOWN_FLAGS = 2, 1, 7
CUDA = (2, 13)
DEVICES = range(1, 19)


def publishes(array):
    return not isinstance(array, type) and hasattr(array, "__dlpack__")


def export(array, **keywords):
    """Calls __dlpack__. Returns (block, capsule); Stop if the array is refused. Old producers take no keywords."""
    capsule = array.__dlpack__(**keywords)
    name = structs.capsule_name(capsule) if isinstance(capsule, structs.CapsuleType) else None
    if name not in NAMES:
        return None, capsule
    return NAMES[name].from_address(structs.capsule_pointer(capsule)), capsule


def consume(capsule):
    structs.set_capsule_name(capsule, USED[structs.capsule_name(capsule)])


def delete(block):
    if block.deleter:
        structs.DELETER(block.deleter)(ctypes.addressof(block))


def stream_for(array):
    """The keyword `stream` that a consumer passes: 1 on CUDA, nothing elsewhere."""
    try:
        return {"stream": 1} if array.__dlpack_device__()[0] in CUDA else {}
    except Exception:
        return {}


def newest(array):
    """Exports with the newest version that the producer accepts. Returns (block, capsule, whether it knows versions)."""
    keywords = stream_for(array)
    try:
        return *export(array, max_version=NEWEST, **keywords), True
    except TypeError:
        return *export(array, **keywords), False


def tensor_look(tensor):
    """(address, shape, strides in bytes, itemsize)"""
    size = (tensor.bits * tensor.lanes + 7) // 8
    shape = structs.numbers(tensor.shape, tensor.ndim)
    strides = structs.numbers(tensor.strides, tensor.ndim)
    strides = tuple(n * size for n in strides) if strides else layout.c_strides(shape, size)
    return (tensor.data or 0) + tensor.byte_offset, shape, strides, size


def is_refusal(error):
    return isinstance(error, (BufferError, NotImplementedError, ValueError, RuntimeError, TypeError))


def start(make, judge):
    """Returns (array, block, capsule, knows versions); Stop if the array is refused."""
    array = make()
    try:
        block, capsule, is_new = newest(array)
    except Exception as error:
        if not is_refusal(error):
            raise
        judge.skip("dlpack.capsule", f"the array is refused ({short(error)})")
        raise Stop from error
    name = structs.capsule_name(capsule) if isinstance(capsule, structs.CapsuleType) else kind_of(capsule)
    judge.must("dlpack.capsule", block is not None, f"a capsule named {name!r}")
    return array, block, capsule, is_new


def judge_tensor(make, judge):
    array, block, capsule, is_new = start(make, judge)
    judge_version(judge, array, block, is_new)
    look = judge_members(judge, block)
    judge_device(judge, array, block.tensor)
    judge_readonly(judge, array, block)
    if block.tensor.device_type in layout.DEVICES_OF_THE_CPU:
        away = layout.unmapped(*look)
        judge.must("dlpack.memory", away is None, away)
    second, other, _ = newest(array)
    judge.rule("dlpack.again", tensor_look(second.tensor) == look, "address, shape, strides or itemsize differ")
    del second, other, capsule


def judge_version(judge, array, block, is_new):
    if isinstance(block, structs.ManagedVersioned):
        judge.must("dlpack.version", block.major <= NEWEST[0], f"the tensor has version {block.major}.{block.minor}, max_version is {NEWEST}")
        known = block.flags & ~KNOWN_FLAGS == 0 or (block.major, block.minor) > NEWEST
        judge.rule("dlpack.flags", known, f"flags are {block.flags:#x}")
    else:
        judge.skip("dlpack.flags", "no tensor has a version")
    if not is_new:
        return judge.skip("dlpack.version", "__dlpack__ does not know `max_version`")
    try:
        _, capsule = export(array, **stream_for(array))
    except Exception as error:
        return judge.skip("dlpack.version", f"a tensor without version is refused ({short(error)})")
    return judge.rule("dlpack.capsule", structs.capsule_name(capsule) == b"dltensor", "without max_version the capsule is named dltensor_versioned")


def judge_members(judge, block):
    """Returns tensor_look; Stop if the tensor cannot be used."""
    tensor = block.tensor
    shape = structs.numbers(tensor.shape, tensor.ndim)
    has_shape = tensor.ndim >= 0 and len(shape) == tensor.ndim and all(n >= 0 for n in shape)
    judge.must("dlpack.shape", has_shape, f"ndim is {tensor.ndim}, shape is {shape}")
    if (block.major, block.minor) >= (1, 2):
        judge.rule("dlpack.strides", bool(tensor.strides) or not tensor.ndim, f"version {block.major}.{block.minor}, ndim is {tensor.ndim}, strides are NULL")
    else:
        judge.skip("dlpack.strides", "no tensor has version 1.2 or newer")
    wanted = layout.BITS.get(tensor.code)
    is_known = tensor.code in (3, *layout.BITS) and tensor.lanes > 0 and (wanted is None or tensor.bits in (*wanted, 128 if tensor.code == 2 else 0))
    judge.must("dlpack.type", is_known, f"code {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes")
    return tensor_look(tensor)


def judge_device(judge, array, tensor):
    device = array.__dlpack_device__()
    is_pair = isinstance(device, tuple) and len(device) == 2 and all(isinstance(n, int) for n in device)
    if judge.rule("dlpack.device", is_pair and device[0] in DEVICES, f"__dlpack_device__() is {device!r}"):
        here = (tensor.device_type, tensor.device_id)
        judge.rule("dlpack.device", tuple(map(int, device)) == here, f"__dlpack_device__() is {tuple(map(int, device))}, the tensor's device is {here}")


def says_readonly(array):
    """True, False, or None if no other protocol tells."""
    try:
        with memoryview(array) as view:
            return view.readonly
    except Exception:
        pass
    for name in ("__array_interface__", "__cuda_array_interface__"):
        data = published(array, name)
        data = data.get("data") if isinstance(data, dict) else None
        if isinstance(data, tuple) and len(data) == 2:
            return bool(data[1])
    return None


def judge_readonly(judge, array, block):
    if not isinstance(block, structs.ManagedVersioned):
        return judge.skip("dlpack.readonly", "no tensor has flags, because none has a version")
    if not says_readonly(array) or block.flags & IS_COPIED:
        return judge.skip("dlpack.readonly", "no array is read-only by another protocol")
    return judge.rule("dlpack.readonly", block.flags & IS_READONLY, f"flags are {block.flags:#x}, another protocol says read-only")


class Counted:
    """Counts calls of a tensor's deleter, by a function in its place that calls it."""

    def __init__(self, block):
        self.calls = 0
        original = block.deleter

        def call(address):
            self.calls += 1
            # The producer may use the block again, so its own function comes back.
            type(block).from_address(address).deleter = original
            if original and self.calls == 1:
                structs.DELETER(original)(address)

        self._function = structs.DELETER(call)
        block.deleter = ctypes.cast(self._function, ctypes.c_void_p).value


def leaks(array, times=64):
    """Returns True if capsules that nobody consumes leave their tensors behind, so that no address comes twice."""
    addresses = set()
    for _ in range(times):
        block, capsule, _ = newest(array)
        addresses.add(ctypes.addressof(block))
        del block, capsule
    return len(addresses) == times


def judge_capsule(make, judge):
    """The deleter is called by the capsule exactly if nobody consumed it."""
    array, block, capsule, _ = start(make, judge)
    counted = Counted(block)
    del block, capsule
    gc.collect()
    if counted.calls == 0 and not leaks(array):
        judge.rule("dlpack.unused", True)  # the capsule frees the tensor in another way
    else:
        judge.rule("dlpack.unused", counted.calls == 1, f"the deleter was called {counted.calls} times, and the tensors stay")
    block, capsule, _ = newest(array)
    counted = Counted(block)
    consume(capsule)
    del capsule
    gc.collect()
    if judge.rule("dlpack.used", counted.calls == 0, f"the deleter was called {counted.calls} times"):
        delete(block)


def judge_lifetime(make, judge):
    array, block, capsule, _ = start(make, judge)
    lives = make.watch(array)
    look = judge_members(judge, block)
    is_host = block.tensor.device_type in layout.DEVICES_OF_THE_CPU
    if not is_host:
        judge.skip("dlpack.lifetime", "no array is in host memory")
    if is_host and layout.unmapped(*look):
        return
    before = elements(*look) if is_host else None
    consume(capsule)
    del array, capsule
    if is_host:
        same_elements(judge, "dlpack.lifetime", before, look)
    delete(block)
    if lives is None:
        judge.skip("dlpack.deleter", "the type has no weak references")
    else:
        judge.rule("dlpack.deleter", not lives(), "the object lives on after its deleter was called")


def judge_threads(make, judge):
    array, block, capsule, _ = start(make, judge)
    consume(capsule)
    del capsule
    before = references(array)
    on_thread(lambda: delete(block))
    taken = []
    for _ in range(8):
        other, held, _ = newest(array)
        consume(held)
        taken.append(other)
    for other in taken:
        on_thread(lambda other=other: delete(other))
    judge.rule("dlpack.thread", references(array) <= before, f"{references(array) - before} references to the object are left")


def judge_copy(make, judge):
    array, block, capsule, is_new = start(make, judge)
    if not is_new:
        for name in ("dlpack.copy", "dlpack.no-copy", "dlpack.dl-device"):
            judge.skip(name, "__dlpack__ does not know `max_version`, so it is older than these arguments")
        return
    address = tensor_look(block.tensor)[0]
    has_elements = 0 not in structs.numbers(block.tensor.shape, block.tensor.ndim)
    for copy, rule in ((True, "dlpack.copy"), (False, "dlpack.no-copy")):
        try:
            other, held = export(array, max_version=NEWEST, copy=copy, **stream_for(array))
        except (BufferError, NotImplementedError):
            judge.rule(rule, True)
            continue
        except Exception as error:
            judge.rule(rule, False, f"copy={copy} raises {short(error)}")
            continue
        is_same = tensor_look(other.tensor)[0] == address
        is_copied = bool(other.flags & IS_COPIED)
        judge.rule(rule, not has_elements or is_same != copy, f"copy={copy}: the tensor has {'the same memory' if is_same else 'another memory'}")
        if not copy:
            judge.rule(rule, not is_copied, "copy=False: the flag IS_COPIED is set")
        del other, held
    judge_dl_device(judge, array)


def judge_dl_device(judge, array):
    device = array.__dlpack_device__()
    try:
        export(array, max_version=NEWEST, dl_device=device, **stream_for(array))
        judge.rule("dlpack.dl-device", True)
    except Exception as error:
        judge.rule("dlpack.dl-device", False, f"dl_device={tuple(map(int, device))} raises {short(error)}")


def judge_table(make, judge):
    array = make()
    capsule = getattr(type(array), "__dlpack_c_exchange_api__", None)
    if capsule is None:
        for name in ("dlpack.table", "dlpack.table-agrees"):
            judge.skip(name, "no type has __dlpack_c_exchange_api__")
        return
    is_capsule = isinstance(capsule, structs.CapsuleType) and structs.capsule_name(capsule) == b"dlpack_exchange_api"
    judge.must("dlpack.table", is_capsule, f"{capsule!r}")
    table = structs.DLTable.from_address(structs.capsule_pointer(capsule))
    judge.must("dlpack.table", table.major == 1, f"the version is {table.major}.{table.minor}")
    missing = [name for name in ("allocate", "from_object", "to_object", "current_work_stream") if not getattr(table, name)]
    judge.must("dlpack.table", not missing, f"NULL: {', '.join(missing)}")
    given = ctypes.c_void_p()
    function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(table.from_object)
    try:
        ours, capsule, _ = newest(array)
        function(array, ctypes.addressof(given))
    except Exception as error:
        return judge.skip("dlpack.table-agrees", f"the array is refused ({short(error)})")
    block = structs.ManagedVersioned.from_address(given.value)
    judge.rule("dlpack.table-agrees", tensor_look(block.tensor) == tensor_look(ours.tensor), "address, shape, strides or itemsize differ")
    delete(block)
    return None


def judge_order(make, judge):
    """`make` puts the work behind a gate, so a probe on the stream that is passed must not be complete yet."""
    gate = make.gate()
    array = make(gate)
    if array is None or not gate.is_used or gate.is_opencl:
        return judge.skip("dlpack.order", "the factory has no parameter `gate`, or did not use it for a CUDA stream")
    stream = gate.driver.new_stream()
    try:
        has_returned, result = on_thread(lambda: array.__dlpack__(stream=stream), LOOKS)
        if not has_returned:
            return judge.skip("dlpack.order", "__dlpack__ waits for the device itself")
        del result
        return judge.rule("dlpack.order", not gate.passes(stream), "work on the stream that was passed runs before the pending work")
    finally:
        gate.open()


STEPS = {"dlpack": (publishes, [judge_tensor, judge_capsule, judge_lifetime, judge_threads, judge_copy, judge_table, judge_order])}
