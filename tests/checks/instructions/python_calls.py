"""The hot calls of the Python package, between the marks that count.py reads: the rows of bench/python that exchange arrays.

The arguments: the library of marks.h, and the number of calls of each case. scripts/test-python compares the counts with
expected_python.txt.
"""

import ctypes
import gc
import sys

import numpy as np

import buffer_interface as bi

SHAPE = (3, 4)


class Producer:
    """The minimum of a CUDA Array Interface."""

    def __init__(self, memory, stream):
        self.__cuda_array_interface__ = {"shape": SHAPE, "typestr": "<f4", "data": (int(memory.buffer), False),
                                         "strides": None, "version": 3, "stream": stream}  # fmt: skip


def host_cases():
    array = np.arange(12, dtype="<f4").reshape(SHAPE)
    view, version = bi.buffer_interface(array), (1, 3)
    rows = memoryview(bytearray(48)).cast("f", SHAPE)
    return {
        "import_numpy": lambda: bi.buffer_interface(array),
        "import_memoryview": lambda: bi.buffer_interface(rows),
        "export_dlpack": lambda: view.__dlpack__(max_version=version),
        "export_memoryview": lambda: memoryview(view),
        "export_array_interface": lambda: view.__array_interface__,
        "slice_rows": lambda: view[1:],
        "slice_steps": lambda: view[1:, ::2],
        "attribute_shape": lambda: view.shape,
    }


def cuda_cases():
    memory = bi.from_numpy(np.arange(12, dtype="<f4").reshape(SHAPE), device="cuda")
    memory.synchronize()
    plain, ordered = Producer(memory, None), Producer(memory, 1)
    return {
        "import_cai": lambda: bi.buffer_interface(plain),
        "import_cai_stream": lambda: bi.buffer_interface(ordered),
        "import_cai_unchecked": lambda: bi.buffer_interface(plain, check=False),
        "export_cai": lambda: memory.__cuda_array_interface__,
    }


def opencl_cases():
    import pyopencl
    import pyopencl.array

    queue = pyopencl.CommandQueue(pyopencl.create_some_context(interactive=False))
    array = pyopencl.array.to_device(queue, np.arange(12, dtype="<f4").reshape(SHAPE))
    queue.finish()
    return {"import_pyopencl": lambda: bi.buffer_interface(array)}


def main():
    marks, calls = ctypes.PyDLL(sys.argv[1]), int(sys.argv[2])
    gc.disable()
    for name, case in {**host_cases(), **cuda_cases(), **opencl_cases()}.items():
        for _ in range(10):
            case()
        marks.bi_marks_begin()
        for _ in range(calls):
            case()
        marks.bi_marks_end(name.encode(), ctypes.c_long(calls))


main()
