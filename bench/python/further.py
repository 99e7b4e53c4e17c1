"""Small operations, new memory, the first copy of a process, transfers of strided arrays."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace

import drivers
import native
import peers
from layouts import LAYOUTS, MIB, flat
from native import COPY, DEVICE, FILL, FRESH, HOST, READ, WRITE, request
from report import at_most, at_most_of, share_of

GROUP = "further"
SMALL = (8, 4096)
ROW_OF_CALLS = 64  # calls that are enqueued before they are waited for
OPERATIONS = {"copy": COPY, "fill": FILL, "blocking write": WRITE, "blocking read": READ}
FRESH_BYTES, QUICK_BYTES = 64 * MIB, MIB // 4
RAW = "driver's own call"
MEMCPY = "memcpy, 1 thread"


def run(report, here, quick):
    small_on_host(report, here)
    devices = drivers.cpus(here) | {spec: spec for spec in drivers.gpus(report, here, quick)}
    for device, spec in devices.items():
        small_on_device(report, here, device, spec)
    for device, spec in drivers.cpus(here).items():
        small_and_shown(report, here, device, spec)
    fresh(report, here, QUICK_BYTES if quick else FRESH_BYTES)
    first_copy(report, here)
    transfers(report, here, QUICK_BYTES if quick else FRESH_BYTES)


def small_on_host(report, here):
    for size in SMALL:
        with native.Array(here, flat(size)) as array:
            wanted = request(COPY, HOST, HOST, every=ROW_OF_CALLS)
            runners = {"ours": drivers.verified(drivers.ours(array, "host", wanted), f"copy of {size} bytes"),
                       "memcpy": drivers.verified(array.job("memcpy"), "memcpy")}
            peers.add(report, runners, "NumPy", array, peers.numpy_copy)
            report.measure(GROUP, f"copy of {size} bytes, host", runners,
                           at_most_of("memcpy", plus=200, text="≤ memcpy + 200 ns"), bounds=("memcpy",))


def small_on_device(report, here, device, spec):
    for words, operation in OPERATIONS.items():
        for size in SMALL:
            small(report, here, f"{words} of {size} bytes, {device}", operation, size, spec)


def small_and_shown(report, here, device, spec):
    """Small operations that the library executes inline, beside the same through the driver on exported memory."""
    for words, operation in OPERATIONS.items():
        size = SMALL[0]
        small(report, here, f"{words} of {size} bytes, shown memory, {device}", operation, size, spec, exported=1)


def small(report, here, operation, kind, size, spec, exported=0):
    with native.Array(here, flat(size)) as array:
        wanted = request(kind, DEVICE, DEVICE, exported=exported, every=ROW_OF_CALLS)
        runners = {"ours": drivers.ours(array, spec, wanted), RAW: drivers.raw(array, spec, wanted)}
        for name, job in runners.items():
            job.verify(f"{operation}: {spec}, {name}")
        report.measure(GROUP, operation, runners, at_most_of(RAW, plus=200, text=f"≤ {RAW} + 200 ns"), bounds=(RAW,))


def fresh(report, here, size):
    """A copy into newly allocated memory, which the pool provides from the second time on."""
    for device, spec in [("host", "host"), *first_cpu(here)]:
        with native.Array(here, flat(size)) as array:
            wanted = request(FRESH, HOST if spec == "host" else DEVICE, DEVICE)
            runners = {"ours": drivers.verified(drivers.ours(array, spec, wanted), "a copy into new memory"),
                       MEMCPY: drivers.verified(array.job("memcpy"), "memcpy")}
            if spec == "host":
                runners["malloc, memcpy, free"] = array.job("malloc_copy")
                add_numpy_copy(report, runners, array)
            else:
                runners["clCreateBuffer, copy, release"] = drivers.raw(array, spec, wanted)
            report.measure(GROUP, f"copy into new memory of {size // MIB} MiB, {device}", runners,
                           share_of(MEMCPY, .8), bounds=(MEMCPY,), moved=2 * size)


def first_cpu(here):
    """Returns [(words, spec)] of one OpenCL CPU device, or an empty list."""
    return list(drivers.cpus(here).items())[:1]


def add_numpy_copy(report, runners, array):
    try:
        source, _ = peers.numpy_arrays(array)
    except native.Unavailable as why:
        report.skip("NumPy", why)
        return
    runners["NumPy x.copy()"] = peers.loop(source.copy)


FIRST = """
import sys
sys.path.insert(0, {folder!r})
import native, drivers, layouts
here = native.Native({library!r}, {jobs!r})
with native.Array(here, layouts.LAYOUTS["2-D transpose"](1 << 20, 4)) as array:
    if {ours}:
        job = drivers.ours(array, {spec!r}, native.request())
        seconds = job(1)
    else:
        import time
        start = time.perf_counter()
        job = array.job("opencl_kernel", *drivers.place_of({spec!r}))
        job(1)
        seconds = time.perf_counter() - start
    job.verify("the first copy of a process")
print(seconds)
"""


def first_copy(report, here):
    """The first copy of a new process with an empty kernel cache, after the device was opened and has the source."""
    operation = "first strided copy of a process, nothing cached"
    found = first_cpu(here)
    if not found or not report.wants(operation):
        return
    device, spec = found[0]
    runners = {"ours": first_of_process(here, spec, ours=True),
               "naive kernel, with its device": first_of_process(here, spec, ours=False)}
    pace = replace(report.pace, turn=0, rounds=7)
    report.add(GROUP, f"{operation}, {device}", *report.compare(runners, pace=pace, scale=1e3, unit="ms"),
               at_most(10, "ms"))


def first_of_process(here, spec, ours):
    code = FIRST.format(folder=os.path.dirname(__file__), library=here.library._name, jobs=here.jobs._name, spec=spec,
                        ours=ours)
    return lambda n: sum(child(code) for _ in range(n))


def child(code):
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"POCL_CACHE_DIR": cache},
                              capture_output=True, text=True, check=False)
    if done.returncode:
        raise native.WrongResult(f"a child process failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def transfers(report, here, size):
    """Transfers between strided and dense arrays, both ways, beside packing by NumPy and a dense transfer."""
    for device, spec in first_cpu(here):
        for name in ("2-D transpose", "[:, ::2]"):
            for words, source, destination in (("host to device", HOST, DEVICE), ("device to host", DEVICE, HOST)):
                with native.Array(here, LAYOUTS[name](size, 4)) as array:
                    transfer(report, array, spec, f"{name}, {words}, {device}", request(COPY, source, destination))


def transfer(report, array, spec, operation, wanted):
    runners = {"ours": drivers.verified(drivers.ours(array, spec, wanted), operation),
               "contiguous": drivers.verified(drivers.raw(array, spec, wanted), f"{operation}, contiguous")}
    packing = {}
    peers.add(report, packing, "NumPy", array, peers.numpy_copy)
    for pack in packing.values():
        runners["packed by NumPy"] = lambda n, send=runners["contiguous"]: pack(n) + send(n)
    report.measure(GROUP, operation, runners, bounds=("contiguous",), moved=2 * array.layout.bytes)
