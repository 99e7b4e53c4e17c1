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
NUMPY_CALLED = "NumPy, called from Python"  # ours is called from C


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
        operation = f"copy of {size} bytes, host"
        if not report.wants(operation):
            continue
        with native.Array(here, flat(size)) as array:
            wanted = request(COPY, HOST, HOST, every=ROW_OF_CALLS)
            runners = {"ours": drivers.verified(drivers.ours(array, "host", wanted), operation),
                       "memcpy": drivers.verified(array.job("memcpy"), "memcpy")}
            peers.add(report, runners, NUMPY_CALLED, array, peers.numpy_copy)
            report.measure(GROUP, operation, runners, at_most_of("memcpy", plus=200, text="≤ memcpy + 200 ns"),
                           bounds=("memcpy", NUMPY_CALLED))


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
    if not report.wants(operation):
        return
    with native.Array(here, flat(size)) as array:
        wanted = request(kind, DEVICE, DEVICE, exported=exported, every=ROW_OF_CALLS)
        runners = {"ours": drivers.ours(array, spec, wanted), RAW: drivers.raw(array, spec, wanted)}
        for name, job in runners.items():
            job.verify(f"{operation}: {spec}, {name}")
        report.measure(GROUP, operation, runners, at_most_of(RAW, plus=200, text=f"≤ {RAW} + 200 ns"), bounds=(RAW,))


def fresh(report, here, size):
    """Allocation of a destination, a copy into it, and its release: from the pool, which the first repetition has
    filled, and without one. The peers have none."""
    for device, spec in [("host", "host"), *first_cpu(here)]:
        for words, unpooled in (("memory of the pool", 0), ("memory that was never written", 1)):
            operation = f"copy into {words}, {size // MIB} MiB, {device}"
            if report.wants(operation):
                with native.Array(here, flat(size)) as array:
                    wanted = request(FRESH, HOST if spec == "host" else DEVICE, DEVICE, unpooled=unpooled)
                    fresh_row(report, array, operation, spec, wanted)


def fresh_row(report, array, operation, spec, wanted):
    ours = drivers.verified(drivers.ours(array, spec, wanted), operation)
    runners = {"ours": ours, MEMCPY: drivers.verified(array.memcpy_beside(ours), MEMCPY)}
    if spec == "host":
        runners["malloc, memcpy, free"] = drivers.verified(array.job("malloc_copy"), operation)
        add_numpy_copy(report, runners, array)
    else:
        raw = drivers.raw(array, spec, wanted, ours)
        runners["clCreateBuffer, copy, release"] = drivers.verified(raw, operation)
    bounds, target = ((MEMCPY,), None) if wanted.unpooled else (tuple(runners)[1:], share_of(MEMCPY, .8))
    report.measure(GROUP, operation, runners, target, bounds, 2 * array.layout.bytes)


def first_cpu(here):
    """Returns [(words, spec)] of one OpenCL CPU device, or an empty list."""
    return list(drivers.cpus(here).items())[:1]


def add_numpy_copy(report, runners, array):
    try:
        source, _ = peers.numpy_arrays(array)
    except ImportError as why:
        report.skip("NumPy", why)
        return
    copied = source.copy()
    array.check("NumPy x.copy()", copied.ctypes.data)
    runners["NumPy x.copy()"] = peers.loop(source.copy)


FIRST = """
import sys, time
sys.path.insert(0, {folder!r})
import native, drivers, layouts
here = native.Native({library!r}, {jobs!r})
with native.Array(here, layouts.LAYOUTS["2-D transpose"](1 << 20, 4)) as array:
    job = getattr(drivers, {make!r})(array, {spec!r}, native.request())
    start = time.perf_counter()
    if {make!r} == "raw":
        drivers.use_kernel(job)
    job.seconds(1)
    seconds = time.perf_counter() - start
    job.verify("the first copy of a process")
print(seconds)
"""


def first_copy(report, here):
    """The first copy of a new process with an empty kernel cache. The clock starts when the device is open and has both
    arrays."""
    operation = "first strided copy of a process, nothing cached"
    found = first_cpu(here)
    if not found or not report.wants(operation):
        return
    device, spec = found[0]
    runners = {"ours": first_of_process(here, spec, "ours"),
               "naive kernel, with its compilation": first_of_process(here, spec, "raw")}
    pace = replace(report.pace, turn=0, rounds=7)
    report.add(GROUP, f"{operation}, {device}", *report.compare(runners, pace=pace, scale=1e3, unit="ms"),
               at_most(10, "ms"))


def first_of_process(here, spec, make):
    code = FIRST.format(folder=os.path.dirname(__file__), library=here.library._name, jobs=here.jobs._name, spec=spec,
                        make=make)
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
                layout, wanted = LAYOUTS[name](size, 4), request(COPY, source, destination)
                # The dense side of what NumPy packs: the elements, or all bytes of the source.
                count = layout.bytes if source == HOST else layout.source_bytes
                with native.Array(here, layout) as array, native.Array(here, flat(count)) as dense:
                    transfer(report, array, dense, spec, f"{name}, {words}, {device}", wanted)


def transfer(report, array, dense, spec, operation, wanted):
    ours = drivers.verified(drivers.ours(array, spec, wanted), operation)
    raw = drivers.verified(drivers.raw(array, spec, wanted, ours), f"{operation}, contiguous")
    runners = {"ours": ours, "contiguous": raw}
    try:
        runners["packed by NumPy"] = packed(array, dense, drivers.raw(dense, spec, wanted, ours), wanted)
    except ImportError as why:
        report.skip("NumPy", why)
    report.measure(GROUP, operation, runners, bounds=("contiguous",), moved=2 * array.layout.bytes)


def packed(array, dense, send, wanted):
    """NumPy packs what the driver then writes to the device, or what it has read from there."""
    drivers.verified(send, "a dense transfer")
    if wanted.source == HOST:
        pack = peers.numpy_copy(array, destination=dense.source)
        pack(1)
        send(1)
        array.check("packed by NumPy", send.fetch(array.layout.bytes))
    else:
        pack = peers.numpy_copy(array, source=dense.destination)
        array.clear()
        send(1)
        pack(1)
        array.check("packed by NumPy")
    return lambda n: pack(n) + send(n)
