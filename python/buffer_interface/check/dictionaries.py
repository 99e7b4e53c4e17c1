"""The two interfaces that publish a dictionary: __array_interface__ (and __array_struct__), and __cuda_array_interface__."""

from . import cuda, layout, structs
from .judge import Stop, elements, is_int, is_ints, kind_of, same_elements, short

NAMES = {"array": "__array_interface__", "cai": "__cuda_array_interface__"}
VERSIONS = {"array": range(0, 4), "cai": range(0, 4)}


def attribute(judge, prefix, array):
    """Returns the value of the attribute, or None if there is none."""
    try:
        value = getattr(array, NAMES[prefix])
    except AttributeError:
        return None
    except Exception as error:
        judge.must(prefix + ".error", False, f"{NAMES[prefix]} raises {short(error)}")
    judge.rule(prefix + ".error", True)
    return value


def publishes(prefix):
    def has(array):
        if isinstance(array, type):
            return False
        try:
            return hasattr(array, NAMES[prefix]) or (prefix == "array" and hasattr(array, "__array_struct__"))
        except Exception:
            return True

    return has


def judge_members(judge, prefix, value):
    """Judges each member of the dictionary alone. Returns (shape, strides, itemsize); Stop if one cannot be used."""
    judge.must(
        prefix + ".dict",
        isinstance(value, dict) and {"shape", "typestr", "version"} <= set(value),
        f"a dict without {sorted({'shape', 'typestr', 'version'} - set(value))}" if isinstance(value, dict) else f"a {kind_of(value)}",
    )
    version, shape, typestr, strides = (value.get(name) for name in ("version", "shape", "typestr", "strides"))
    judge.rule(prefix + ".version", is_int(version) and version in VERSIONS[prefix], f"version is {version!r}")
    has_shape = judge.rule(prefix + ".shape", is_ints(shape) and all(n >= 0 for n in shape), f"shape is {shape!r}")
    size = layout.typestr_size(typestr)
    judge.rule(prefix + ".typestr", size is not None, f"typestr is {typestr!r}")
    if has_shape:
        fits = strides is None or (is_ints(strides) and len(strides) == len(shape))
        has_shape = judge.rule(prefix + ".strides", fits, f"shape is {shape!r}, strides are {strides!r}")
    judge_descr(judge, prefix, value, size)
    mask = value.get("mask")
    judge.rule(prefix + ".mask", mask is None or hasattr(mask, NAMES[prefix]), f"mask is a {kind_of(mask)} without {NAMES[prefix]}")
    if not has_shape or size is None:
        raise Stop
    return shape, layout.c_strides(shape, size) if strides is None else strides, size


def judge_descr(judge, prefix, value, size):
    descr = value.get("descr")
    if descr is None:
        return judge.skip(prefix + ".descr", "no array has descr")
    try:
        total = layout.descr_size(descr)
    except (ValueError, TypeError) as error:
        return judge.rule(prefix + ".descr", False, f"{error}")
    return judge.rule(prefix + ".descr", size is None or total == size, f"the fields have {total} bytes, typestr is {value['typestr']!r}")


def is_data(data):
    return isinstance(data, tuple) and len(data) == 2 and is_int(data[0]) and data[0] >= 0 and isinstance(data[1], bool)


def judge_array(make, judge):
    array = make()
    judge_struct(array, judge)
    value = attribute(judge, "array", array)
    if value is None:
        return
    shape, strides, size = judge_members(judge, "array", value)
    data = value.get("data")
    if data is None or not isinstance(data, tuple):
        try:
            owner = memoryview(array if data is None else data)
        except TypeError:
            owner = None
        judge.rule("array.data", owner is not None, f"data is a {kind_of(data)} without the buffer protocol")
        return
    judge.must("array.data", is_data(data), f"data is {data!r}")
    away = layout.unmapped(data[0], shape, strides, size)
    judge.must("array.memory", away is None, away)
    second = attribute(judge, "array", array)
    judge.rule("array.again", isinstance(second, dict) and all(second.get(k) == value[k] for k in ("shape", "typestr", "data")), "shape, typestr or data differ")
    before = elements(data[0], shape, strides, size)
    del value, second
    same_elements(judge, "array.lifetime", before, (data[0], shape, strides, size))


