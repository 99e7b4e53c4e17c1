"""Any layout on the host and on an OpenCL CPU device: named layouts as rows, random ones as points and a distribution."""

import os
import random
import statistics
from dataclasses import replace

import drivers
import native
import peers
from any_layouts import LEAST, MOST, named, random_layout
from layouts import MIB
from moving import MEMCPY, bounds_of, thread_choices
from native import COPY, HOST, request
from report import share_of

GROUP = "any"
CASES, QUICK_CASES = 100, 6
CASE_PACE = {"budget": .3, "fewest": 3, "rounds": 7}
TARGET, NARROW_TARGET = .80, .60  # of a one-thread memcpy, with all cores; with inner extents of 3


def run(report, here, quick, seed):
    usual = report.pace
    for layout in named(quick):
        if report.wants(layout.name):
            named_rows(report, here, layout)
    report.pace = usual if quick else replace(usual, **CASE_PACE)
    if report.wants("random"):
        random_points(report, here, quick, seed)
    report.pace = usual


def places(here):
    """The host, and an OpenCL CPU device if there is one."""
    found = [("host", "host", request(COPY, HOST, HOST))]
    cpu = next(iter(drivers.cpus(here).values()), None)
    return found + ([("OpenCL CPU", cpu, request())] if cpu else [])


def named_rows(report, here, layout):
    target = NARROW_TARGET if 3 in layout.shape else TARGET
    for place, spec, wanted in places(here):
        with native.Array(here, layout) as array:
            ours = drivers.verified(drivers.ours(array, spec, wanted), layout.name)
            runners = {"ours": ours, MEMCPY: drivers.verified(array.memcpy_beside(ours), layout.name)}
            if place == "host":
                add_peers(report, runners, array)
            figures, look = report.compare(runners, moves=True)
            report.add(GROUP, f"{layout.name}, {place}", figures, look, share_of(MEMCPY, target),
                       bounds_of(array, MEMCPY), 2 * layout.bytes)


def add_peers(report, runners, array):
    peers.add(report, runners, "NumPy", array, peers.numpy_copy)
    peers.add(report, runners, "PyTorch, 1 thread", array, peers.torch_copy, 1)
    peers.add(report, runners, "PyTorch, all cores", array, peers.torch_copy, len(os.sched_getaffinity(0)))


def random_points(report, here, quick, seed):
    least, most = (MIB // 64, MIB // 16) if quick else (LEAST, MOST)
    for place, spec, wanted in places(here):
        dice, found = random.Random(seed), []
        for number in range(QUICK_CASES if quick else CASES):
            layout = random_layout(dice, number, least, most)
            with native.Array(here, layout) as array:
                ours = drivers.ours(array, spec, wanted)
                runners = {f"ours, {threads}": drivers.verified(ours.on(count), layout.name)
                           for threads, count in thread_choices(here).items()}
                runners[MEMCPY] = drivers.verified(array.memcpy_beside(ours), layout.name)
                if place == "host":
                    add_peers(report, runners, array)
                kind = here.call("array_plan", array.handle).decode()
                report.point("any", place, layout.item_size, runners, 2 * layout.bytes)
                found.append((layout, kind, report.points[-1].figures))
        report.say(distribution(f"{len(found)} random layouts with seed {seed}, {place}", found))


def share(figures, name):
    return figures[MEMCPY].median / figures[name].median


def distribution(title, found):
    """Text: the shares of memcpy, of all layouts and by item size and kind of plan, and the layouts that lose."""
    mine = [name for name in found[0][2] if name.startswith("ours")]
    lines = [f"{title}: share of a one-thread memcpy, 10th percentile / median"]
    classes = {"all": found}
    for layout, kind, figures in found:
        classes.setdefault(f"{layout.item_size:2} bytes", []).append((layout, kind, figures))
        classes.setdefault(kind, []).append((layout, kind, figures))
    for name, members in sorted(classes.items()):
        cells = []
        for ours in mine:
            shares = sorted(share(figures, ours) for _, _, figures in members)
            cells.append(f"{ours.removeprefix('ours, ')} {shares[len(shares) // 10]:.2f} / {statistics.median(shares):.2f}")
        lines.append(f"  {name:10} {len(members):4} cases: {', '.join(cells)}")
    slow = sorted(found, key=lambda case: share(case[2], mine[-1]))
    lines += [f"  slowest: {case_words(case)}, {share(case[2], mine[-1]):.2f}" for case in slow[:5]]
    lines += [f"  loses: {case_words(case)}, to {peer}" for case in found for peer in [best_peer(case[2], mine)]
              if peer and case[2][peer].upper < case[2][mine[-1]].lower]
    return "\n".join(lines)


def best_peer(figures, mine):
    others = [name for name in figures if name not in mine and name != MEMCPY]
    return min(others, key=lambda name: figures[name].median, default=None)


def case_words(case):
    layout, kind, _ = case
    return f"{layout.name} ({kind}): {layout.item_size} bytes, shape {layout.shape}, strides {layout.strides}"
