"""
Threads that use the same arrays in every way while others release, replace and collect them.

Without a GIL the calls of the extension run at the same time. With a GIL they take turns between two calls only. Each
call may succeed, or raise an exception that says that the array was released or is in use. A view of a masked array has
a mask, and at the end every producer is gone.

The suite runs a short form. The long form is one command; it forks children too:

    python tests/python/test_races.py SECONDS THREADS [SEED]
"""

import faulthandler
import gc
import os
import random
import re
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import conftest  # chooses the drivers before the library is loaded

import buffer_interface as bi
from buffer_interface import _core

SHAPE = (6, 8)
ALLOWED = (bi.InvalidArrayError, BufferError)
REASONS = re.compile(
    "was released|consumed before|mapping is closed|is closing the mapping|mapping has ended|is mapped|are in use"
)
PROTOCOLS = [None, "dlpack", "buffer", "array_struct", "array_interface"]


class Producer:
    """Host memory of its own for each import, so that it is gone when the import is gone."""

    def __init__(self):
        self.array = np.ones(SHAPE, "f4")
        self.__array_interface__ = self.array.__array_interface__
        self.__array_struct__ = self.array.__array_struct__

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Described:
    """A dictionary whose list `descr` other threads change."""

    def __init__(self, array):
        self.array, self.descr = array, [("", "<f4")]
        self.__array_interface__ = {**array.__array_interface__, "descr": self.descr}


class Cai:
    """A CUDA array, perhaps with a mask, by its dictionary."""

    def __init__(self, array, mask=None):
        self.array, self.mask = array, mask

    @property
    def __cuda_array_interface__(self):
        members = dict(self.array.__cuda_array_interface__)
        return {**members, "mask": Cai(self.mask)} if self.mask is not None else members


class Shared:
    """What all threads use: arrays in slots, a capsule, a mapping, and the producers that were made."""

    def __init__(self, devices):
        self.devices = devices
        self.slots = [self.make(random.Random(i)) for i in range(4)]
        self.masked = [self.make_masked() if "cuda" in devices else None for _ in range(2)]
        self.capsule = [np.ones(SHAPE, "f4").__dlpack__(max_version=(1, 0))]
        self.mapping = [self.slots[0].map("r")]
        self.described = Described(np.ones(SHAPE, "f4"))
        self.producers = []  # weak references
        self.failures = []
        self.stops = False

    def make(self, r):
        kind = r.randrange(4)
        if kind == 0:
            return bi.empty(SHAPE, "f4", device=r.choice(self.devices))
        if kind == 1:
            return bi.full(SHAPE, 1, "f4", device=r.choice(self.devices))
        producer = Producer()
        if hasattr(self, "producers"):
            self.producers.append(weakref.ref(producer))
        return bi.buffer_interface(producer, protocol=r.choice([None, "dlpack", "array_struct", "array_interface"]))

    def make_masked(self):
        whole = Cai(bi.zeros(SHAPE, "f4", device="cuda"), bi.zeros(SHAPE, "u1", device="cuda"))
        return bi.buffer_interface(whole, mask="keep")


def any_array(s, r):
    return r.choice(s.slots)


def replace(s, r):
    s.slots[r.randrange(len(s.slots))] = s.make(r)


def release(s, r):
    any_array(s, r).release()


def take_views(s, r):
    array = any_array(s, r)
    for view in (array[1:], array.T, array[::2, None], array.reshape(-1), array.view("u4"), array.broadcast_to((2, *SHAPE))):
        assert view.ndim in (1, 2, 3)
        assert view.released in (True, False)


def look(s, r):
    array = any_array(s, r)
    array.shape, array.strides, array.typestr, array.readonly, array.device, array.backend, array.nbytes  # noqa: B018
    array.device_name, array.device_spec, array.context, array.offset, array.stream, array.host_pointer  # noqa: B018
    array.dtype, array.buffer, array.descr, array.mask, hash(array.buffer)  # noqa: B018
    repr(array), len(array)


def export_host(s, r):
    array = any_array(s, r)
    if array.backend != "host":
        return
    kind = r.randrange(6)
    if kind == 0:
        assert np.from_dlpack(array).shape == SHAPE
    elif kind == 1:
        assert np.asarray(memoryview(array)).shape == SHAPE
    elif kind == 2:
        assert array.__array_interface__["shape"] == SHAPE
    elif kind == 3:
        assert array.__array_struct__ is not None
    elif kind == 4:
        assert bi.buffer_interface(array.__dlpack__(max_version=(1, 3))).shape == SHAPE
    else:
        assert bi.buffer_interface(array.__dlpack__()).shape == SHAPE


