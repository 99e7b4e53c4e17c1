"""Rows of the result, the table that people read and the JSON that programs read."""

import dataclasses
import os
import platform
import sys
from dataclasses import dataclass, field
from importlib import metadata

from timing import Figure, amount

PACKAGES = ("buffer-interface", "numpy", "ml_dtypes", "pyopencl", "apache-tvm-ffi", "nanobind", "cuda-core", "cupy")


@dataclass
class Row:
    """One operation. `limit` is the number that the target comes to in this run; None: no target, only peers."""

    operation: str
    ours: Figure
    peers: dict = field(default_factory=dict)
    target: str = "–"
    limit: float = None

    @property
    def met(self):
        return None if self.limit is None else self.ours.median <= self.limit

    @property
    def ratio(self):
        """Ours to that of the first peer, the one that does the same: what can be compared between machines."""
        return self.ours.median / next(iter(self.peers.values())).median if self.peers else None


@dataclass
class Report:
    rows: list = field(default_factory=list)
    not_run: list = field(default_factory=list)  # (what, why)

    def add(self, *args, **kwargs):
        self.rows.append(Row(*args, **kwargs))

    def skip(self, what, why):
        self.not_run.append((what, str(why).splitlines()[0] if str(why) else type(why).__name__))


def fastest(figures):
    return min(figure.median for figure in figures.values())


def machine():
    facts = {"cpu": cpu_name(), "cores": len(os.sched_getaffinity(0)), "system": platform.platform(),
             "python": sys.version.split()[0], "load": round(os.getloadavg()[0], 2)}
    for name in PACKAGES:
        try:
            facts[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return facts


def cpu_name():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def show(report, facts):
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    print("Median of turns taken alternately (quartiles in brackets); ratio: to the first peer. Python rows include the "
          "loop that runs them.\n")
    cells = [("operation", "ours", "target", "met", "ratio", "peers")]
    cells += [row_cells(row) for row in report.rows]
    widths = [max(len(line[column]) for line in cells) for column in range(5)]
    for line in cells:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)) + "  " + line[5])
    for what, why in report.not_run:
        print(f"not run: {what}: {why}")


def row_cells(row):
    target = row.target
    if row.limit is not None:
        target += f" = {amount(row.limit)}" if not target.startswith(f"≤ {row.limit:g} ") else ""
    met = {None: "", True: "yes", False: "NO"}[row.met]
    return (row.operation, row.ours.text(), target, met, f"{row.ratio:.2f}" if row.peers else "",
            "; ".join(f"{name} {figure.text()}" for name, figure in row.peers.items()))


def as_json(report, facts):
    rows = [dataclasses.asdict(row) | {"met": row.met, "ratio": row.ratio} for row in report.rows]
    return {"version": 1, "machine": facts, "rows": rows,
            "not_run": [{"what": what, "why": why} for what, why in report.not_run]}
