"""Many threads import, slice, export and release the same objects; counts are as before when they are done."""

import sys
import threading

import numpy as np
import pyopencl.array

from buffer_interface import InvalidArrayError, buffer_interface, empty, from_numpy
from peers import compiled, dlpack
from peers.fixtures import opencl_queue  # noqa: F401
from peers.threads import THREADS, frequent_switches, together  # noqa: F401


def test_L1_release_lets_go_once_whoever_asks():
    for _ in range(200):
        tensor = dlpack.Tensor()
        view = buffer_interface(tensor.producer())
        together(lambda number: view.release(), 4)
        assert tensor.deleted == 1
        assert view.released


def test_import_slice_and_release_of_one_producer():
    source = np.zeros((10, 10))
    before = sys.getrefcount(source)

    def work(number):
        for i in range(500):
            view = buffer_interface(
                source, protocol=[None, "dlpack", "buffer", "array_interface", "array_struct"][i % 5]
            )
            part = view[number:, ::2]
            view.release()
            assert part.shape == (10 - number, 5)

    together(work)
    assert sys.getrefcount(source) == before


def test_one_view_is_used_while_it_is_released():
    for _ in range(100):
        source = np.arange(24.0).reshape(4, 6)
        references = sys.getrefcount(source)
        view = buffer_interface(source)
        seen = []

        def work(number):
            if number == 0:
                view.release()
                return
            try:
                seen.append(int(np.asarray(view[1:])[0, 0]))
                seen.append(int(np.from_dlpack(view)[1, 0]))
            except InvalidArrayError:
                pass

        together(work, 4)
        assert set(seen) <= {6}
        del view
        assert sys.getrefcount(source) == references


def test_D14_deleters_run_on_threads_without_python():
    foreign = compiled.foreign()
    source = np.zeros(10)
    before = sys.getrefcount(source)
    view = buffer_interface(source)

    def work(number):
        for _ in range(100):
            capsule = view.__dlpack__(max_version=(1, 3))
            block = dlpack.take(capsule)
            assert foreign.peer_call(block.deleter, dlpack.address(block)) == 0

    together(work)
    view.release()
    assert sys.getrefcount(source) == before


def test_D14_the_last_reference_goes_without_python():
    """What is let go there is the producer, an object of Python: its end may run Python code."""
    foreign = compiled.foreign()
    ended = []

    class Producer:
        def __init__(self):
            self.array = np.zeros(4)
            self.__array_interface__ = self.array.__array_interface__

        def __del__(self):
            ended.append(threading.get_ident())

    for _ in range(20):
        view = buffer_interface(Producer())
        block = dlpack.take(view.__dlpack__(max_version=(1, 3)))
        view.release()
        assert not ended
        foreign.peer_call(block.deleter, dlpack.address(block))
        assert len(ended) == 1 and ended.pop() != threading.get_ident()


def test_pyopencl_arrays(opencl_queue):
    array = pyopencl.array.to_device(opencl_queue, np.arange(64, dtype="i4"))
    opencl_queue.finish()
    memory = array.base_data
    before = memory.get_info(pyopencl.mem_info.REFERENCE_COUNT)

    def work(number):
        for _ in range(100):
            with buffer_interface(array)[number:] as view:
                assert view.buffer.int_ptr == memory.int_ptr
                assert np.asarray(view.to("host"))[0] == number

    together(work, 4)
    assert memory.get_info(pyopencl.mem_info.REFERENCE_COUNT) == before


def test_maps_of_different_memories(opencl_queue):
    arrays = [pyopencl.array.to_device(opencl_queue, np.full(32, i, "i4")) for i in range(4)]

    def work(number):
        view = buffer_interface(arrays[number])
        for _ in range(50):
            with view.map("rw") as mapped:
                np.asarray(mapped)[...] += 1

    together(work, 4)
    assert [int(array.get()[0]) for array in arrays] == [50, 51, 52, 53]


def test_cuda_arrays(cuda):
    def work(number):
        for _ in range(50):
            array = from_numpy(np.full(16, number, "u1"), device="cuda")
            with array[4:] as part:
                assert np.asarray(part.to("host")).tolist() == [number] * 12
            array.release()

    together(work, 4)


def test_opening_a_device_at_once():
    views = [None] * THREADS

    def work(number):
        views[number] = empty(4, "f4", device="opencl")

    together(work)
    for view in views:
        view.fill(1)
        assert view.item(3) == 1
