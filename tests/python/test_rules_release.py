"""Rule L1: release() lets go once, whoever calls it and how often; what was handed out stays alive."""

import ctypes
import gc
import weakref

import pytest

import dlpack_structs as dl
from peers.threads import together
from producers import CuPyLike, NumbaLike

N = 64


class Owner(bytearray):
    """Host memory whose end can be seen."""


@pytest.fixture
def owned(bi):
    owner = Owner(range(N))
    return bi.buffer_interface(owner), weakref.ref(owner)


def is_gone(reference):
    gc.collect()
    return reference() is None


def test_L1_release_is_idempotent(owned):
    view, owner = owned
    assert not view.released
    for _ in range(3):
        view.release()
    assert view.released and is_gone(owner)


def test_L1_release_by_many_threads(bi):
    for _ in range(50):
        owner = Owner(N)
        alive = weakref.ref(owner)
        view = bi.buffer_interface(owner)
        del owner
        together(lambda number: view.release(), 4)
        assert is_gone(alive)


def test_L1_end_of_with_releases(owned):
    view, owner = owned
    with view as same:
        assert same is view
    assert view.released and is_gone(owner)


TOUCHING = {
    "buffer": lambda view: view.buffer,
    "shape": lambda view: view.shape,
    "strides": lambda view: view.strides,
    "offset": lambda view: view.offset,
    "dtype": lambda view: view.dtype,
    "index": lambda view: view[1:],
    "dlpack": lambda view: view.__dlpack__(),
    "versioned": lambda view: view.__dlpack__(max_version=(1, 3)),
    "dlpack_device": lambda view: view.__dlpack_device__(),
    "memoryview": memoryview,
    "array_interface": lambda view: view.__array_interface__,
    "array_struct": lambda view: view.__array_struct__,
    "array": lambda view: view.__array__(),
    "cai": lambda view: view.__cuda_array_interface__,
    "cai_version": lambda view: view.cuda_array_interface(2),
    "copy": lambda view: view.copy(),
    "map": lambda view: view.map(),
    "with": lambda view: view.__enter__(),
    "synchronize": lambda view: view.synchronize(),
}


@pytest.mark.parametrize("how", TOUCHING)
def test_L1_afterwards_everything_refuses(bi, owned, how):
    view, _ = owned
    view.release()
    with pytest.raises(bi.InvalidArrayError) as caught:
        TOUCHING[how](view)
    assert isinstance(caught.value, BufferError) and isinstance(caught.value, ValueError)


def test_L1_afterwards_it_cannot_be_imported(bi, owned):
    view, _ = owned
    view.release()
    with pytest.raises(bi.InvalidArrayError):
        bi.buffer_interface(view)


def test_L1_slices_live_on(owned):
    view, owner = owned
    part = view[10:20]
    view.release()
    assert bytes(part) == bytes(range(10, 20))
    part.release()
    assert is_gone(owner)


def test_L1_capsules_live_on(owned):
    view, owner = owned
    taken = dl.take(view.__dlpack__(max_version=(1, 3)))
    view.release()
    gc.collect()
    assert ctypes.string_at(taken.tensor.data, N) == bytes(range(N))
    taken.delete()
    assert is_gone(owner)


def test_L1_buffers_live_on(owned):
    view, owner = owned
    memory = memoryview(view)
    view.release()
    gc.collect()
    assert bytes(memory) == bytes(range(N))
    memory.release()
    assert is_gone(owner)


def test_L1_array_struct_lives_on(owned):
    view, owner = owned
    capsule = view.__array_struct__
    view.release()
    gc.collect()
    assert owner() is not None
    del capsule
    assert is_gone(owner)


def test_L1_numpy_arrays_live_on(owned):
    import numpy

    view, owner = owned
    array = numpy.asarray(view)
    view.release()
    gc.collect()
    assert array.tobytes() == bytes(range(N))
    del array
    assert is_gone(owner)


def test_L1_handle_keeps_the_memory(owned):
    view, owner = owned
    handle = view.buffer
    view.release()
    gc.collect()
    assert ctypes.string_at(int(handle), N) == bytes(range(N))
    del handle
    assert is_gone(owner)


def test_L1_deleter_is_called_once(bi):
    block = (ctypes.c_ubyte * N)()
    tensor = dl.Tensor(ctypes.addressof(block), (N,), (1,), (dl.UINT, 8, 1), (dl.CPU, 0), owner=block)

    class Producer:
        def __dlpack_device__(self):
            return (dl.CPU, 0)

        def __dlpack__(self, **keywords):
            return tensor.capsule()

    view = bi.buffer_interface(Producer(), protocol="dlpack")
    part = view[3:]
    view.release()
    view.release()
    gc.collect()
    assert tensor.deleted == 0
    part.release()
    assert tensor.deleted == 1


def test_L1_pending_work_of_a_named_stream_is_ordered_not_waited_for(bi, cuda):
    producer = CuPyLike(cuda)
    producer.fill(1)
    view = bi.buffer_interface(producer)
    view.fill(2)
    waits = cuda.counts().host_waits
    view.release()
    assert cuda.counts().host_waits == waits
    producer.fill(3)
    assert producer.bytes() == bytes([3]) * N


def test_L1_pending_work_without_a_stream_keeps_the_producer(bi, cuda):
    producer = NumbaLike(cuda)
    producer.bound = False
    alive = weakref.ref(producer)
    view = bi.buffer_interface(producer)
    stream = cuda.stream()
    gate = cuda.gate(stream)
    view.hand_back(stream)
    view.release()
    del producer, view
    gc.collect()
    assert alive() is not None
    gate.open()
    cuda.synchronize()
    bi.trim()
    assert is_gone(alive)


def test_L1_acquired_stream_is_handed_back_first(bi, cuda):
    producer = CuPyLike(cuda)
    producer.fill(1)
    stream = cuda.stream()
    view = bi.buffer_interface(producer, stream=stream)
    cuda.fill(producer.pointer, 2, N, stream)
    view.release()
    producer.fill(3)
    assert producer.bytes() == bytes([3]) * N