def export_device(s, r):
    array = any_array(s, r)
    if array.backend != "cuda":
        return
    for _ in range(3):
        assert array.__cuda_array_interface__["shape"] == SHAPE
    assert array.cuda_array_interface(version=2)["shape"] == SHAPE
    imported = bi.buffer_interface(Cai(array), protocol="cuda_array_interface")
    assert imported.shape == SHAPE
    imported.release()
    assert bi.buffer_interface(array.__dlpack__(max_version=(1, 0), stream=1)).shape == SHAPE


def import_again(s, r):
    array = any_array(s, r)
    again = bi.buffer_interface(array, protocol=r.choice([None, "native", "dlpack"]), sync=r.random() < 0.7)
    assert again.shape == SHAPE
    again.__buffer_interface__(1).synchronize()
    with again:
        again[0].fill(1)


def import_numpy(s, r):
    source = np.ones(SHAPE, "f4")
    for protocol in PROTOCOLS:
        view = bi.buffer_interface(source, protocol=protocol)
        part = view[1:]
        view.release()
        assert part.item(0, 0) == 1


def import_described(s, r):
    view = bi.buffer_interface(s.described, protocol="array_interface")
    assert view.typestr == "<f4"


def change_described(s, r):
    descr = s.described.descr
    descr.clear()
    descr.append((str(), f"<f{4}"))  # a new text each time


def copy(s, r):
    array = any_array(s, r)
    made = r.choice([array.copy, lambda: array.to(r.choice(s.devices)), lambda: bi.asarray(array, copy=True)])()
    assert made.shape == SHAPE
    if made is not array:
        made.release()


def write(s, r):
    array = any_array(s, r)
    if array.readonly:
        return
    kind = r.randrange(4)
    if kind == 0:
        array.fill(1)
    elif kind == 1:
        array[0, :] = 1
    elif kind == 2:
        bi.copyto(array, any_array(s, r))
    else:
        array[...] = np.ones(SHAPE, "f4")


def read(s, r):
    array = any_array(s, r)
    array.item(0, 0)
    assert len(array.tobytes()) == 192
    assert len(array.tolist()) == 6
    assert array.numpy().shape == SHAPE


def use_mapping(s, r):
    kind = r.randrange(6)
    mapping = s.mapping[0]
    if kind == 0:
        s.mapping[0] = any_array(s, r).map("r")
    elif kind == 1:
        mapping.close()
    elif kind == 2:
        assert memoryview(mapping).nbytes == 192
    elif kind == 3:
        repr(mapping), mapping.closed, mapping.mode  # noqa: B018
    else:
        with any_array(s, r).map("r") as own:
            s.mapping[0] = own
            np.asarray(own)


def end_mapping(s, r):
    """The end of a `with` block never raises because of buffers that are in use."""
    array = bi.full(SHAPE, 1, "f4", device=r.choice(s.devices))
    mapping = array.map("r")
    s.mapping[0] = mapping
    for _ in range(r.randrange(50)):
        pass
    mapping.__exit__(None, None, None)


def use_masked(s, r):
    i = r.randrange(len(s.masked))
    array = s.masked[i]
    if array is None:
        return
    kind = r.randrange(8)
    if kind == 0:
        s.masked[i] = s.make_masked()
    elif kind == 1:
        array.release()
    elif kind == 2:
        assert array[1:].mask is not None
        assert array.T.mask is not None
    elif kind == 3:
        assert array.copy().mask is not None
        assert array.to("host").mask is not None
    elif kind == 4:
        assert "mask" in array.__cuda_array_interface__
        assert bi.buffer_interface(array, mask="keep").mask is not None
    elif kind == 5:
        assert bi.asarray(array, device="host").mask is not None
    elif kind == 6:
        for refused in (lambda: array.__dlpack__(), lambda: array.fill(1), lambda: bi.copyto(bi.empty(SHAPE, "f4"), array)):
            try:
                refused()
            except bi.UnsupportedError:
                continue
            raise AssertionError("a masked array was used without its mask")
    else:
        host = array.to("host")
        other = threading.Thread(target=host.release)
        other.start()
        try:
            assert not hasattr(host, "__array_interface__")
            assert not hasattr(host, "__array_struct__")
            try:
                memoryview(host)
            except bi.UnsupportedError:
                pass
            else:
                raise AssertionError("a masked array was used without its mask")
        finally:
            other.join()


def take_capsule(s, r):
    if r.random() < 0.3:
        s.capsule[0] = np.ones(SHAPE, "f4").__dlpack__(max_version=r.choice([(1, 0), None]))
    bi.buffer_interface(s.capsule[0]).release()


