"""Other libraries that copy strided arrays on the host: runners into the destination of an Array."""

import ctypes
from time import perf_counter

from native import Missing, Unavailable

TORCH_TYPES = {1: "uint8", 2: "int16", 4: "float32", 8: "float64"}


def loop(once):
    def runner(n):
        start = perf_counter()
        for _ in range(n):
            once()
        return perf_counter() - start
    return runner


def numpy_arrays(array, source=None, destination=None):
    """Source and destination as NumPy arrays, at other addresses if they are given. Item sizes without a type are
    void, which NumPy copies as bytes."""
    import numpy as np
    layout = array.layout
    dtype = np.dtype(f"u{layout.item_size}" if layout.item_size in (1, 2, 4, 8) else f"V{layout.item_size}")
    bytes_of = lambda address, count: (ctypes.c_ubyte * count).from_address(address)  # noqa: E731
    return (np.ndarray(layout.shape, dtype, bytes_of(source or array.source, layout.source_bytes), layout.offset,
                       layout.strides),
            np.ndarray(layout.shape, dtype, bytes_of(destination or array.destination, layout.bytes)))


def numpy_copy(array, source=None, destination=None):
    import numpy as np
    source, destination = numpy_arrays(array, source, destination)
    return loop(lambda: np.copyto(destination, source))


def torch_copy(array, threads):
    """PyTorch's tensor.copy_ on the CPU, into existing memory like NumPy."""
    import numpy as np
    import torch
    layout = array.layout
    if min(layout.strides, default=0) < 0:
        raise Missing("PyTorch has no negative strides")
    if layout.item_size not in TORCH_TYPES:
        raise Missing(f"PyTorch has no type of {layout.item_size} bytes")
    source, destination = (x.view(np.dtype(TORCH_TYPES[layout.item_size])) for x in numpy_arrays(array))
    to, from_ = torch.from_numpy(destination), torch.from_numpy(source)
    copy = loop(lambda: to.copy_(from_))

    def runner(n):
        torch.set_num_threads(threads)
        return copy(n)
    return runner


def add(report, runners, name, array, make, *arguments):
    """Adds a verified peer, or the reason why it is missing."""
    try:
        runner = make(array, *arguments)
    except (Unavailable, ImportError) as why:
        report.skip(f"{name}: {array.layout.name}" if "has no" in str(why) else name, why)
        return
    array.clear()
    runner(1)
    array.check(f"{name}, {array.layout.name}")
    runners[name] = runner
