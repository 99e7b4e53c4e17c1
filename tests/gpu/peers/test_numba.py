"""Numba beyond what every library does: our arrays as arguments of kernels."""

import numpy as np
from numba import cuda

import buffer_interface as bi


@cuda.jit
def add_one(array):
    i = cuda.grid(1)
    if i < array.size:
        array[i] += 1


def test_a_kernel_takes_ours_as_an_argument(peer):
    view = bi.full(64, 4, "f4", device="cuda:0")
    add_one[1, 64](cuda.as_cuda_array(view))
    stream = cuda.stream()
    view.acquire(stream)
    add_one[1, 64, stream](cuda.as_cuda_array(view))
    view.hand_back(stream)
    assert np.asarray(view.to("host")).tolist() == [6] * 64


def test_without_synchronisation_the_stream_orders(peer):
    """sync=False: Numba does not wait for the stream that we name; a kernel on that stream needs no wait."""
    view = bi.full(64, 4, "f4", device="cuda:0")
    stream = cuda.external_stream(view.stream)
    add_one[1, 64, stream](cuda.as_cuda_array(view, sync=False))
    assert np.asarray(view.to("host")).tolist() == [5] * 64


def test_default_streams_are_streams(peer):
    for stream in (cuda.default_stream(), cuda.legacy_default_stream(), cuda.per_thread_default_stream()):
        view = bi.full(64, 4, "f4", device="cuda:0")
        view.acquire(stream)
        add_one[1, 64, stream](cuda.as_cuda_array(view, sync=False))
        view.hand_back(stream)
        assert np.asarray(view.to("host")).tolist() == [5] * 64
