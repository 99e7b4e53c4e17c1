"""
A call that waits for a device must not hold the GIL. Each test has a thread that opens a gate when the call waits for
it. With the GIL held, the thread could not run, and the time limit in .pytest.ini would end the run.
"""

import ctypes
import threading

import numpy as np
import pyopencl
import pytest

import dlpack_structs as dl
from buffer_interface import _core, buffer_interface, copyto, trim, zeros
from exchange_struct import Exchange, Table
from peers import fixtures
from peers.fixtures import gate, opencl_queue  # noqa: F401
from peers.threads import until_blocked
from producers import DLPackArray
from test_rules_exchange import borrowed, checked, from_py, table_of

LARGE = (16 << 20) + 1  # bytes: the calling thread does not fill so many itself


@pytest.fixture
def new_queue(opencl_queue):
    """A function that makes a queue of a context of its own."""
    return lambda: fixtures.new_queue(opencl_queue.context.devices)


class Later:
    """Opens a gate from another thread when this one waits in the block. It must wait there."""

    def __init__(self, gate):
        self.gate = gate
        self.thread = threading.Thread(target=self.open)
        self.waiting = threading.current_thread()
        self.is_inside = True

    def open(self):
        until_blocked(self.waiting)
        self.has_waited = self.is_inside
        self.gate.open()

    def __enter__(self):
        self.thread.start()

    def __exit__(self, kind, *rest):
        self.is_inside = False
        self.thread.join()
        assert kind or self.has_waited, "nothing waited for the gate"


def pending(queue, gate, size=1024):
    """An array on memory of which work waits behind a gate."""
    buffer = pyopencl.Buffer(queue.context, pyopencl.mem_flags.READ_WRITE, size)
    view = buffer_interface(buffer)
    closed = gate(queue)
    queue.flush()
    view.hand_back(queue)
    return view, closed


HOLDERS = {"array": lambda view: view[1:], "handle": lambda view: view.buffer, "mark": lambda view: _core._mark(view)}


@pytest.mark.parametrize("how", ["release", "del"])
def test_last_array_of_an_adopted_context(new_queue, gate, how):
    view, closed = pending(new_queue(), gate)
    trim()
    with Later(closed):
        if how == "release":
            view.release()
        del view


def test_last_array_is_idle_and_its_context_is_not(new_queue, gate):
    """The array could be let go at once; with it the context ends, which waits for memory that was released."""
    queue = new_queue()
    idle = buffer_interface(pyopencl.Buffer(queue.context, pyopencl.mem_flags.READ_WRITE, 64))
    view, closed = pending(queue, gate)
    trim()
    view.release()
    with Later(closed):
        idle.release()


@pytest.mark.parametrize("holder", HOLDERS)
def test_last_holder_of_an_adopted_context(new_queue, gate, holder):
    view, closed = pending(new_queue(), gate)
    held = HOLDERS[holder](view)
    trim()
    view.release()
    with Later(closed):
        del held


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_capsule_that_nobody_took_is_the_last_holder(new_queue, gate, version):
    queue = new_queue()
    view = buffer_interface(pyopencl.Buffer(queue.context, pyopencl.mem_flags.READ_WRITE, 1024))
    capsule = view.__dlpack__(max_version=version)
    closed = gate(queue)
    queue.flush()
    view.hand_back(queue)
    trim()
    view.release()
    with Later(closed):
        del capsule


def struct_of(view):
    """Returns the function `release` of a struct of the view, and its argument."""
    held = Exchange.empty()
    table = Table.from_address(dl.capsule_pointer(vars(type(view))["__buffer_interface_c__"]))
    checked(table.acquire(view, 0, ctypes.byref(held)))
    return held.release, held


def tensor_of(view, version):
    taken = dl.take(view.__dlpack__(max_version=version))
    return taken.block.deleter, taken.block


CONSUMERS = {
    "struct": struct_of,
    "tensor": lambda view: tensor_of(view, None),
    "versioned tensor": lambda view: tensor_of(view, (1, 0)),
}


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_B39_last_holder_is_a_consumer_that_has_the_gil(new_queue, gate, consumer):
    queue = new_queue()
    view = buffer_interface(pyopencl.Buffer(queue.context, pyopencl.mem_flags.READ_WRITE, 1024))
    release, held = CONSUMERS[consumer](view)
    closed = gate(queue)
    queue.flush()
    view.hand_back(queue)
    trim()
    view.release()
    with Later(closed):
        ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(release)(ctypes.addressof(held))


def test_context_that_makes_room(new_queue, gate):
    view, closed = pending(new_queue(), gate)
    view.release()
    queues = [new_queue() for _ in range(17)]
    with Later(closed):
        for queue in queues:
            buffer_interface(pyopencl.Buffer(queue.context, pyopencl.mem_flags.READ_WRITE, 64))


