"""Judge: receives the results of one step, and passes them on. Helpers that several protocols use."""

import ctypes
import gc
import sys
import threading
import weakref

from . import layout


class Stop(Exception):
    """The rest of a step cannot be judged, because of a result that was passed on."""


class Judge:
    """`send(rule, status, text)` gets each result. A status is holds, broken or skip."""

    def __init__(self, send):
        self._send = send

    def rule(self, name, is_kept, seen=""):
        """Passes on whether the rule is kept. Returns the same."""
        self._send(name, "holds" if is_kept else "broken", "" if is_kept else seen)
        return bool(is_kept)

    def must(self, name, is_kept, seen=""):
        """Does the same, and ends the step if the rule is broken."""
        if not self.rule(name, is_kept, seen):
            raise Stop

    def skip(self, name, why):
        self._send(name, "skip", why)


def kind_of(value):
    return type(value).__name__


def published(array, name):
    """Returns an attribute of another protocol. None: it is not there, or raises, which the steps of that protocol report."""
    try:
        return getattr(array, name, None)
    except Exception:
        return None


def is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_ints(value):
    return isinstance(value, tuple) and all(map(is_int, value))


def short(error):
    text = str(error).split("\n")[0]
    return f"{kind_of(error)}: {text[:160]}" if text else kind_of(error)


def elements(address, shape, strides, itemsize):
    """Returns the bytes of up to 4096 elements in the order of their indices."""
    found, index = [], [0] * len(shape)
    while 0 not in shape and len(found) < 4096:
        at = address + sum(i * stride for i, stride in zip(index, strides))
        found.append(ctypes.string_at(at, itemsize))
        for axis in reversed(range(len(shape))):
            index[axis] += 1
            if index[axis] < shape[axis]:
                break
            index[axis] = 0
        else:
            break
    return found


LOOKS = 250  # 20 ms apart, in which a call returns that waits for no device; a loaded machine delays both


def on_thread(function, looks=None):
    """Runs a function on another thread. Returns (has it returned, its result); raises what it raises.

    With `looks`, looks only so often whether the function has returned.
    """
    result = []

    def run():
        try:
            result.append((function(), None))
        except BaseException as error:
            result.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    if looks is None:
        thread.join()
    for _ in range(looks or 0):
        if result:
            break
        thread.join(0.02)
    if not result:
        return False, None
    if result[0][1] is not None:
        raise result[0][1]
    return True, result[0][0]


def together(function, threads=4, times=25):
    """Calls a function often on several threads. Returns the first exception, or None."""
    errors, start = [], threading.Barrier(threads)

    def run():
        start.wait()
        try:
            for _ in range(times):
                function()
        except Exception as error:
            errors.append(error)

    started = [threading.Thread(target=run) for _ in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return errors[0] if errors else None


def references(obj):
    gc.collect()
    return sys.getrefcount(obj)


def watch(obj):
    """Returns a function that says whether the object still exists, or None if the type has no weak references."""
    try:
        reference = weakref.ref(obj)
    except TypeError:
        return None

    def lives():
        gc.collect()
        return reference() is not None

    return lives


def churn():
    """Allocates and fills blocks of many sizes, so that freed memory does not keep its old bytes."""
    kept = [bytearray(b"\xa5") * size for size in (16, 32, 64, 96, 128, 256, 512, 1024, 4096, 65536) for _ in range(50)]
    del kept
    gc.collect()


def same_elements(judge, rule, before, look):
    """Judges that memory still has its bytes, after blocks were allocated over what was freed. `look`: (address, shape,
    strides, itemsize)."""
    churn()
    away = layout.unmapped(*look)
    judge.rule(rule, away is None and elements(*look) == before, away or "the bytes have changed")
