"""Launches of the kernels of examples/heat, beside the same launches by OpenCL's own calls, and uses by hand."""

from pathlib import Path

import drivers
from report import at_most_of, share_of

GROUP = "launch"
AGAIN, INTO_NEW, SIMULATION = range(3)
KERNELS = Path(__file__).resolve().parents[2] / "examples/heat/heat.kernel.h"
RAW = "OpenCL's own calls"
# The kernels as one writes them for OpenCL alone.
OPENCL = b"""
kernel void spread(global const float *now, global float *next, float rate)
{
    size_t x = get_global_id(0), columns = get_global_size(0), y = get_global_id(1), rows = get_global_size(1);
    size_t i = y * columns + x;
    float here = now[i];
    if (x > 0 && x < columns - 1 && y > 0 && y < rows - 1)
        here += rate * (now[i - 1] + now[i + 1] + now[i - columns] + now[i + columns] - 4.0f * here);
    next[i] = here;
}
kernel void shade(global const float *now, global uchar *picture)
{
    size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    picture[i] = (uchar)(now[i] * 255.0f + 0.5f);
}
"""
# (operation, kind, rows, columns, target)
ROWS = (
    ("launch of a kernel on 256 bytes", AGAIN, 8, 8, at_most_of(RAW, plus=300, text=f"≤ {RAW} + 300 ns")),
    ("allocation of 4 KiB, launch, release", INTO_NEW, 32, 32,
     at_most_of(RAW, factor=1.1, text=f"≤ 1.1 of {RAW} with a kept buffer")),
    ("allocation of 256 KiB, launch, release", INTO_NEW, 256, 256,
     at_most_of(RAW, factor=1.1, text=f"≤ 1.1 of {RAW} with a kept buffer")),
    ("examples/heat, 400 steps", SIMULATION, 256, 320, share_of(RAW, .98)),
)
ONE = "one array"
USES = (("begin and end of a use of three arrays", 0), ("begin and end of a use of three shown arrays", 1))


def run(report, here, quick):
    for device, spec in drivers.cpus(here).items():
        for words, kind, rows, columns, target in ROWS:
            operation = f"{words}, {device}"
            if report.wants(operation):
                compare(report, here, operation, spec, (kind, rows, columns), target)
        for words, is_shown in USES:
            operation = f"{words}, {device}"
            if report.wants(operation):
                compare_uses(report, here, operation, spec, is_shown)


def compare_uses(report, here, operation, spec, is_shown):
    runners = {name: here.job("uses", spec.encode(), count, is_shown) for name, count in (("ours", 3), (ONE, 1))}
    for name, job in runners.items():
        job.verify(f"{operation}, {name}", "uses_verify")
    report.measure(GROUP, operation, runners, at_most_of(ONE, plus=200, text=f"≤ {ONE} + 200 ns"), bounds=(ONE,))
    for job in runners.values():
        job.release()


def compare(report, here, operation, spec, what, target):
    runners = {"ours": here.job("launch", spec.encode(), KERNELS.read_bytes(), *what),
               RAW: here.job("opencl_launch", *drivers.place_of(spec), OPENCL, *what)}
    for name, job in runners.items():
        job.verify(f"{operation}, {name}", "launch_verify")
    bounds = (RAW,) if what[0] == INTO_NEW else ()  # it allocates nothing
    report.measure(GROUP, operation, runners, target, bounds)
    for job in runners.values():
        job.release()
