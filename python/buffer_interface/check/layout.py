"""Reach, contiguity and sizes of formats, computed from shape, strides and type. Plain Python, without limits of integers."""

import math
import re
import struct
import sys

DEVICES_OF_THE_CPU = (1, 3)
# Codes of DLPack and the bits that go with them (DLDataTypeCode; table of section 3 of the specification).
BITS = {0: (8, 16, 32, 64), 1: (8, 16, 32, 64), 2: (16, 32, 64), 4: (16,), 5: (64, 128), 6: (8,)}
BITS |= {code: (8,) for code in range(7, 15)} | {15: (6,), 16: (6,), 17: (4,)}
KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
TYPESTR = re.compile(r"([<>|])([tbiufcmMOSUV])(\d+)(\[.*\])?")
ORDER, OTHER = "<>" if sys.byteorder == "little" else "><"


def c_strides(shape, itemsize):
    strides = []
    for extent in reversed(shape):
        strides.append(itemsize)
        itemsize *= extent
    return tuple(reversed(strides))


def f_strides(shape, itemsize):
    return tuple(reversed(c_strides(tuple(reversed(shape)), itemsize)))


def is_dense(shape, strides, wanted):
    return 0 in shape or all(extent == 1 or a == b for extent, a, b in zip(shape, strides, wanted))


def is_c_contiguous(shape, strides, itemsize):
    return is_dense(shape, strides, c_strides(shape, itemsize))


def is_f_contiguous(shape, strides, itemsize):
    return is_dense(shape, strides, f_strides(shape, itemsize))


def reach(shape, strides, itemsize):
    """Returns (bytes below element [0, ..., 0], bytes from it to the end of the last element). No elements: (0, 0)."""
    if 0 in shape:
        return 0, 0
    steps = [(extent - 1) * stride for extent, stride in zip(shape, strides)]
    return -sum(step for step in steps if step < 0), sum(step for step in steps if step > 0) + itemsize


def mapped_ranges(writable=False):
    """Returns [(start, end)] of the memory of this process, merged, or None where the system does not say."""
    merged = []
    try:
        with open("/proc/self/maps") as lines:
            for line in lines:
                place, rights = line.split()[:2]
                start, end = (int(number, 16) for number in place.split("-"))
                if rights[0] != "r" or (writable and rights[1] != "w"):
                    continue
                if merged and merged[-1][1] == start:
                    merged[-1] = (merged[-1][0], end)
                else:
                    merged.append((start, end))
    except OSError:
        return None
    return merged


def unmapped(address, shape, strides, itemsize, writable=False):
    """Returns a sentence if bytes of the elements are no memory of this process, otherwise None."""
    below, above = reach(shape, strides, itemsize)
    if below + above == 0:
        return None
    first, end = address - below, address + above
    ranges = mapped_ranges(writable)
    if ranges is None or any(start <= first and end <= stop for start, stop in ranges):
        return None
    return f"the elements reach {first:#x} to {end:#x}, which is no {'writable ' if writable else ''}memory of the process"


def typestr_size(typestr):
    """Returns the bytes of an element, or None if the typestr is not valid."""
    match = TYPESTR.fullmatch(typestr) if isinstance(typestr, str) else None
    if not match:
        return None
    _, kind, count = match.groups()[:3]
    count = int(count)
    return (count + 7) // 8 if kind == "t" else 4 * count if kind == "U" else count


def descr_size(descr):
    """Returns the bytes of a list of fields, as the array interface has it. ValueError: it is no such list."""
    if isinstance(descr, str):
        size = typestr_size(descr)
        if size is None:
            raise ValueError(f"{descr!r} is no typestr")
        return size
    if not isinstance(descr, list):
        raise ValueError(f"{descr!r} is no list of fields")
    total = 0
    for field in descr:
        if not isinstance(field, (tuple, list)) or len(field) not in (2, 3):
            raise ValueError(f"{field!r} is no field")
        shape = field[2] if len(field) == 3 else ()
        total += descr_size(field[1]) * math.prod((shape,) if isinstance(shape, int) else shape)
    return total


# Formats of PEP 3118 and of the module struct: codes beside those of struct.
EXTRA = {"Zf": 8, "Zd": 16, "Zg": None, "F": 8, "D": 16, "w": 4, "u": 2, "g": None, "O": struct.calcsize("P"), "&": None}
TOKEN = re.compile(r"(?P<order>[@=<>!^])|(?P<count>\d+)|(?P<dims>\(\d+(?:,\d+)*\))|(?P<code>Z[fdg]|[a-zA-Z?&])|:[^:]*:|\s+")


def format_sizes(text):
    """Returns the bytes that an element of a buffer format can have, or None if they are not known here.

    PEP 3118 does not say whether a structure in native order is padded at its end, so both sizes count. ValueError: the
    text is no format.
    """
    sizes = set()
    for is_padded in (False, True):
        size, rest = _size(text, 0, "@", is_padded, False)
        if rest != len(text):
            raise ValueError(f"{text!r} has an unexpected {text[rest]!r}")
        sizes.add(size)
    return None if None in sizes else sizes


def _size(text, at, order, is_padded, is_nested):
    """Returns (size or None, position behind the format or the brace that ends it)."""
    total, known, widest, times = 0, True, 1, 1
    while at < len(text):
        if is_nested and text[at] == "}":
            to = widest if order == "@" and is_padded else 1
            return (-(-total // to) * to if known else None), at + 1
        if text.startswith("T{", at):
            size, at = _size(text, at + 2, order, is_padded, True)
            align = 1
        else:
            match = TOKEN.match(text, at)
            if not match:
                raise ValueError(f"{text!r} has an unexpected {text[at]!r}")
            at = match.end()
            order = match["order"] or order
            if match["count"] or match["dims"]:
                times *= math.prod(int(number) for number in re.findall(r"\d+", match[0]))
            if not match["code"]:
                continue
            size, align = _code_size(match["code"], order)
        known = known and size is not None
        if known:
            total = -(-total // align) * align + size * times
            widest = max(widest, align)
        times = 1
    if is_nested:
        raise ValueError(f"{text!r} has no closing brace")
    return total if known else None, at


def _code_size(code, order):
    """Returns (bytes, alignment) of one code."""
    if code in EXTRA:
        return EXTRA[code], 1
    try:
        size = struct.calcsize(("=" if order == "^" else order) + code)
    except struct.error as error:
        raise ValueError(f"{code!r} is no type of a buffer format") from error
    return size, max(struct.calcsize("@c" + code) - size, 1) if order == "@" and code not in "xcbB?sp" else 1
