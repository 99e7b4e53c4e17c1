"""CuPy and PyTorch on the same layouts, on memory of their own: runners that return when the device has finished."""

import ctypes
from time import perf_counter

from native import Missing
from peers import TORCH_TYPES


def add_all(report, runners, array, ordinal):
    for name, make in (("CuPy", cupy_copy), ("PyTorch", torch_copy)):
        try:
            runner, fetch = make(array, ordinal)
        except Exception as why:  # noqa: BLE001: whatever is missing, the row says so
            report.skip(f"{name} on a GPU", why)
            continue
        runner(1)
        found = fetch()
        array.check(f"{name}, {array.layout.name}", ctypes.c_void_p(found.ctypes.data))
        runners[name] = runner


def timed(once, wait):
    def runner(n):
        wait()
        start = perf_counter()
        for _ in range(n):
            once()
        wait()
        return perf_counter() - start
    return runner


def cupy_copy(array, ordinal):
    import cupy
    layout = array.layout
    cupy.cuda.Device(ordinal).use()
    dtype = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}[layout.item_size]
    memory = cupy.asarray(memory_of(array))
    source = cupy.ndarray(layout.shape, dtype, memory.data + layout.offset, layout.strides)
    destination = cupy.empty(layout.shape, dtype)

    def once():
        destination[...] = source
    return timed(once, cupy.cuda.Device(ordinal).synchronize), destination.get


def torch_copy(array, ordinal):
    """Copies into existing memory, because .contiguous() allocates. PyTorch has no negative strides."""
    import torch
    layout = array.layout
    if min(layout.strides) < 0:
        raise Missing("PyTorch has no negative strides")
    types = TORCH_TYPES | {16: "complex128"}
    dense = torch.from_numpy(memory_of(array).view(types[layout.item_size])).to(f"cuda:{ordinal}")
    strided = dense.as_strided(layout.shape, [stride // layout.item_size for stride in layout.strides])
    destination = torch.empty(layout.shape, dtype=dense.dtype, device=dense.device)
    wait = lambda: torch.cuda.synchronize(ordinal)  # noqa: E731
    return timed(lambda: destination.copy_(strided), wait), lambda: destination.cpu().numpy()


def memory_of(array):
    import numpy as np
    return np.ctypeslib.as_array((ctypes.c_ubyte * array.layout.source_bytes).from_address(array.source))
