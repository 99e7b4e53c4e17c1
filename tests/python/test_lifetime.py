"""
Who keeps whom alive, and until when: references of Python, of OpenCL and memory of CUDA are as before when the last of
ours is gone, whatever way an array came in and went out.
"""

import array
import gc
import itertools
import os
import subprocess
import sys
import time
import tracemalloc
import weakref

import numpy as np
import pyopencl
import pyopencl.array
import pytest

from buffer_interface import InvalidArrayError, buffer_interface, empty, pyopencl_array, trim
from peers import compiled, dlpack
from peers.fixtures import gate, opencl_queue  # noqa: F401

ROUNDS = 10_000
HOST_PROTOCOLS = ["dlpack", "buffer", "array_interface", "array_struct", "native"]
COUNT = pyopencl.mem_info.REFERENCE_COUNT


def blocks():
    gc.collect()
    return sys.getallocatedblocks()


def growth_of(turn, rounds):
    """Counts blocks of turn() alone: no int of the measurement is alive, in whatever state the free lists are."""
    before = array.array("q", [0])
    before[0] = blocks()
    for _ in itertools.repeat(None, rounds):
        turn()
    return blocks() - before[0]


def repeat(turn, rounds=ROUNDS):
    """Calls turn() that often. What it leaves behind it leaves each time, unlike caches that fill up once."""
    growth = [growth_of(turn, rounds // 5)]
    pages = resident()
    growth += [growth_of(turn, rounds // 5) for _ in range(4)]
    assert min(growth) < rounds // 1000
    assert resident() - pages < 4 << 20


def comes_to(expected, ask, seconds=5):
    """Commands that are done let go of their memory a little later, on a thread of the driver."""
    end = time.monotonic() + seconds
    while ask() != expected and time.monotonic() < end:
        time.sleep(0.001)
    return ask() == expected


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# Rounds: import, slice, export, release.


def export_host(view):
    memoryview(view).release()
    np.asarray(view)
    view.__array_interface__
    view.__array_struct__
    view.__dlpack__(max_version=(1, 3))
    view.__dlpack__()
    np.from_dlpack(view)


@pytest.mark.parametrize("protocol", HOST_PROTOCOLS)
def test_rounds_of_host_arrays(protocol):
    array = np.arange(64.0).reshape(8, 8)
    source = buffer_interface(array) if protocol == "native" else array

    def turn():
        view = buffer_interface(source, protocol=protocol)
        part = view[1:, ::-1]
        export_host(part if part.readonly is False else view[:0] if protocol == "dlpack" else part)
        part.release()
        view.release()

    references, size = sys.getrefcount(array), sys.getrefcount(source)
    repeat(turn)
    assert (sys.getrefcount(array), sys.getrefcount(source)) == (references, size)


def test_calls_of_python_functions_keep_no_reference():
    from buffer_interface import _array

    view = buffer_interface(np.arange(3))
    before = sys.getrefcount(_array), sys.getrefcount(_array.tolist)
    for _ in range(10):
        view.tolist()
    assert (sys.getrefcount(_array), sys.getrefcount(_array.tolist)) == before


def test_rounds_of_tensors():
    tensors = [dlpack.Tensor(version=version) for version in (None, (1, 3))]
    for tensor in tensors:
        producer = tensor.producer()

        def turn():
            producer.calls.clear()
            buffer_interface(producer)[::2].release()

        repeat(turn)
        assert tensor.deleted == ROUNDS


def test_rounds_of_pyopencl(opencl_queue):
    array = pyopencl.array.empty(opencl_queue, (8, 8), "f4")
    memory, queue, context = array.base_data, opencl_queue, opencl_queue.context

    def counts():
        """At rest: commands of earlier tests have let go of the queue."""
        queue.finish()
        comes_to(1, lambda: queue.get_info(pyopencl.command_queue_info.REFERENCE_COUNT), seconds=1)
        return (
            memory.get_info(COUNT),
            queue.get_info(pyopencl.command_queue_info.REFERENCE_COUNT),
            sys.getrefcount(array),
            sys.getrefcount(memory),
        )

    def turn():
        view = buffer_interface(array)
        part = view[1:, ::2]
        part.__dlpack__(max_version=(1, 3))
        part.release()
        view.release()

    turn()
    before, contexts = counts(), context.get_info(pyopencl.context_info.REFERENCE_COUNT)
    repeat(turn)
    assert counts() == before
    assert context.get_info(pyopencl.context_info.REFERENCE_COUNT) == contexts


def test_rounds_of_pyopencl_there_and_back(opencl_queue):
    array = pyopencl.array.empty(opencl_queue, (8, 8), "f4")
    memory = array.base_data
    before = memory.get_info(COUNT)
    for _ in range(ROUNDS // 10):
        view = buffer_interface(array)
        back = pyopencl_array(view, opencl_queue)
        view.release()
        del view, back
    gc.collect()
    assert comes_to(before, lambda: memory.get_info(COUNT))


def test_rounds_of_cuda(cuda):
    class Producer:
        pointer = cuda.alloc(256)

        @property
        def __cuda_array_interface__(self):
            return {"shape": (8, 8), "typestr": "<f4", "data": (self.pointer, False), "version": 3, "stream": None}

    producer = Producer()

    def turn():
        view = buffer_interface(producer)
        part = view[1:, ::2]
        part.__cuda_array_interface__
        part.__dlpack__(stream=-1)
        part.release()
        view.release()

    turn()
    before, references = cuda.counts(), sys.getrefcount(producer)
    repeat(turn)
    after = cuda.counts()
    assert sys.getrefcount(producer) == references
    for name in ("live_memory", "live_streams", "live_events", "live_modules", "reports", "host_waits"):
        assert getattr(after, name) == getattr(before, name), name


def test_rounds_of_own_device_memory(cuda):
    for _ in range(ROUNDS // 10):
        view = empty((4, 4), "f4", device="cuda")
        view[1:].fill(1)
        view.release()


def test_rounds_that_fail():
    """What is refused leaves nothing."""

    class Producer:
        __array_interface__ = {
            "shape": (4,),
            "typestr": "<f4",
            "data": (4096, False),
            "strides": (2**62,),
            "version": 3,
        }

    producer = Producer()
    tensor = dlpack.Tensor((2, -3), None)
    before = sys.getrefcount(producer)

    def turn():
        for bad in (producer, tensor.producer()):
            with pytest.raises(BufferError):
                buffer_interface(bad)

    repeat(turn, 1000)
    assert sys.getrefcount(producer) == before
    assert tensor.deleted == 1000


# Release


def test_L1_release_is_idempotent():
    tensor = dlpack.Tensor()
    view = buffer_interface(tensor.producer())
    assert not view.released
    for _ in range(3):
        view.release()
        assert view.released and tensor.deleted == 1
    del view
    gc.collect()
    assert tensor.deleted == 1


USES = {
    "buffer": lambda v: v.buffer,
    "offset": lambda v: v.offset,
    "shape": lambda v: v.shape,
    "strides": lambda v: v.strides,
    "dtype": lambda v: v.dtype,
    "typestr": lambda v: v.typestr,
    "len": len,
    "slice": lambda v: v[0],
    "T": lambda v: v.T,
    "set": lambda v: v.__setitem__(0, 1),
    "copy": lambda v: v.copy(),
    "fill": lambda v: v.fill(1),
    "item": lambda v: v.item(0),
    "map": lambda v: v.map("r").__enter__(),
    "to": lambda v: v.to("host"),
    "memoryview": memoryview,
    "asarray": lambda v: np.array(v, copy=True),
    "with": lambda v: v.__enter__(),
    "__dlpack__": lambda v: v.__dlpack__(),
    "__dlpack_device__": lambda v: v.__dlpack_device__(),
    "synchronize": lambda v: v.synchronize(),
    "import": buffer_interface,
    "reshape": lambda v: v.reshape(-1),
    "host_pointer": lambda v: v.host_pointer,
    "backend": lambda v: v.backend,
    "device": lambda v: v.device,
}


@pytest.mark.parametrize("use", USES)
def test_L1_a_released_array_is_refused(use):
    view = buffer_interface(np.zeros(4))
    view.release()
    with pytest.raises(InvalidArrayError, match="released"):
        USES[use](view)
    assert "released" in repr(view)


def test_L1_a_with_block_releases():
    with buffer_interface(np.zeros(4)) as view:
        assert not view.released
    assert view.released
    with pytest.raises(KeyError), buffer_interface(np.zeros(4)) as view:
        raise KeyError
    assert view.released


def test_L1_exports_outlive_the_release():
    tensor = dlpack.Tensor()
    view = buffer_interface(tensor.producer(), writable=None)
    exports = [
        memoryview(view),
        np.asarray(view),
        view.__array_struct__,
        view.__dlpack__(max_version=(1, 3)),
        view[1:],
        view.buffer,
        buffer_interface(view),
    ]
    view.release()
    assert exports[0][3] == 3 and exports[1][3] == 3
    while exports:
        assert tensor.deleted == 0
        exports.pop(0)
        gc.collect()
    assert tensor.deleted == 1


def test_a_capsule_that_nobody_takes_lets_go():
    tensor = dlpack.Tensor()
    view = buffer_interface(tensor.producer())
    capsules = [view.__dlpack__(max_version=(1, 0)) for _ in range(3)]
    view.release()
    while capsules:
        assert tensor.deleted == 0
        capsules.pop()
    assert tensor.deleted == 1


@pytest.mark.parametrize("last", ["tensors", "object"])
@pytest.mark.parametrize("count", [1, 8, 9, 200])
def test_references_counted_in_advance_are_given_back(count, last):
    class Producer:
        array = np.zeros(4)
        __array_interface__ = array.__array_interface__

    producer = Producer()
    alive = weakref.ref(producer)
    view = buffer_interface(producer)
    tensors = [view.__dlpack__(max_version=(1, 3)) for _ in range(count)]
    del producer
    if last == "tensors":
        del view
        assert alive() is not None
        tensors.clear()
    else:
        tensors.clear()
        assert alive() is not None
        del view
    assert alive() is None


def test_weak_references():
    view = buffer_interface(np.zeros(4))
    called = []
    alive = weakref.ref(view, called.append)
    assert alive() is view and weakref.getweakrefcount(view) == 1
    view.release()
    assert alive() is view, "release lets the memory go, not the object"
    del view
    assert alive() is None and len(called) == 1


def test_objects_are_not_tracked_and_small():
    view = buffer_interface(np.zeros((2, 2, 2, 2)))
    assert not gc.is_tracked(view)
    assert sys.getsizeof(view) <= object.__basicsize__ + 48


# Cycles


class Keeper:
    """A producer that keeps a view of itself, as a cache would."""

    def __init__(self):
        self.array = np.zeros(4)
        self.__array_interface__ = self.array.__array_interface__
        self.view = buffer_interface(self)


def test_a_producer_that_keeps_its_own_view_is_not_collected():
    """The reference runs through memory of the library, which the collector does not see; release() ends it."""
    keeper = Keeper()
    alive, view = weakref.ref(keeper), keeper.view
    del keeper
    gc.collect()
    assert alive() is not None
    view.release()
    gc.collect()
    assert alive() is None


def test_a_producer_that_keeps_its_view_weakly_is_collected():
    keeper = Keeper()
    view, alive = keeper.view, weakref.ref(keeper)
    keeper.view = weakref.ref(view)
    del keeper, view
    assert alive() is None


# Devices: what is pending, and what letting go does then.


def test_pending_work_keeps_the_producer_and_not_the_caller(opencl_queue, gate):
    """A bare Buffer names no queue, so its memory is kept until our work on it is done; release() does not wait."""
    memory = pyopencl.Buffer(opencl_queue.context, pyopencl.mem_flags.READ_WRITE, 64)
    before = memory.get_info(COUNT)
    closed = gate()
    view = buffer_interface(memory, producer_stream=opencl_queue)
    view.fill(7)
    view.release()
    assert not closed.is_open
    closed.open()
    opencl_queue.finish()
    trim()
    assert comes_to(before, lambda: memory.get_info(COUNT))
    got = np.empty(64, "u1")
    pyopencl.enqueue_copy(opencl_queue, got, memory)
    assert set(got.tolist()) == {7}


def test_retired_memory_is_let_go_by_trim(cuda):
    class Producer:
        pointer = cuda.alloc(64)
        __cuda_array_interface__ = {"shape": (64,), "typestr": "|u1", "data": (pointer, False), "version": 2}

    producer = Producer()
    alive = weakref.ref(producer)
    view = buffer_interface(producer)
    del producer
    view.fill(1)
    view.release()
    cuda.synchronize()
    trim()
    gc.collect()
    assert alive() is None


def test_a_block_without_a_named_stream_waits_at_its_end(cuda):
    class Producer:
        pointer = cuda.alloc(64)
        __cuda_array_interface__ = {"shape": (64,), "typestr": "|u1", "data": (pointer, False), "version": 2}

    with buffer_interface(Producer()) as view:
        view.fill(1)
    assert cuda.ordered(0, Producer.pointer, 64)


def test_host_arrays_that_a_device_still_reads(opencl_queue, gate):
    """The source of an asynchronous copy stays, though nobody but the device needs it."""
    array = pyopencl.array.zeros(opencl_queue, 1024, "f4")
    closed = gate()
    source = np.arange(1024, dtype="f4")
    before = sys.getrefcount(source)
    host = buffer_interface(source)
    closed.open()
    buffer_interface(array)[...] = host
    host.release()
    del host
    assert array.get().tolist() == list(range(1024))
    trim()
    gc.collect()
    assert sys.getrefcount(source) == before


def test_views_do_not_allocate_traced_memory_beyond_themselves():
    array = np.zeros((4, 4))
    tracemalloc.start()
    try:
        first = tracemalloc.get_traced_memory()[0]
        views = [buffer_interface(array) for _ in range(1000)]
        assert tracemalloc.get_traced_memory()[0] - first < 1000 * 128
        del views
    finally:
        tracemalloc.stop()


@pytest.mark.needs("simulator")
def test_a_foreign_thread_lets_go_of_device_memory(cuda):
    foreign = compiled.foreign()
    # The first memory opens a context, which allocates staging buffers.
    empty(64, "u1", device="cuda").release()
    trim()
    live = cuda.counts().live_memory
    view = empty(64, "u1", device="cuda")
    block = dlpack.take(view.__dlpack__(stream=-1, max_version=(1, 3)))
    view.release()
    assert cuda.counts().live_memory == live + 1
    foreign.peer_call(block.deleter, dlpack.address(block))
    trim()
    cuda.synchronize()
    assert cuda.counts().live_memory <= live + 1


@pytest.mark.parametrize("turn", ["x.numpy()", "memoryview(x)", "np.from_dlpack(x)", "x.map('r')"])
def test_a_long_chain_of_arrays_is_released_on_a_small_stack(turn):
    """Each array keeps the one before it alive."""
    code = f"""
import threading
import numpy as np
from buffer_interface import buffer_interface

def chain():
    array = np.zeros(10)
    for _ in range(5000):
        x = buffer_interface(array)
        array = {turn}
    del x, array

threading.stack_size(512 << 10)
thread = threading.Thread(target=chain)
thread.start()
thread.join()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
