"""shared_empty(): memory that several processes use, and that nobody leaves behind."""

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import buffer_interface as bi
from buffer_interface import _shared
from peers.threads import frequent_switches, together  # noqa: F401

EXPECTED = np.arange(24, dtype="f4").reshape(4, 6)


def open_files():
    """Descriptors and mappings of shared memories in this process."""
    with open("/proc/self/maps") as lines:
        names = list(lines)
    for entry in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the folder itself, which is closed meanwhile
            names.append(os.readlink(f"/proc/self/fd/{entry}"))
    return sum("memfd:buffer_interface" in name for name in names)


def assert_open_files(expected):
    """Threads of the pool and of multiprocessing may still have a task, a result or a copy of a descriptor."""
    for _ in range(500):
        gc.collect()
        if open_files() == expected:
            break
        time.sleep(0.01)
    assert open_files() == expected


@pytest.fixture(autouse=True)
def nothing_is_left(request):
    before = open_files()
    yield
    if "pool" in request.node.funcargs:
        request.node.funcargs["pool"].apply(int)  # its threads drop a task before they take the next one
    request.node.funcargs.clear()
    assert_open_files(before)


def write_first_and_send_sum(whole, part, pipe):
    whole.numpy()[1, 0] = 100
    pipe.send(part.numpy().sum())


@pytest.fixture(scope="module", params=["fork", "spawn"])
def pool(request):
    with multiprocessing.get_context(request.param).Pool(1) as made:
        yield made


@pytest.fixture
def array():
    made = bi.shared_empty((4, 6), "f4")
    made.numpy()[...] = EXPECTED
    return made


def increment(array):
    array.numpy()[...] += 1
    return array


def total(array):
    return float(array.numpy().sum())


def make():
    return bi.shared_empty(3)


def is_writable(array):
    return not array.readonly


def test_elements_are_zero_at_first():
    for shape in ((), 3, (2, 3), (0, 2)):
        made = bi.shared_empty(shape, "i2")
        assert made.typestr == "<i2" and (made.numpy() == np.zeros(shape)).all() and made.shape == np.zeros(shape).shape


@pytest.mark.parametrize("index", [np.s_[...], np.s_[1:3, ::2], np.s_[::-1, 5:1:-2], np.s_[2], np.s_[1, 1]])
def test_another_process_writes_into_the_memory(pool, array, index):
    expected = EXPECTED.copy()
    expected[index] += 1
    result = pool.apply(increment, (array[index],))
    np.testing.assert_array_equal(array.numpy(), expected)
    assert bi.shares_memory(result, array[index]) and result.strides == array[index].strides


@pytest.mark.parametrize("dtype", ["?", "c16", "S5", "bfloat16", [("x", "i4"), ("y", "f8")]])
def test_element_types(pool, dtype):
    made = bi.shared_empty(2, dtype)
    result = pool.apply(bi.flip, (made,))
    assert (result.typestr, result.descr) == (made.typestr, made.descr) and bi.shares_memory(result, made)


def send_and_end(queue):
    queue.put(bi.shared_empty(3))


def test_an_array_whose_sender_has_ended_is_not_received():
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    sender = context.Process(target=send_and_end, args=(queue,))
    sender.start()
    sender.join()
    with pytest.raises(ConnectionError, match="has ended: it must live until the array is received"):
        queue.get()


def test_read_only_stays_read_only(pool, array):
    assert pool.apply(is_writable, (array,)) and not pool.apply(is_writable, (bi.broadcast_to(array[0], (3, 6)),))


def test_other_arrays_are_copied(pool):
    array = bi.from_numpy(EXPECTED, device="host")
    result = pool.apply(increment, (array,))
    assert result.tolist() == (EXPECTED + 1).tolist() and array.tolist() == EXPECTED.tolist()


def test_a_pickle_for_others_is_a_copy(array):
    made = pickle.loads(pickle.dumps(array))
    assert not bi.shares_memory(made, array) and made.tolist() == array.tolist()


def test_memory_lives_as_long_as_a_view(array):
    count, part = open_files(), array[1]
    array.release()
    gc.collect()
    assert open_files() == count > 0 and part.tolist() == EXPECTED[1].tolist()


def test_a_process_returns_memory_that_it_made(pool):
    made = pool.apply(make)
    assert made.tolist() == [0, 0, 0]


def test_the_same_memory_is_mapped_once(pool, array):
    count = open_files()
    results = [pool.apply(increment, (array,)) for _ in range(5)]
    assert len(results) == 5
    assert_open_files(count)


def test_threads_that_receive_the_same_memory_map_it_once(monkeypatch):
    file = new_file()
    barrier, mmap, owners = threading.Barrier(2), _shared.mmap.mmap, []

    def late(*args, **words):
        with contextlib.suppress(threading.BrokenBarrierError):
            barrier.wait(0.2)  # for another thread that maps the file
        return mmap(*args, **words)

    monkeypatch.setattr(_shared.mmap, "mmap", late)
    received = [os.dup(file), os.dup(file)]
    together(lambda number: owners.append(_shared._owner_from(received[number])), 2)
    os.close(file)
    assert owners[0] is owners[1]


def new_file():
    file = os.memfd_create("buffer_interface")
    os.ftruncate(file, 8)
    return file