def refer(s, r):
    array = any_array(s, r)
    weak = weakref.ref(array)
    other = weak()
    assert other is None or other is array
    s.weak = weakref.ref(array)
    held = getattr(s, "weak", weak)()
    del array, other
    if held is not None:
        held[1:]


def fail(s, r):
    array = any_array(s, r)
    for wrong, kind in (
        (lambda: array[99], IndexError),
        (lambda: array.reshape(5), ValueError),
        (lambda: array.fill("x"), (TypeError, ValueError)),
        (lambda: array.view("nonsense"), (TypeError, ValueError)),
        (lambda: array + 1, TypeError),
        (lambda: array.sum(), AttributeError),
        (lambda: bi.buffer_interface(3), TypeError),
    ):
        try:
            wrong()
        except kind:
            continue
        raise AssertionError("nothing was raised")


def clean(s, r):
    kind = r.randrange(6)
    if kind == 0:
        gc.collect()
    elif kind == 1:
        bi.trim()
    elif kind == 2 and r.random() < 0.1:
        _core._close_contexts()
    elif kind == 3:
        bi.empty(3, "f4", device=r.choice(["auto", *s.devices])).release()
    elif kind == 4:
        bi.devices()
    else:
        _core._is_complete(_core._mark(any_array(s, r)))


ACTIONS = [
    replace, release, take_views, take_views, look, export_host, export_host, export_device, import_again, import_numpy,
    import_described, change_described, copy, write, read, use_mapping, end_mapping, use_masked, use_masked, take_capsule,
    refer, fail, clean,
]  # fmt: skip


def work(s, seed, goes_on, count):
    r = random.Random(seed)
    while not s.stops and goes_on(count[0]):
        action = r.choice(ACTIONS)
        try:
            action(s, r)
        except BaseException as error:
            if not isinstance(error, ALLOWED) or not REASONS.search(str(error)):
                s.failures.append((action.__name__, error))
                s.stops = True
                raise
        count[0] += 1


def in_child(s):
    """Host arrays can be used in a forked child, and the lock of no other thread is held there."""
    faulthandler.dump_traceback_later(20, exit=True)
    for protocol in PROTOCOLS:
        assert np.asarray(bi.buffer_interface(np.ones(3), protocol=protocol)[1:].copy()).tolist() == [1, 1]
    bi.empty(3, "f4", device="host").fill(1)
    bi.trim()
    for array in s.slots:
        try:
            array[1:].shape  # noqa: B018
            if array.backend == "host":
                array.copy().release()
            array.release()
        except (*ALLOWED, bi.DriverError):  # work of a device is pending
            pass
    _core._close_contexts()


def fork(s):
    child = os.fork()
    if not child:
        code = 1
        try:
            in_child(s)
            code = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, f"the child ended with {status}"


def run(devices, count, goes_on, seed=0, forks=False):
    """Each thread acts as long as goes_on(number of its actions). Returns the number of actions and of children."""
    s = Shared(devices)
    counts = [[0] for _ in range(count)]
    threads = [
        threading.Thread(target=work, args=(s, 1000 * seed + i, goes_on, counts[i]), daemon=True) for i in range(count)
    ]
    for thread in threads:
        thread.start()
    forked = 0
    while forks and not s.stops and goes_on(0):
        time.sleep(0.2)
        fork(s)
        forked += 1
    for thread in threads:
        thread.join()
    if s.failures:
        raise AssertionError(s.failures[0][0]) from s.failures[0][1]
    producers, done = s.producers, sum(c[0] for c in counts)
    del s, threads
    gc.collect()
    conftest.collect()
    gc.collect()
    alive = sum(ref() is not None for ref in producers)
    assert not alive, f"{alive} of {len(producers)} producers are still alive"
    return done, forked


@pytest.mark.filterwarnings("ignore:descr")  # it is read while it is empty, or after two threads have added a field
def test_threads_that_share_arrays(cuda, pocl):
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        assert run(["host", "cuda", pocl], 4, lambda done: done < 500) == (2000, 0)
    finally:
        sys.setswitchinterval(interval)


if __name__ == "__main__":
    import warnings

    warnings.filterwarnings("ignore", "This process", DeprecationWarning)
    warnings.filterwarnings("ignore", "descr")
    faulthandler.enable()
    DEVICES = os.environ.get("BI_RACES_DEVICES", "host cuda opencl").split()
    UNTIL = time.monotonic() + float(sys.argv[1])
    SEED = int(sys.argv[3]) if sys.argv[3:] else 0
    print(run(DEVICES, int(sys.argv[2]), lambda _: time.monotonic() < UNTIL, SEED, forks=True))
