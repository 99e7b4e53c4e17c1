"""nanobind: a module with nb::ndarray arguments takes our objects, and gives arrays that we take."""

import gc
import sys

import numpy as np
import pyopencl
import pytest

from buffer_interface import buffer_interface, empty
from peers.fixtures import nanobind_peer, opencl_queue  # noqa: F401


def test_takes_and_constrains(nanobind_peer):
    view = buffer_interface(np.arange(12, dtype="f4").reshape(3, 4))
    assert nanobind_peer.sum(view) == 66
    assert nanobind_peer.sum(view[::-1, ::2]) == 0 + 2 + 4 + 6 + 8 + 10
    for wrong in (view[0], buffer_interface(np.zeros((2, 2)))):
        with pytest.raises(TypeError):
            nanobind_peer.sum(wrong)


def test_writes_into_our_memory(nanobind_peer):
    view = buffer_interface(np.zeros(4, "f4"))
    nanobind_peer.increment(view[1::2])
    assert np.asarray(view).tolist() == [0, 1, 0, 1]


def test_H2_does_not_write_what_is_read_only(nanobind_peer):
    source = np.zeros(4, "f4")
    source.setflags(write=False)
    with pytest.raises(TypeError):
        nanobind_peer.increment(buffer_interface(source))
    assert not source.any()


def test_sees_the_place_and_the_strides(nanobind_peer):
    view = empty((3, 4), "i2", device="host")[:, ::-2]
    kind, number, address, shape, strides, *dtype = nanobind_peer.describe(view)
    assert (kind, number, shape, strides, dtype) == (1, 0, (3, 2), (4, -2), [0, 16, 1])
    assert address == int(view.buffer)


def test_D8_sees_opencl_memory_as_such(nanobind_peer, opencl_queue):
    memory = pyopencl.Buffer(opencl_queue.context, pyopencl.mem_flags.READ_WRITE, 64)
    kind, _, address, shape, *_ = nanobind_peer.describe(buffer_interface(memory))
    assert (kind, address, shape) == (4, memory.int_ptr, (64,))
    with pytest.raises(TypeError):
        nanobind_peer.sum(buffer_interface(memory))


@pytest.mark.needs("second device")
def test_D7_sees_cuda_memory(nanobind_peer, cuda):
    view = empty(16, "f4", device="cuda:1")[4:]
    kind, number, address, *_ = nanobind_peer.describe(view)
    assert (kind, number, address) == (2, 1, int(view.buffer))


def test_gives_arrays(nanobind_peer):
    view = buffer_interface(nanobind_peer.make(2, 3))
    gc.collect()
    assert (view.shape, view.typestr, view.readonly) == ((2, 3), "<f4", False)
    assert np.asarray(view[1]).tolist() == [3, 4, 5]


def test_D14_lets_go_on_a_thread_without_python(nanobind_peer):
    source = np.zeros(10)
    before = sys.getrefcount(source)
    view = buffer_interface(source)
    nanobind_peer.hold(view)
    view.release()
    del view
    assert sys.getrefcount(source) > before
    nanobind_peer.let_go()
    assert sys.getrefcount(source) == before