def exit_code_of_child(work, *files):
    process = multiprocessing.get_context("fork").Process(target=work, args=files)
    process.start()
    for file in files:
        os.close(file)
    process.join(60)
    process.kill()
    process.join()
    return process.exitcode


def receive_in_a_signal_handler_too(file, other):
    mmap = _shared.mmap.mmap

    def interrupted(*args, **words):
        _shared.mmap.mmap = mmap
        signal.raise_signal(signal.SIGUSR1)
        return mmap(*args, **words)

    _shared.mmap.mmap = interrupted
    signal.signal(signal.SIGUSR1, lambda *_: _shared._owner_from(other))
    _shared._owner_from(file)


@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_signal_handler_receives_while_a_memory_is_received():
    assert exit_code_of_child(receive_in_a_signal_handler_too, new_file(), new_file()) == 0


@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_child_receives_that_was_forked_while_a_thread_received(monkeypatch):
    mmap, is_received, may_end = _shared.mmap.mmap, threading.Event(), threading.Event()

    def late(*args, **words):
        is_received.set()
        may_end.wait(120)
        return mmap(*args, **words)

    monkeypatch.setattr(_shared.mmap, "mmap", late)
    thread = threading.Thread(target=_shared._owner_from, args=(new_file(),))
    thread.start()
    is_received.wait()
    monkeypatch.undo()
    code = exit_code_of_child(_shared._owner_from, new_file())
    may_end.set()
    thread.join()
    assert code == 0


def test_many_rounds_leave_nothing_in_the_other_process(pool):
    before = pool.apply(open_files)
    for _ in range(50):
        pool.apply(increment, (bi.shared_empty(10),))
    assert pool.apply(open_files) - before <= 3  # the last array lives until the next task


def test_other_threads_make_memories_while_the_memory_of_an_array_is_looked_for():
    """multiprocessing does so for each array that it pickles."""
    arrays = [bi.shared_empty(1) for _ in range(100)]

    def work(number):
        for _ in range(3000 if number == 0 else 1000):
            if number == 0:
                assert _shared._owner_of(arrays[3]) is not None
            else:
                [bi.shared_empty(1) for _ in range(3)]

    together(work, 3)


def test_a_forked_process_does_not_close_the_memory(array):
    process = multiprocessing.get_context("fork").Process(target=array.release)
    process.start()
    process.join()
    assert process.exitcode == 0
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(total, (array,)) == EXPECTED.sum()


def test_two_views_of_one_memory_for_one_process(array):
    """Both lie in one memory there, too."""
    spawn = multiprocessing.get_context("spawn")
    ends, other = spawn.Pipe()
    process = spawn.Process(target=write_first_and_send_sum, args=(array, array[1:], other))
    process.start()
    assert ends.poll(60) and ends.recv() == EXPECTED[1:].sum() + 100 - EXPECTED[1, 0]
    process.join()
    assert process.exitcode == 0
    assert array.numpy()[1, 0] == 100


@pytest.mark.parametrize("shape, error", [(1 << 45, MemoryError), (1 << 60, OverflowError), ((-1, -2), ValueError), (2.5, TypeError)])
def test_errors_leave_nothing(shape, error):
    with pytest.raises(error):
        bi.shared_empty(shape)


@pytest.mark.parametrize("limit", ["RLIMIT_FSIZE", "RLIMIT_AS"])
def test_the_limits_of_the_process(limit):
    """The size is one that the machine has."""
    code = f"""if True:
        import os, resource
        import buffer_interface as bi
        small = bi.shared_empty(8, "u1")
        before = os.listdir("/proc/self/fd")
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.{limit}, ({"used" if limit == "RLIMIT_AS" else 0} + (32 << 20), -1))
        for _ in range(3):
            try:
                bi.shared_empty(1 << 30, "u1")
            except MemoryError as error:
                assert "1073741824 bytes of shared memory" in str(error), error
            else:
                raise AssertionError("no error")
        assert os.listdir("/proc/self/fd") == before
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_limit_of_open_files_is_named():
    code = """if True:
        import errno, os, re, resource
        import buffer_interface as bi
        kept = [bi.shared_empty(8, "u1")]
        before = len(os.listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (before + 20, before + 20))
        try:
            while True:
                kept.append(bi.shared_empty(8, "u1"))
        except OSError as error:
            assert error.errno == errno.EMFILE, error
            words = f"8 bytes .*; this process uses {len(kept)} shared memories, and may open {before + 20} files: .*ulimit -n"
            assert re.search(words, str(error)), error
        opened = len(kept)
        del kept[1:]
        assert len(os.listdir("/proc/self/fd")) == before
        for _ in range(opened - 1):
            kept.append(bi.shared_empty(8, "u1"))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_descriptors_of_an_array():
    before = len(os.listdir("/proc/self/fd"))
    made = bi.shared_empty(8)
    assert made.size == 8 and len(os.listdir("/proc/self/fd")) - before == (1 if sys.version_info >= (3, 13) else 2)


def test_a_device_copies_to_and_from_shared_memory(array):
    array[...] = bi.from_numpy(EXPECTED + 5, device="opencl")
    array.synchronize()
    assert array.to("opencl").tolist() == (EXPECTED + 5).tolist()
