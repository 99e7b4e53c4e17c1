"""CuPy beyond what every library does: its pools, kernels of its own on our memory, streams of others."""

import cupy
import numpy as np
import pytest

import buffer_interface as bi
from buffer_interface import buffer_interface


@pytest.fixture(params=["MemoryPool", "MemoryAsyncPool", "managed"])
def allocator(request):
    if request.param == "managed":
        pool = cupy.cuda.MemoryPool(cupy.cuda.malloc_managed)
    else:
        pool = getattr(cupy.cuda, request.param)()
    before = cupy.cuda.get_allocator()
    cupy.cuda.set_allocator(pool.malloc)
    yield pool
    cupy.cuda.set_allocator(before)


@pytest.mark.parametrize("protocol", ["cuda_array_interface", "dlpack"])
def test_memory_of_every_pool(peer, allocator, protocol):
    """The view begins inside of a block, and its end is looked up in the driver."""
    numbers = np.arange(100000, dtype="i4")
    array = cupy.asarray(numbers)[1:]
    view = buffer_interface(array, protocol=protocol)
    assert np.array_equal(np.asarray(view.to("host")), numbers[1:])
    view.fill(5)
    view.synchronize()
    assert (array == 5).all()


def test_a_kernel_works_on_ours(peer):
    view = bi.full(64, 4, "f4", device="cuda:0")
    twice = cupy.ElementwiseKernel("float32 x", "float32 y", "y = 2 * x", "twice")
    result = bi.empty(64, "f4", device="cuda:0")
    with cupy.cuda.Stream(non_blocking=True) as stream:
        twice(cupy.asarray(view), cupy.asarray(result))
    result.hand_back(stream)
    assert np.asarray(result.to("host")).tolist() == [8] * 64


def test_foreign_streams_of_it_are_streams(peer, driver):
    handle = driver.stream()
    stream = cupy.cuda.ExternalStream(handle)
    view = bi.zeros(64, "u1", device="cuda:0")
    view.acquire(stream)
    driver.fill(int(view.buffer), 5, 64, handle)
    view.hand_back(stream)
    assert bytes(np.asarray(view.to("host"))) == bytes([5]) * 64
    view.release()


@pytest.mark.parametrize("stream", [cupy.cuda.Stream.null, cupy.cuda.Stream.ptds], ids=["legacy", "per-thread"])
def test_default_streams(peer, stream):
    with stream:
        array = cupy.arange(64, dtype="f4")
        view = buffer_interface(array, stream=stream)
        assert np.array_equal(np.asarray(view.to("host")), np.arange(64, dtype="f4"))
        view.release()


def test_its_pinned_memory_is_a_source_of_copies(peer):
    pinned = cupy.cuda.alloc_pinned_memory(256)
    array = np.frombuffer(pinned, "u1", 256)
    array[:] = 9
    view = bi.from_numpy(array, device="cuda:0")
    assert (cupy.asarray(view) == 9).all()
