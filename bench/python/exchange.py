"""Describing and exchanging arrays, without copies: views and device memory in C, then the Python package."""

import importlib.util

import drivers
import gpuarray_peer
import native
from layouts import flat
from report import at_most, at_most_of

GROUP = "exchange"
VIEWS = ("slice", "transpose", "index")  # enum bench_view
SLICE = at_most(30, taken_beside=("libgpuarray", 109))
RAW = "driver's own calls"
LEAST = "malloc, copy, count, free"  # the minimum of a counted view on the heap


def run(report, here, quick):
    views(report, here)
    devices(report, here, quick)
    missing = [name for name in ("numpy", "buffer_interface") if not importlib.util.find_spec(name)]
    if missing:
        why = native.Missing(f"not installed: {', '.join(missing)} (bench/run --install)")
        report.skip("rows of the Python package", why)
        return
    import c_rows
    import device_rows
    import host_rows
    import process_rows
    c_rows.run(report)
    host_rows.run(report)
    device_rows.run(report, here.devices())
    process_rows.run(report)


def views(report, here):
    """Views of an array on the host, and on an OpenCL device beside libgpuarray, which has no host arrays."""
    for how, name in enumerate(VIEWS):
        measure_view(report, f"C: {name} of a view, and its release", view_runners(here, how, "host"))
        for words, spec in list(drivers.cpus(here).items())[:1]:
            runners = view_runners(here, how, spec)
            try:
                gpuarray_peer.load()
                runners["libgpuarray"] = here.job("gpuarray_view", how, *drivers.place_of(spec))
            except native.Unavailable as why:
                report.skip(f"libgpuarray, {name} of a view", why)
            measure_view(report, f"C: {name} of a view, and its release, {words}", runners)


def view_runners(here, how, spec):
    return {"ours": here.job("view", spec.encode(), how), LEAST: here.job("view_plain")}


def measure_view(report, operation, runners):
    for job in runners.values():
        job.verify(operation)
    report.measure(GROUP, operation, runners, SLICE, (LEAST,))
    for job in runners.values():
        job.release()


def devices(report, here, quick):
    """Measures on the OpenCL CPU devices (PoCL has an asynchronous and a synchronous one) and the GPUs."""
    found = drivers.cpus(here) | {spec: spec for spec in drivers.gpus(report, here, quick)}
    for words, spec in found.items():
        beside_raw(report, here, f"C: take device memory from the pool and give it back, {words}", spec,
                   native.ALLOCATE, at_most_of(RAW))
        beside_raw(report, here, f"C: open a device, and its release, {words}", spec, native.OPEN,
                   at_most_of(RAW, plus=20000, text=f"≤ {RAW} + 20 µs"))


def beside_raw(report, here, words, spec, operation, target):
    with native.Array(here, flat(4096)) as array:
        wanted = native.request(operation, every=1 << 30)
        runners = {"ours": drivers.ours(array, spec, wanted), RAW: drivers.raw(array, spec, wanted)}
        for job in runners.values():
            job.verify(words)
        report.measure(GROUP, words, runners, target, (RAW,))
