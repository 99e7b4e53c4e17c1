"""Strided arrays into dense ones, float32, a source of 64 MiB: the host and an OpenCL CPU device, beside memcpy."""

import os

import drivers
import gpuarray_peer
import native
import peers
from drivers import verified
from layouts import LAYOUTS, MIB
from native import COPY, HOST, request
from report import share_of

SOURCE_BYTES = 64 * MIB
QUICK_BYTES = MIB // 16
# Share of a one-thread memcpy of the same bytes: one thread, all cores.
TARGETS = {
    "2-D transpose": (.50, .85),
    "[:, ::2]": (.65, .80),
    "permute (0,2,1,3)": (.75, .90),
    "permute (3,2,1,0)": (.50, .75),
    "[::-1]": (.85, 1.0),
    "[:, ::-1]": (.53, 1.0),
    "contiguous": (1.0, 1.8),
}
MEMCPY = "memcpy, 1 thread"


def run(report, here, quick):
    for name, make in LAYOUTS.items():
        if report.wants(name):
            with native.Array(here, make(QUICK_BYTES if quick else SOURCE_BYTES, 4)) as array:
                layout_rows(report, here, name, array)


def thread_choices(here):
    """Returns (words, number of threads) of each choice."""
    if here.set_threads(0):
        return {"1 thread": 1, "all cores": 0}
    return {"as it is": 0}


def layout_rows(report, here, name, array):
    host, device = host_runners(report, here, array), device_runners(report, here, array)
    for place, (mine, others, bounds) in (("host", host), ("OpenCL CPU", device)):
        if not mine:
            continue
        figures, look = report.compare(mine | others, moves=True)
        for words, share in zip(mine, TARGETS[name]):
            hidden = [other for other in figures if other in mine and other != words]
            row = {"ours" if key == words else key: value for key, value in figures.items() if key not in hidden}
            row = {key: value for key, value in row.items() if fits(key, words)}
            report.add("moving", f"{name}, {place}, {words}", row, look, share_of(MEMCPY, share), bounds,
                       2 * array.layout.bytes)


def fits(peer, words):
    """Returns False for a peer on all cores beside ours on one thread."""
    return not (peer.endswith("all cores") and words == "1 thread")


def host_runners(report, here, array):
    name = f"copy on the host, {array.layout.name}"
    ours = drivers.ours(array, "host", request(COPY, HOST, HOST))
    mine = {words: verified(ours.on(count), name) for words, count in thread_choices(here).items()}
    others = {MEMCPY: verified(array.memcpy_beside(ours), name), "naive C": verified(array.job("naive"), name)}
    peers.add(report, others, "NumPy", array, peers.numpy_copy)
    peers.add(report, others, "PyTorch, 1 thread", array, peers.torch_copy, 1)
    peers.add(report, others, "PyTorch, all cores", array, peers.torch_copy, len(os.sched_getaffinity(0)))
    return mine, others, bounds_of(array, MEMCPY)


def bounds_of(array, *names):
    """Copies of as many bytes are peers only of contiguous copies."""
    return () if array.layout.name == "contiguous" else names


def device_runners(report, here, array):
    spec = next(iter(drivers.cpus(here).values()), None)
    if not spec:
        return {}, {}, ()
    name = f"copy on {spec}, {array.layout.name}"
    ours = drivers.ours(array, spec, request())
    mine = {words: verified(ours.on(count), name) for words, count in thread_choices(here).items()}
    others = {MEMCPY: verified(array.memcpy_beside(ours), name),
              "clEnqueueCopyBuffer": verified(drivers.raw(array, spec, request(), ours), name),
              "naive kernel, all cores": verified(drivers.use_kernel(drivers.raw(array, spec, request(), ours)), name)}
    gpuarray_peer.add(report, others, array, spec)
    return mine, others, bounds_of(array, MEMCPY, "clEnqueueCopyBuffer")