CALLS = {
    "acquire": lambda view, queue: view.acquire(queue),
    "import": lambda view, queue: buffer_interface(view, stream=queue),
    "producer_stream": lambda view, queue: buffer_interface(view, producer_stream=queue),
    "dlpack": lambda view, queue: view.__dlpack__(max_version=(1, 0)),
}


def copy_behind_gate(target, queue, gate):
    """Returns a closed gate, and a thread that waits for it with the lock of `target`."""
    host = zeros(1024, "|u1", device="host")
    return thread_behind_gate(host, queue, gate, lambda: copyto(target, host))


def thread_behind_gate(host, queue, gate, call):
    """Returns a closed gate, and a thread in a call that waits for it because work on `host` waits behind the gate."""
    source = buffer_interface(pyopencl.Buffer(queue.context, pyopencl.mem_flags.READ_WRITE, 1024))
    closed = gate(queue)
    queue.flush()
    source.hand_back(queue)
    copyto(host, source)
    thread = threading.Thread(target=call)
    thread.start()
    until_blocked(thread)
    return closed, thread


@pytest.mark.parametrize("call", CALLS)
def test_lock_of_a_memory_that_another_thread_waits_with(new_queue, gate, call):
    """A copy from host memory with work of another cl_context waits for it, and has the locks of both memories."""
    queue = new_queue()
    target = buffer_interface(pyopencl.Buffer(queue.context, pyopencl.mem_flags.READ_WRITE, 1024))
    target.fill(0)
    closed, thread = copy_behind_gate(target, new_queue(), gate)
    with Later(closed):
        CALLS[call](target, queue)
    thread.join()


CUDA_CALLS = {
    "attribute": lambda view, stream: view.__cuda_array_interface__,
    "method": lambda view, stream: view.cuda_array_interface(version=2),
    "dlpack": lambda view, stream: view.__dlpack__(stream=stream, max_version=(1, 0)),
    "stream": lambda view, stream: view.stream,
}


@pytest.mark.parametrize("call", CUDA_CALLS)
def test_lock_of_cuda_memory_that_another_thread_waits_with(cuda, new_queue, gate, call):
    """As above; the memory's own work is pending, so that nobody may take it for idle."""
    stream, target = cuda.stream(), zeros(1024, "|u1", device="cuda")
    target.fill(1)
    closed, thread = copy_behind_gate(target, new_queue(), gate)
    with Later(closed):
        CUDA_CALLS[call](target, stream)
    thread.join()


IDLE_CALLS = {
    "attribute": lambda view: view.__cuda_array_interface__,
    "dlpack": lambda view: view.__dlpack__(stream=-1, max_version=(1, 0)),
    "device": lambda view: view.__dlpack_device__(),
    "buffer": lambda view: view.buffer,
    "offset": lambda view: view.offset,
}


@pytest.mark.parametrize("call", IDLE_CALLS)
def test_lock_of_idle_memory_is_not_waited_for(cuda, new_queue, gate, call):
    """A call on idle memory keeps the GIL, so it must not wait for a lock that another thread waits with."""
    target = zeros(1024, "|u1", device="cuda")
    target.synchronize()
    closed, thread = copy_behind_gate(target, new_queue(), gate)
    IDLE_CALLS[call](target)
    closed.open()
    thread.join()


def test_a_mapping_is_closed_only_when_the_thread_that_closes_it_is_done(bi, new_queue, gate):
    queue = new_queue()
    view = buffer_interface(pyopencl.Buffer(queue.context, pyopencl.mem_flags.READ_WRITE, 1024))
    view.fill(5)
    mapped = view.map("r")
    host = zeros(1024, "|u1", device="host")
    closed, reader = thread_behind_gate(host, new_queue(), gate, lambda: copyto(host, view))
    closer = threading.Thread(target=mapped.close)
    closer.start()
    until_blocked(closer)
    mapped.close()
    assert not mapped.closed and repr(mapped).endswith("still mapped: a thread is closing it>")
    for use in (mapped.__enter__, lambda: memoryview(mapped)):
        with pytest.raises(bi.InvalidArrayError, match="another thread"):
            use()
    closed.open()
    closer.join()
    reader.join()
    assert mapped.closed and repr(mapped).endswith("closed>")


def test_X5_array_that_is_released_while_it_is_waited_for(bi, new_queue, gate):
    """What would be lent is a part of it."""
    queue = new_queue()
    source, closed = pending(queue, gate)
    host, waiting = zeros(1024, "|u1", device="host"), threading.current_thread()
    copyto(host, source)

    def end():
        until_blocked(waiting)
        host.release()
        closed.open()

    thread = threading.Thread(target=end)
    thread.start()
    with pytest.raises(bi.InvalidArrayError, match="L1"):
        borrowed(table_of(bi), host)
    thread.join()


def exported_offset(bi, array):
    taken = from_py(table_of(bi), array)
    offset = taken.tensor.byte_offset
    taken.delete()
    return offset


READS = {
    "offset": lambda bi, part: part.offset,
    "host_pointer": lambda bi, part: part.host_pointer,
    "table": lambda bi, part: exported_offset(bi, part),
}


