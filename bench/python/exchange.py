"""Describing and exchanging arrays, without copies: views and device memory in C, then the Python package."""

import importlib.util

import drivers
import native
from layouts import flat
from report import at_most, at_most_of

GROUP = "exchange"
VIEWS = {"slice": "view_slice", "transpose": "view_transpose", "index": "view_index"}
SLICE = at_most(30, taken_beside=("libgpuarray", 109))
RAW = "driver's own calls"
LEAST = "malloc, copy, count, free"  # the minimum of a counted view on the heap


def run(report, here, quick):
    views(report, here)
    devices(report, here, quick)
    missing = [name for name in ("numpy", "buffer_interface") if not importlib.util.find_spec(name)]
    if missing:
        report.skip("rows of the Python package", f"not installed: {', '.join(missing)} (bench/run --install)")
        return
    import c_rows
    import device_rows
    import host_rows
    import process_rows
    c_rows.run(report)
    host_rows.run(report)
    simulated = any("imulated" in device["name"] for device in here.devices())
    device_rows.run(report, "simulated driver" if simulated else "CUDA")
    process_rows.run(report)


def views(report, here):
    devices = drivers.cpus(here)
    for how, (name, make) in enumerate(VIEWS.items()):
        runners = {"ours": here.job(make), LEAST: here.job("view_plain")}
        try:
            if not devices:
                raise native.Unavailable("there is no OpenCL device")
            runners["libgpuarray"] = here.job("gpuarray_view", how, *drivers.place_of(next(iter(devices.values()))))
        except native.Unavailable as why:
            report.skip(f"libgpuarray, {name} of a view", why)
        for job in runners.values():
            job.verify(f"C: {name} of a view")
        report.measure(GROUP, f"C: {name} of a view, and its release", runners, SLICE, (LEAST,))
        for job in runners.values():
            job.release()


def devices(report, here, quick):
    """Returns the OpenCL CPU devices (PoCL has an asynchronous and a synchronous one) and the GPUs."""
    found = drivers.cpus(here) | {spec: spec for spec in drivers.gpus(report, here, quick)}
    if not found:
        report.skip("rows on devices", "there is none")
    for words, spec in found.items():
        beside_raw(report, here, f"C: allocate and free device memory, {words}", spec, native.ALLOCATE,
                   at_most_of(RAW), ())
        beside_raw(report, here, f"C: open a device, and its release, {words}", spec, native.OPEN,
                   at_most_of(RAW, plus=20000, text=f"≤ {RAW} + 20 µs"), (RAW,))


def beside_raw(report, here, words, spec, operation, target, bounds):
    with native.Array(here, flat(4096)) as array:
        wanted = native.request(operation, every=1 << 30)
        runners = {"ours": drivers.ours(array, spec, wanted), RAW: drivers.raw(array, spec, wanted)}
        for job in runners.values():
            job.verify(words)
        report.measure(GROUP, words, runners, target, bounds)
