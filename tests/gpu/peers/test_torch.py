"""PyTorch beyond what every library does: graphs, memory in expandable segments, tensors that need gradients."""

import os

import numpy as np
import pytest
import torch

import buffer_interface as bi
from buffer_interface import buffer_interface

EXPANDABLE = "expandable_segments:True" in os.environ.get("PYTORCH_ALLOC_CONF", "")
MEBIBYTE = 1 << 20


def test_memory_of_many_pieces_is_taken_whole(peer):
    """Expandable segments are one range of addresses in which 2 MiB and 20 MiB pieces are mapped; the last byte is asked for."""
    small = [torch.full((MEBIBYTE,), 1, dtype=torch.uint8, device="cuda") for _ in range(7)]
    large = torch.full((100 * MEBIBYTE,), 2, dtype=torch.uint8, device="cuda")
    for protocol in peer.gives:
        for tensor, value in ((small[-1], 1), (large, 2)):
            view = buffer_interface(tensor, protocol=protocol)
            view.synchronize()
            torch.cuda.synchronize()
            assert view.nbytes == tensor.numel() and view[-1].item() == value
            view[-1].fill(value + 1)
            view.synchronize()
            assert tensor[-1].item() == value + 1
            tensor[-1] = value
            torch.cuda.synchronize()


def test_the_allocator_is_the_one_that_was_asked_for(peer):
    """Or the step of expandable segments would test nothing."""
    block = torch.empty(32 * MEBIBYTE, dtype=torch.uint8, device="cuda")
    segments = [segment for segment in torch.cuda.memory_snapshot() if segment["address"] <= block.data_ptr()]
    assert any(segment.get("is_expandable") for segment in segments) == EXPANDABLE


def test_a_graph_works_on_our_memory(peer):
    """Captured once with a tensor over our array, replayed with what is in the array by then."""
    view = bi.zeros(64, "f4", device="cuda:0")
    view.synchronize()
    tensor, stream, graph = torch.from_dlpack(view), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        tensor.add_(1)
    for start in (10, 20):
        view.fill(start)
        view.acquire(stream)
        with torch.cuda.stream(stream):
            graph.replay()
            graph.replay()
        view.hand_back(stream)
        assert np.asarray(view.to("host")).tolist() == [start + 2] * 64


def test_a_graph_survives_our_imports(peer):
    """Looking at a tensor while its stream is captured makes no call that ends the capture."""
    tensor, stream, graph = torch.zeros(64, device="cuda"), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    bi.zeros(1, "u1", device="cuda:0").synchronize()  # opens what opens once
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        view = buffer_interface(tensor, protocol="cuda_array_interface", sync=False)
        tensor.add_(1)
    graph.replay()
    torch.cuda.synchronize()
    assert int(view.buffer) == tensor.data_ptr()
    assert np.asarray(view.to("host")).tolist() == [1] * 64


def test_a_tensor_that_needs_gradients_is_refused(peer):
    tensor = torch.zeros(4, device="cuda", requires_grad=True)
    with pytest.raises((BufferError, RuntimeError)):
        buffer_interface(tensor)
    assert buffer_interface(tensor.detach()).shape == (4,)


@pytest.mark.parametrize("protocol", [None, "dlpack", "cuda_array_interface"])
def test_conjugated_and_negated_tensors_are_refused(peer, protocol):
    """Their elements are not what is in the memory."""
    tensor = torch.ones(4, dtype=torch.complex64, device="cuda").conj()
    for lazy, resolved in ((tensor, tensor.resolve_conj()), (tensor.imag, tensor.imag.resolve_neg())):
        with pytest.raises(BufferError, match="resolve_"):
            buffer_interface(lazy, protocol=protocol)
        assert buffer_interface(resolved, protocol=protocol).shape == (4,)


def test_float8_has_its_name(peer):
    """PyTorch's dictionary has no name for it, and its DLPack has one since version 2.9."""
    tensor = torch.zeros(4, dtype=torch.uint8, device="cuda").view(torch.float8_e4m3fn)
    try:
        capsule = tensor.__dlpack__(max_version=(1, 1))
    except (BufferError, RuntimeError, TypeError):
        with pytest.raises((BufferError, RuntimeError, TypeError)):
            buffer_interface(tensor)
        return
    del capsule
    assert buffer_interface(tensor).typestr == "float8_e4m3fn"