@pytest.mark.parametrize("read", READS)
def test_L1_array_that_is_released_while_its_memory_is_locked(bi, new_queue, gate, read):
    """The read has begun and waits for the lock. The memory of a view that is freed too early gets another view."""
    source, closed = pending(new_queue(), gate, LARGE)
    host, target = zeros(LARGE, "|u1", device="host"), zeros(LARGE, "|u1", device="opencl")
    part, got = target[16:], []

    def read_part():
        got.append(READS[read](bi, part))

    target.fill(0)
    copyto(host, source)
    threads = [threading.Thread(target=copyto, args=(target, host)), threading.Thread(target=read_part)]
    for thread in threads:
        thread.start()
        until_blocked(thread)
    part.release()
    others = [target[i : i + 1, None, None] for i in range(64)]  # noqa: F841
    closed.open()
    for thread in threads:
        thread.join()
    start = target.host_pointer
    assert got == ([start and start + 16] if read == "host_pointer" else [16])


def test_array_that_is_released_while_it_is_copied_for_a_capsule(new_queue, gate):
    """The export then has the last reference to a context with pending work."""
    queue = new_queue()
    view, closed = pending(queue, gate)
    other = pyopencl.CommandQueue(queue.context)
    ended, waiting = [], threading.current_thread()

    def release():
        until_blocked(waiting)
        later = gate(other)
        other.flush()
        view.hand_back(other)
        view.release()
        trim()
        closed.open()
        until_blocked(waiting)
        later.open()
        ended.append(True)

    thread = threading.Thread(target=release)
    thread.start()
    capsule = view.__dlpack__(max_version=(1, 0), dl_device=(dl.CPU, 0), copy=True)
    thread.join()
    assert ended and buffer_interface(capsule).nbytes == 1024


# Transfers in pieces (src/common/copy/chunked.c) wait for a piece without the locks of the two arrays


ROW = (2 << 20) // 8 + 1  # items: two rows do not fit into one piece


def far_apart():
    """Three rows of host memory with a gap behind each."""
    return zeros((3, ROW + 1), "<f8", device="host")[:, :ROW]


@pytest.mark.parametrize("way", ["up", "down"])
def test_array_on_its_way_can_be_read(cuda, way):
    """Down, unpacking the first row waits for it; up, packing the third one waits until the first one has gone."""
    stream = cuda.stream()
    device, host, other = zeros((3, ROW), "<f8", device="cuda"), far_apart(), far_apart()
    device.synchronize()
    closed = cuda.gate(stream)
    device.hand_back(stream)
    dst, src = (device, host) if way == "up" else (host, device)
    thread = threading.Thread(target=lambda: copyto(dst, src))
    thread.start()
    until_blocked(thread)
    copyto(other, host)  # would never return, because the gate is opened after it
    closed.open()
    thread.join()


# Exceptions that are set while something is let go


def drop_while_raising(make):
    """Holds what make() gives until an exception of ours unwinds the stack."""

    def fail():
        raise RuntimeError("ours")

    def hold():
        held = [make()]
        return (held.pop(), fail())

    with pytest.raises(RuntimeError, match="ours") as caught:
        hold()
    assert caught.value.__context__ is None


class Producer:
    """Its tensor's deleter is Python code that raises and catches."""

    def __init__(self):
        self.array = np.arange(4, dtype="f4")
        self.ended = []

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        tensor = dl.Tensor(self.array.ctypes.data, (4,), (1,), (dl.FLOAT, 32, 1), (1, 0), owner=self)
        tensor.owner = Last(self.ended)
        return tensor.capsule()


class Last:
    def __init__(self, ended):
        self.ended = ended

    def __del__(self):
        try:
            {}["key"]
        except KeyError:
            self.ended.append(True)


@pytest.mark.parametrize(
    "hold",
    [
        lambda view: view[1:],
        lambda view: view.buffer,
        lambda view: view.__dlpack__(max_version=(1, 0)),
        lambda view: view.__array_struct__,
        lambda view: view.map("r"),
        memoryview,
        np.asarray,
    ],
    ids=["array", "handle", "capsule", "array_struct", "map", "memoryview", "numpy"],
)
def test_D13_exceptions_survive_what_is_let_go(hold):
    producer = Producer()

    def make():
        with buffer_interface(producer) as view:
            return hold(view)

    drop_while_raising(make)
    assert producer.ended == [True]


def test_context_that_was_told_is_the_one_of_the_import(bi, cuda):
    """The cache may be emptied while the producer is asked."""
    class Producer(DLPackArray):
        def __dlpack__(self, stream=None, max_version=None, **keywords):
            self._order(stream)
            _core._close_contexts()
            return self._tensor(True)

    array = Producer(cuda)
    array.fill(1)
    with bi.buffer_interface(array) as view:
        view.fill(2)
    cuda.synchronize()
    assert array.bytes() == bytes([2]) * 64
