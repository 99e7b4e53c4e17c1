"""Rows in C: the hatch `__buffer_interface_c__` and the DLPack exchange table, as an extension uses them."""

import numpy as np

import buffer_interface as bi
import build
from report import fastest
from timing import compare
from verify import WrongResult, equal

HATCH_LIMIT = 15  # ns
SLICE_LIMIT = 30


def run(report, library):
    try:
        loops = build.loops()
    except build.Unavailable as why:
        report.skip("rows in C", why)
        return
    x = np.arange(12, dtype="<f4").reshape(3, 4)
    v = bi.buffer_interface(x)
    ours = {"hatch, borrow": (loops.borrow, v), "hatch, take": (loops.take, v), "table, tensor": (loops.dl_tensor, v),
            "table, managed": (loops.dl_managed, v)}
    others = peers(report, loops, x)
    for name, (loop, array) in (ours | others).items():
        equal(f"{name}, address", loop(array, 1)[1], x.ctypes.data)
    figures = compare({name: runner(loop, array) for name, (loop, array) in (ours | others).items()})
    add_rows(report, {name: figures[name] for name in ours}, {name: figures[name] for name in others})
    slices(report, library)


def runner(loop, array):
    return lambda n: loop(array, n)[0]


def peers(report, loops, x):
    """Objects of other libraries with an exchange table of their own, and which of its functions they have."""
    found = {}
    for name, make in (("tvm-ffi", tvm_tensor), ("NumPy", lambda array: array)):
        try:
            array = make(x)
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
    """tvm-ffi puts its table on arrays of other libraries; this one of its own has it as well."""
    import tvm_ffi
    from tvm_ffi.core import DLTensorTestWrapper
    return DLTensorTestWrapper(tvm_ffi.from_dlpack(x))


def add_rows(report, ours, others):
    limit, target = HATCH_LIMIT, f"≤ {HATCH_LIMIT} ns"
    if others and fastest(others) < HATCH_LIMIT:
        limit, target = fastest(others), "≤ fastest peer"
    report.add("C: __buffer_interface_c__, view", ours["hatch, borrow"], others, target, limit)
    report.add("C: __buffer_interface_c__, acquire and release", ours["hatch, take"], others)
    report.add("C: DLPack exchange table, tensor", ours["table, tensor"], others, target, limit)
    managed = {name: figure for name, figure in others.items() if name.endswith("managed")}
    report.add("C: DLPack exchange table, managed tensor and its deleter", ours["table, managed"], managed,
               *(("≤ fastest peer", fastest(managed)) if managed else ()))


def slices(report, library):
    try:
        core = build.core(library)
    except build.Unavailable as why:
        report.skip("C: slice of a view", why)
        return
    if core.bench_slice(1) < 0:
        raise WrongResult("C: slice of a view: a call failed, or the view is not the slice")
    figures = compare({"ours": core.bench_slice, "the least: malloc, copy, count, free": core.bench_plain})
    report.add("C: slice of a view, and its release", figures.pop("ours"), figures, f"≤ {SLICE_LIMIT} ns",
               SLICE_LIMIT)
