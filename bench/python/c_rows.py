"""Rows in C: the hatch `__buffer_interface_c__` and the DLPack exchange table, as an extension uses them."""

import numpy as np

import buffer_interface as bi
import build
from native import Missing
from report import at_most
from verify import WrongResult, equal

GROUP = "exchange"
TABLE = "__dlpack_c_exchange_api__"
LIMIT = at_most(15)
TAKE_LIMIT = at_most(30, taken_beside=("tvm-ffi, managed", 30))


def run(report):
    try:
        loops = build.loops()
    except build.Unavailable as why:
        report.skip("rows in C", why)
        return
    x = np.arange(12, dtype="<f4").reshape(3, 4)
    v = bi.buffer_interface(x)
    ours = {"hatch, borrow": (loops.borrow, v), "hatch, take": (loops.take, v), "table, tensor": (loops.dl_tensor, v),
            "table, managed": (loops.dl_managed, v)}
    pending = pending_array(report, loops, x)
    if pending is not None:
        ours["hatch, take, work pending"] = (loops.take, pending)
    others = peers(report, loops, x)
    for name, (loop, array) in (ours | others).items():
        equal(f"{name}, address", loop(array, 1)[1], address(array) if array is pending else x.ctypes.data)
    add_rows(report, *({name: runner(*pair) for name, pair in pairs.items()} for pairs in (ours, others)))


def runner(loop, array):
    return lambda n: loop(array, n)[0]


def address(array):
    return array.buffer.int_ptr + array.offset


def pending_array(report, loops, x):
    """An array on an OpenCL device. Its work counts as pending until something waits for it."""
    try:
        array = bi.from_numpy(x, device="opencl")
    except Exception as why:  # noqa: BLE001: whatever is missing, the row says so
        report.skip("acquire and release, work pending", why)
        return None
    loops.take(array, 1)  # other code knows the array now, so the fill is work of the device
    array[...] = 0
    if array.stream is None:
        raise WrongResult("no work is pending on the array")
    return array


def peers(report, loops, x):
    """Objects of other libraries that have an exchange table, and its functions."""
    found = {}
    for name, make in (("tvm-ffi", tvm_tensor), ("NumPy", lambda array: array)):
        try:
            array = make(x)
            if not hasattr(type(array), TABLE):
                raise Missing(f"it has no {TABLE}")
            loops.dl_managed(array, 1)
        except Exception as why:  # noqa: BLE001: whatever is missing, the row says so
            report.skip(f"exchange table of {name}", why)
            continue
        found[f"{name}, managed"] = (loops.dl_managed, array)
        try:
            loops.dl_tensor(array, 1)
        except BufferError:
            continue
        found[f"{name}, tensor"] = (loops.dl_tensor, array)
    return found


def tvm_tensor(x):
    """tvm-ffi adds its table to arrays of other libraries; its own tensor has one as well."""
    import tvm_ffi
    from tvm_ffi.core import DLTensorTestWrapper
    return DLTensorTestWrapper(tvm_ffi.from_dlpack(x))


def add_rows(report, ours, others):
    tensors = {name: runner for name, runner in others.items() if name.endswith("tensor")}
    managed = {name: runner for name, runner in others.items() if name.endswith("managed")}
    # A managed tensor owns a reference, and a view does not.
    report.measure(GROUP, "C: __buffer_interface_c__, view", {"ours": ours["hatch, borrow"]} | tensors | managed, LIMIT,
                   bounds=tuple(managed))
    report.measure(GROUP, "C: __buffer_interface_c__, acquire and release", {"ours": ours["hatch, take"]} | managed,
                   TAKE_LIMIT)
    if "hatch, take, work pending" in ours:
        report.measure(GROUP, "C: __buffer_interface_c__, acquire and release, work pending, OpenCL",
                       {"ours": ours["hatch, take, work pending"]} | managed, TAKE_LIMIT)
    report.measure(GROUP, "C: DLPack exchange table, tensor", {"ours": ours["table, tensor"]} | tensors, LIMIT)
    report.measure(GROUP, "C: DLPack exchange table, managed tensor and its deleter",
                   {"ours": ours["table, managed"]} | managed)
