"""Python rows on device memory: the CUDA Array Interface on the CUDA driver that is there, and pyopencl arrays."""

import numpy as np

import buffer_interface as bi
import first_reads
from native import Missing
from report import at_most, at_most_of
from timing import statement
from verify import equal, same_array

GROUP = "exchange"
SHAPE = (3, 4)


class Producer:
    """The minimum of a CUDA Array Interface: a new dictionary at each access."""

    def __init__(self, address, stream):
        self.address = address
        self.stream = stream

    @property
    def __cuda_array_interface__(self):
        return {"shape": SHAPE, "typestr": "<f4", "data": (self.address, False), "strides": None, "version": 3,
                "stream": self.stream}


def run(report, devices):
    """`devices` are those of the library."""
    found = [device for device in devices if device["spec"].startswith("cuda:")]
    if found:
        cuda(report, "simulated driver" if "imulated" in found[0]["name"] else "CUDA")
    else:
        report.skip("rows on CUDA", Missing("there is no device"))
    opencl(report)


def cuda(report, driver):
    """`driver` is added to the names of the rows."""
    try:
        memory = bi.from_numpy(np.arange(12, dtype="<f4").reshape(SHAPE), device="cuda")
    except Exception as why:  # noqa: BLE001: whatever is missing, the row says so
        report.skip("rows on CUDA", why)
        return
    memory.synchronize()
    import_cai(report, memory, None, f"no stream, {driver}")
    import_cai(report, memory, 1, f"stream 1, {driver}")
    export_cai(report, memory, driver)


def import_cai(report, memory, stream, words):
    x = Producer(int(memory.buffer), stream)
    view = bi.buffer_interface(x)
    same_array("buffer_interface(CAI)", view, x.address, SHAPE, (16, 4), "<f4")
    equal("buffer_interface(CAI), values", np.asarray(view.to("host")).tolist(),
          np.asarray(memory.to("host")).tolist())
    view.release()
    runners = {
        "ours": statement("buffer_interface(x)", buffer_interface=bi.buffer_interface, x=x),
        "producer's own": statement("x.__cuda_array_interface__", x=x),
    }
    if "simulated" in words:
        report.skip(f"{', '.join(PEERS)}: CUDA Array Interface", Missing("they need a real CUDA driver"))
    else:
        for name, find in PEERS.items():
            add_peer(report, runners, name, find, x)
    target = at_most_of("producer's own", plus=150, text="≤ producer's own + 150 ns")
    bounds = ("producer's own",)
    report.measure(GROUP, f"Python: buffer_interface(x), CAI v3, {words}", runners, target, bounds)
    unchecked = statement("buffer_interface(x, check=False)", buffer_interface=bi.buffer_interface, x=x)
    report.measure(GROUP, f"Python: buffer_interface(x, check=False), CAI v3, {words}", runners | {"ours": unchecked},
                   target, bounds)


def cuda_core():
    from cuda.core.utils import StridedMemoryView
    return lambda x: StridedMemoryView.from_cuda_array_interface(x, stream_ptr=-1)


def cupy():
    import cupy
    return cupy.asarray


def numba():
    from numba import cuda as numba_cuda
    return numba_cuda.as_cuda_array


def torch():
    import torch as peer
    return lambda x: peer.as_tensor(x, device="cuda")


# These libraries open CUDA themselves, so they need a real driver.
PEERS = {"cuda.core StridedMemoryView": cuda_core, "CuPy": cupy, "Numba": numba, "PyTorch": torch}


def add_peer(report, runners, name, find, x):
    try:
        take = find()
        take(x)
    except Exception as why:  # noqa: BLE001: whatever is missing, the row says so
        report.skip(f"{name}, CUDA Array Interface", why)
        return
    runners[name] = statement("take(x)", take=take, x=x)


def export_cai(report, memory, driver):
    equal("__cuda_array_interface__, data", [memory.__cuda_array_interface__["data"] for _ in range(3)],
          [(int(memory.buffer), False)] * 3)
    equal("__cuda_array_interface__, shape", memory.__cuda_array_interface__["shape"], SHAPE)
    memory.to("host")
    export_cai_rows(report, memory, f"work pending, {driver}")
    memory.synchronize()
    export_cai_rows(report, memory, f"idle, {driver}")


def export_cai_rows(report, memory, words):
    """NumPy's attribute is another one, of host memory; the target was derived from it."""
    x = np.arange(12, dtype="<f4").reshape(SHAPE)
    name, other = "__cuda_array_interface__", "NumPy's __array_interface__"
    report.measure(GROUP, f"Python: .{name}, first read, {words}", {
        "ours": first_reads.runner(name, lambda: memory[...]),
        other: first_reads.runner("__array_interface__", x.view),
    }, at_most(200, taken_beside=(other, 432)), bounds=(other,))
    report.measure(GROUP, f"Python: .{name}, later reads, {words}", {
        "ours": statement(f"v.{name}", v=memory),
        other: statement("x.__array_interface__", x=x),
    }, at_most(200), bounds=(other,))


def read_attributes(x):
    """Reads the attributes that an import reads, in Python. That is not enough to use the memory."""
    return (x.base_data.int_ptr, x.offset, x.shape, x.strides, x.dtype.str, x.queue.int_ptr, x.events)


def read_by_hand(x):
    """Reads everything that an import reads except the state of events: also the size of the memory and its context."""
    return read_attributes(x), x.base_data.size, x.queue.context.int_ptr


def opencl(report):
    try:
        import pyopencl
        import pyopencl.array
        context = pyopencl.create_some_context(interactive=False)
        queue = pyopencl.CommandQueue(context)
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
    report.measure(GROUP, "Python: buffer_interface(x), pyopencl array", {
        "ours": statement("buffer_interface(x)", buffer_interface=bi.buffer_interface, x=x),
        "the same reads by hand": statement("read(x)", read=read_by_hand, x=x),
        "of that the array's attributes": statement("read(x)", read=read_attributes, x=x),
    }, at_most_of("the same reads by hand"), bounds=("of that the array's attributes",))