def judge_struct(array, judge):
    try:
        capsule = array.__array_struct__
    except AttributeError:
        for name in ("array.struct", "array.struct-agrees", "array.struct-flags"):
            judge.skip(name, "no array has __array_struct__")
        return
    except Exception as error:
        judge.must("array.error", False, f"__array_struct__ raises {short(error)}")
    if not judge.rule("array.struct", isinstance(capsule, structs.CapsuleType), f"a {kind_of(capsule)}"):
        return
    raw = structs.ArrayStruct.from_address(structs.capsule_pointer(capsule))
    if not judge.rule("array.struct", raw.two == 2, f"two is {raw.two}"):
        return
    shape, strides = structs.numbers(raw.shape, raw.nd), structs.numbers(raw.strides, raw.nd)
    if not strides:
        strides = layout.c_strides(shape, raw.itemsize)
    said = {
        1: layout.is_c_contiguous(shape, strides, raw.itemsize),
        2: layout.is_f_contiguous(shape, strides, raw.itemsize),
        0x400: layout.unmapped(raw.data or 0, shape, strides, raw.itemsize, writable=True) is None,
    }
    wrong = [name for bit, name in ((1, "C-contiguous"), (2, "F-contiguous"), (0x400, "writeable")) if raw.flags & bit and not said[bit]]
    judge.rule("array.struct-flags", not wrong, f"flags are {raw.flags:#x}, but the array is not {', '.join(wrong)}")
    value = getattr(array, "__array_interface__", None)
    if not isinstance(value, dict) or not is_data(value.get("data")):
        judge.skip("array.struct-agrees", "no array has an address in both")
        return
    given = (value.get("shape"), value["data"][0], layout.typestr_size(value.get("typestr")), value["data"][1])
    found = (shape, raw.data or 0, raw.itemsize, not raw.flags & 0x400)
    seen = f"shape, address, itemsize and read-only are {given} in the dict, {found} in the structure (flags {raw.flags:#x})"
    judge.rule("array.struct-agrees", given == found, seen)


def judge_cai(make, judge):
    array = make()
    value = attribute(judge, "cai", array)
    if value is None:
        return
    shape, strides, size = judge_members(judge, "cai", value)
    data, stream = value.get("data"), value.get("stream")
    is_empty = 0 in shape or size == 0
    judge.rule("cai.stream", stream is None or (is_int(stream) and stream != 0), f"stream is {stream!r}")
    judge.must("cai.data", is_data(data) and (data[0] or is_empty), f"data is {data!r}")
    if is_empty:
        judge.rule("cai.empty", data[0] == 0, f"shape is {shape}, the pointer is {data[0]:#x}")
        return
    judge.skip("cai.empty", "all arrays have elements")
    second = attribute(judge, "cai", array)
    judge.rule("cai.again", isinstance(second, dict) and all(second.get(k) == value[k] for k in ("shape", "typestr", "data")), "shape, typestr or data differ")
    driver = cuda.driver()
    if driver is None:
        judge.skip("cai.memory", "there is no CUDA driver")
        return
    below, above = layout.reach(shape, strides, size)
    away = driver.outside(data[0] - below, below + above)
    judge.rule("cai.memory", away is None, away)


def judge_cai_order(make, judge):
    """`make` puts the work behind a gate, so a probe on the stream that was named must not be complete yet."""
    gate = make.gate()
    array = make(gate)
    if array is None or not gate.is_used or gate.is_opencl:
        return judge.skip("cai.order", "the factory has no parameter `gate`, or did not use it for a CUDA stream")
    value = attribute(judge, "cai", array)
    try:
        if value is None or not isinstance(value, dict):
            return None
        stream = value.get("stream")
        if not stream:
            return judge.rule("cai.order", value.get("version", 0) < 3, "no stream is named while work is pending")
        return judge.rule("cai.order", not gate.passes(stream), f"work on stream {stream:#x} runs before the pending work")
    finally:
        gate.open()


STEPS = {
    "array": (publishes("array"), [judge_array]),
    "cai": (publishes("cai"), [judge_cai, judge_cai_order]),
}
