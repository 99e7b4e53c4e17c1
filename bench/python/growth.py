"""How cost grows: with bytes, dimensions, cores and the size of an item. Points of plots, no targets."""

import os
from dataclasses import replace

import drivers
import native
import peers
from layouts import KIB, LAYOUTS, MIB, flat, padded, turned
from moving import MEMCPY, thread_choices
from native import COPY, HOST, Unavailable, request

POINT_PACE = {"budget": .35, "fewest": 3, "rounds": 9}
LAYOUT_SIZES = [64 * KIB * 8 ** step for step in range(5)]
SIZES = [8 * 8 ** step for step in range(10)]
ITEM_SIZES = (1, 2, 3, 4, 6, 8, 12, 16)
DIMENSIONS = range(1, 9)
MIDDLE = 16 * MIB


def run(report, here, quick):
    usual = report.pace
    report.pace = usual if quick else replace(usual, **POINT_PACE)
    small = (lambda sizes: sizes[:2]) if quick else (lambda sizes: sizes)
    middle = MIB // 16 if quick else MIDDLE
    if report.wants("layouts"):
        for name, make in LAYOUTS.items():
            for size in small(LAYOUT_SIZES):
                with native.Array(here, make(size, 4)) as array:
                    report.point("layouts", name, size, on_host(report, here, array), 2 * array.layout.bytes)
    if report.wants("sizes"):
        sizes(report, here, small(SIZES))
    if report.wants("dimensions"):
        for panel, make in (("a gap after each row, plane, …", padded), ("all axes reversed", turned)):
            for ndim in DIMENSIONS:
                with native.Array(here, make(middle, 4, ndim)) as array:
                    report.point("dimensions", panel, ndim, on_host(report, here, array, naive=True),
                                 2 * array.layout.bytes)
    if report.wants("items"):
        for name in ("2-D transpose", "[:, ::2]"):
            for item_size in ITEM_SIZES:
                with native.Array(here, LAYOUTS[name](middle // 4 * item_size, item_size)) as array:
                    report.point("items", name, item_size, on_host(report, here, array, naive=True),
                                 2 * array.layout.bytes)
    if report.wants("cores"):
        cores(report, here, middle)
    report.pace = usual


def on_host(report, here, array, naive=False):
    runners = {}
    for words, count in thread_choices(here).items():
        job = drivers.ours(array, "host", request(COPY, HOST, HOST), count)
        runners[f"ours, {words}"] = drivers.verified(job, f"copy, {array.layout.name}")
    runners[MEMCPY] = drivers.verified(array.job("memcpy"), "memcpy")
    if naive:
        runners["naive C"] = drivers.verified(array.job("naive"), "naive C")
    peers.add(report, runners, "NumPy", array, peers.numpy_copy)
    return runners


def sizes(report, here, counts):
    """Copies of dense bytes: on the host and on each kind of OpenCL CPU device."""
    mine = f"ours, {list(thread_choices(here))[-1]}"
    for count in counts:
        with native.Array(here, flat(count)) as array:
            report.point("sizes", "host", count, on_host(report, here, array), 2 * count)
            for device, spec in drivers.cpus(here).items():
                array.release_jobs()
                try:
                    ours = drivers.verified(drivers.ours(array, spec, request()), "copy")
                    raw = drivers.verified(drivers.raw(array, spec, request(), ours), "raw copy")
                    runners = {mine: ours, "clEnqueueCopyBuffer": raw}
                    report.point("sizes", device, count, runners, 2 * count)
                except Unavailable as why:
                    report.skip(f"copy of {count} bytes on {device}", why)


def cores(report, here, size):
    """One point for each number of threads; each layout is a series."""
    available = len(os.sched_getaffinity(0))
    if not here.set_threads(0):
        report.skip("one to all cores", Unavailable("the library has no choice of threads"))
        return
    for name, make in LAYOUTS.items():
        for count in range(1, available + 1):
            with native.Array(here, make(size, 4)) as array:
                job = drivers.ours(array, "host", request(COPY, HOST, HOST), count)
                runners = {"ours": drivers.verified(job, f"copy by {count} threads, {name}"),
                           MEMCPY: drivers.verified(array.job("memcpy"), "memcpy")}
                report.point("cores", name, count, runners, 2 * array.layout.bytes)
