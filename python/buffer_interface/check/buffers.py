"""The buffer protocol: each combination of requests, through PyObject_GetBuffer."""

import ctypes
import math

from . import layout, structs
from .judge import elements, on_thread, references, same_elements, short, together

SIMPLE, WRITABLE, FORMAT, ND, STRIDES, INDIRECT = 0, 1, 4, 8, 0x18, 0x118
C, F, ANY = 0x38, 0x58, 0x98
REQUESTS = {
    "SIMPLE": SIMPLE,
    "ND": ND,
    "ND|FORMAT": ND | FORMAT,
    "STRIDES": STRIDES,
    "STRIDES|FORMAT": STRIDES | FORMAT,
    "INDIRECT|FORMAT": INDIRECT | FORMAT,
    "C_CONTIGUOUS|FORMAT": C | FORMAT,
    "F_CONTIGUOUS|FORMAT": F | FORMAT,
    "ANY_CONTIGUOUS|FORMAT": ANY | FORMAT,
    "WRITABLE|STRIDES|FORMAT": WRITABLE | STRIDES | FORMAT,
    "WRITABLE": WRITABLE,
}
FULL = STRIDES | FORMAT


def publishes(array):
    """A type has the protocol if its buffer can be requested, or is refused with another error than that it has none."""
    if isinstance(array, type):
        return False
    try:
        memoryview(array).release()
    except TypeError as error:
        return "bytes-like object is required" not in str(error)
    except Exception:
        return True
    return True


def take(array, flags):
    """Returns (Py_buffer, None), or (None, exception)."""
    view = structs.PyBuffer()
    try:
        structs.get_buffer(array, ctypes.addressof(view), flags)
    except Exception as error:
        return None, (error, view.obj)
    return view, None


def give_back(view):
    structs.release_buffer(ctypes.addressof(view))


def look_of(view):
    """(address, shape, strides, itemsize) of a buffer that was requested with FULL."""
    shape = structs.numbers(view.shape, view.ndim)
    strides = structs.numbers(view.strides, view.ndim) or layout.c_strides(shape, view.itemsize)
    return view.buf or 0, shape, strides, view.itemsize


def judge_requests(make, judge):
    array = make()
    full, refused = take(array, FULL)
    if full is None:
        judge.rule("buffer.refusal", isinstance(refused[0], BufferError), f"the request STRIDES|FORMAT raises {short(refused[0])}")
        return judge.skip("buffer.len", f"the array gives no buffer ({short(refused[0])})")
    said = (full.readonly, look_of(full))
    for name, flags in REQUESTS.items():
        view, refused = take(array, flags)
        if view is None:
            judge.rule("buffer.refusal", isinstance(refused[0], BufferError), f"the request {name} raises {short(refused[0])}")
            judge.rule("buffer.obj", not refused[1], f"obj is not NULL after the refusal of {name}")
            continue
        judge_one(judge, name, flags, view, said)
        give_back(view)
    give_back(full)
    return None


def judge_one(judge, name, flags, view, said):
    shape, strides = said[1][1], said[1][2]
    judge.rule("buffer.obj", view.obj is not None, f"obj is NULL for {name}")
    judge.rule(
        "buffer.len",
        0 <= view.ndim <= 64 and view.len == math.prod(shape) * view.itemsize,
        f"{name}: len is {view.len}, shape is {shape}, itemsize is {view.itemsize}, ndim is {view.ndim}",
    )
    has_shape = bool(view.shape) or not view.ndim or not flags & ND
    judge.rule("buffer.shape", has_shape and all(n >= 0 for n in shape), f"{name}: ndim is {view.ndim}, shape is {shape if view.shape else 'NULL'}")
    judge.rule("buffer.strides", bool(view.strides) or not view.ndim or flags & STRIDES != STRIDES, f"{name}: strides are NULL")
    judge.rule("buffer.suboffsets", not view.suboffsets or flags & INDIRECT == INDIRECT, f"{name}: suboffsets are given")
    has_format = view.format is not None if flags & FORMAT else view.format is None
    judge.rule("buffer.format", has_format, f"{name}: format is {view.format!r}")
    if flags & FORMAT and view.format is not None:
        judge_format(judge, view)
    wants = flags & WRITABLE
    judge.rule("buffer.writable", not view.readonly if wants else view.readonly == said[0], f"{name}: readonly is {view.readonly}, and {said[0]} for STRIDES|FORMAT")
    is_c = layout.is_c_contiguous(shape, strides, view.itemsize)
    is_f = layout.is_f_contiguous(shape, strides, view.itemsize)
    needs_c = flags & STRIDES != STRIDES or flags & C == C
    is_right = is_c if needs_c else is_f if flags & F == F else is_c or is_f if flags & ANY == ANY else True
    judge.rule("buffer.contiguous", is_right, f"{name} is given, though shape is {shape} and strides are {strides}")


def judge_format(judge, view):
    text = view.format.decode("utf-8", "replace")
    try:
        sizes = layout.format_sizes(text)
    except ValueError as error:
        return judge.rule("buffer.format", False, str(error))
    if sizes is None:
        return judge.skip("buffer.itemsize", "the sizes of the formats are those of the compiler")
    return judge.rule("buffer.itemsize", view.itemsize in sizes, f"format is {text!r}, which has {min(sizes)} bytes, itemsize is {view.itemsize}")


def judge_memory(make, judge):
    array = make()
    view, _ = take(array, FULL)
    if view is None:
        return
    look = look_of(view)
    away = layout.unmapped(*look, writable=not view.readonly)
    judge.must("buffer.memory", away is None, away)
    again, _ = take(array, FULL)
    judge.rule("buffer.again", again is not None and look_of(again) == look, "address, shape, strides or itemsize differ")
    if again is not None:
        give_back(again)
    before = elements(*look)
    del array
    same_elements(judge, "buffer.lifetime", before, look)
    give_back(view)


def judge_release(make, judge):
    array = make()
    view, _ = take(array, FULL)
    if view is None:
        return None
    give_back(view)
    before = references(array)
    for _ in range(10):
        view, _ = take(array, FULL)
        if view is None:
            return judge.rule("buffer.again", False, "a second request is refused")
        give_back(view)
    left = references(array) - before
    judge.rule("buffer.release", left == 0, f"ten buffers were released, and {left} references to the object are left")
    view, _ = take(array, FULL)
    if view is None:
        return judge.rule("buffer.again", False, "a second request is refused")
    on_thread(lambda: give_back(view))

    def one():
        view, refused = take(array, FULL)
        if view is None:
            raise refused[0]
        give_back(view)

    error = together(one)
    left = references(array) - before
    judge.rule("buffer.threads", error is None and left == 0, short(error) if error else f"{left} references to the object are left")
    lives = make.watch(array)
    del array
    if lives:
        judge.rule("buffer.release", not lives(), "the object lives on after its buffers were released")
    return None


STEPS = {"buffer": (publishes, [judge_requests, judge_memory, judge_release])}
