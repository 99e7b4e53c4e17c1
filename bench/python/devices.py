"""Python rows on device memory: the CUDA Array Interface on whatever CUDA driver there is, pyopencl arrays."""

import numpy as np

import buffer_interface as bi
from report import fastest
from timing import compare, statement
from verify import equal, same_array

SHAPE = (3, 4)


class Producer:
    """The least that has a CUDA Array Interface: a new dictionary at each access, and nothing else."""

    def __init__(self, address, stream):
        self.address = address
        self.stream = stream

    @property
    def __cuda_array_interface__(self):
        return {"shape": SHAPE, "typestr": "<f4", "data": (self.address, False), "strides": None, "version": 3,
                "stream": self.stream}


def run(report):
    cuda(report)
    opencl(report)


def cuda(report):
    try:
        memory = bi.from_numpy(np.arange(12, dtype="<f4").reshape(SHAPE), device="cuda")
    except Exception as why:  # noqa: BLE001: whatever is missing, the row says so
        report.skip("rows on CUDA", why)
        return
    memory.synchronize()
    import_cai(report, memory, None, "no stream")
    import_cai(report, memory, 1, "stream 1")
    export_cai(report, memory)


def import_cai(report, memory, stream, words):
    x = Producer(int(memory.buffer), stream)
    view = bi.buffer_interface(x)
    same_array("buffer_interface(CAI)", view, x.address, SHAPE, (16, 4), "<f4")
    equal("buffer_interface(CAI), values", np.asarray(view.to("host")).tolist(),
          np.asarray(memory.to("host")).tolist())
    view.release()
    runners = {
        "ours": statement("buffer_interface(x)", buffer_interface=bi.buffer_interface, x=x),
        "ours, check=False": statement("buffer_interface(x, check=False)", buffer_interface=bi.buffer_interface, x=x),
        "producer's own": statement("x.__cuda_array_interface__", x=x),
    }
    cuda_core(report, runners, x)
    figures = compare(runners)
    unchecked, ours = figures.pop("ours, check=False"), figures.pop("ours")
    limit = figures["producer's own"].median + 150
    report.add(f"buffer_interface(x), CAI v3, {words}", ours, figures, "≤ producer's + 150 ns", limit)
    report.add("  the same with check=False", unchecked, {}, "≤ producer's + 150 ns", limit)


def cuda_core(report, runners, x):
    """cuda.core opens CUDA by itself, so it runs where the driver is a real one."""
    try:
        from cuda.core.utils import StridedMemoryView
        take = StridedMemoryView.from_cuda_array_interface
        take(x, stream_ptr=-1)
    except Exception as why:  # noqa: BLE001
        if ("cuda.core StridedMemoryView", str(why)) not in report.not_run:
            report.skip("cuda.core StridedMemoryView", why)
        return
    runners["cuda.core StridedMemoryView"] = statement("take(x, stream_ptr=-1)", take=take, x=x)


def export_cai(report, memory):
    x = np.arange(12, dtype="<f4").reshape(SHAPE)
    equal("__cuda_array_interface__, data", memory.__cuda_array_interface__["data"], (int(memory.buffer), False))
    equal("__cuda_array_interface__, shape", memory.__cuda_array_interface__["shape"], SHAPE)
    figures = compare({
        "ours": statement("v.__cuda_array_interface__", v=memory),
        "NumPy's __array_interface__": statement("x.__array_interface__", x=x),
    })
    report.add(".__cuda_array_interface__", figures.pop("ours"), figures, "≤ 200 ns", 200)


def read_by_hand(x):
    """The attributes that the import reads, in Python."""
    return (x.base_data.int_ptr, x.offset, x.shape, x.strides, x.dtype.str, x.queue.int_ptr, x.events)


def read_more_by_hand(x):
    """And what the import asks the driver for: size and context of the memory."""
    return read_by_hand(x), x.base_data.size, x.queue.context.int_ptr


def opencl(report):
    try:
        import pyopencl
        import pyopencl.array
        queue = pyopencl.CommandQueue(pyopencl.create_some_context(interactive=False))
        x = pyopencl.array.to_device(queue, np.arange(12, dtype="<f4").reshape(SHAPE))
        queue.finish()
        view = bi.buffer_interface(x)
    except Exception as why:  # noqa: BLE001
        report.skip("rows on OpenCL", why)
        return
    equal("buffer_interface(pyopencl), cl_mem", view.buffer.int_ptr, x.base_data.int_ptr)
    equal("buffer_interface(pyopencl), layout", (view.offset, view.shape, view.strides, view.typestr),
          (x.offset, x.shape, x.strides, "<f4"))
    equal("buffer_interface(pyopencl), values", np.asarray(view.to("host")).tolist(), x.get().tolist())
    view.release()
    figures = compare({
        "ours": statement("buffer_interface(x)", buffer_interface=bi.buffer_interface, x=x),
        "attributes read by hand": statement("read(x)", read=read_by_hand, x=x),
        "and size and context": statement("read(x)", read=read_more_by_hand, x=x),
    })
    report.add("buffer_interface(x), pyopencl array", figures.pop("ours"), figures, "≤ the reads by hand",
               fastest(figures))
