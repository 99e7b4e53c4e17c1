"""Rows of the result, as a table for people and as JSON for programs."""

import dataclasses
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from native import Missing
from steady import Look
from timing import Figure, amount, compare, excess

ROOT = Path(__file__).resolve().parent.parent.parent
VERSION = 4  # version of the JSON
NOT_RECORDED = ("turns", "look")
PACKAGES = ("buffer-interface", "numpy", "ml_dtypes", "pyopencl", "apache-tvm-ffi", "nanobind", "torch", "cuda-core",
            "cupy", "numba")


@dataclass(frozen=True)
class Target:
    """
    The upper limit for ours: a number, or `factor` times another figure of the row plus `plus`. `taken_beside`
    are a peer and its figure on the machine where a number of nanoseconds was chosen.
    """

    text: str
    number: float = 0.0
    of: str = None
    factor: float = 1.0
    taken_beside: tuple = None

    def limit(self, figures):
        if self.of is None:
            return self.number
        return figures[self.of].median * self.factor + self.number if self.of in figures else None

    def excess(self, figures):
        """Returns the time of ours above the target, by rounds if the target is another figure of the row; or None."""
        ours = figures["ours"]
        if self.of is None:
            return Figure(ours.median - self.number, ours.lower - self.number, ours.upper - self.number, ours.unit)
        return excess(ours, figures[self.of], self.factor, self.number) if self.of in figures else None

    def as_ratio(self, figures):
        """Returns a target in nanoseconds as the ratio to the peer from which it was derived; or None."""
        peer, figure = self.taken_beside or (None, None)
        if peer not in figures:
            return None
        ratios = [mine / its for mine, its in zip(figures["ours"].turns, figures[peer].turns) if its]
        return {"peer": peer, "target": self.number / figure, "ours": statistics.median(ratios or [0.0])}


def at_most(number, unit="ns", taken_beside=None):
    return Target(f"≤ {number:g} {unit}", number, taken_beside=taken_beside)


def at_most_of(name, factor=1.0, plus=0.0, text=None):
    return Target(text or f"≤ {name}", plus, name, factor)


def share_of(name, share):
    """A target: at least this share of the speed of another."""
    return Target(f"≥ {share:g} of {name}", 0, name, 1 / share)


@dataclass
class Row:
    """
    One operation. `peers` do the same; `bounds` are parts of it, or other figures of interest, which
    are no targets. `limit` is the target as a number in this run, `excess` the time of ours above it;
    None: there is no target. `as_ratio` is the target beside a peer. `moved` is how many bytes are read and
    written; 0: nothing is moved. `look` describes the machine during the measurement; None: nobody looked.
    """

    group: str
    operation: str
    ours: Figure
    peers: dict = field(default_factory=dict)
    bounds: dict = field(default_factory=dict)
    target: str = "–"
    limit: float = None
    excess: Figure = None
    as_ratio: dict = None
    moved: int = 0
    look: Look = None

    @property
    def met(self):
        """Returns whether the target is met. About: the better quartile meets it, the median does not."""
        if self.excess is None:
            return None
        return "yes" if self.excess.median <= 0 else "about" if self.excess.lower <= 0 else "no"

    @property
    def best_peer(self):
        return min(self.peers, key=lambda name: self.peers[name].median) if self.peers else None

    @property
    def verdict(self):
        """Compares with the best peer. Even: the quartiles overlap."""
        if not self.peers:
            return None
        peer = self.peers[self.best_peer]
        if peer.upper < self.ours.lower:
            return "loses"
        return "wins" if self.ours.upper < peer.lower else "even"


@dataclass
class Point:
    """One place of a plot: figures by series, at x."""

    plot: str
    panel: str
    x: float
    figures: dict
    moved: int = 0


class Report:
    def __init__(self, pace, gauge, only_rows=""):
        self.pace, self.gauge, self.only_rows = pace, gauge, only_rows.lower()
        self.rows, self.points, self.not_run, self.texts = [], [], [], []
        self.failed = []  # entries of not_run
        self.after_row = lambda: None  # so that a run that is killed leaves the rows so far

    def wants(self, operation):
        return self.only_rows in operation.lower()

    def compare(self, runners, moves=False, pace=None, scale=1e9, unit="ns"):
        """Returns the figures, and the state of the machine during the measurement."""
        return self.gauge.watch(lambda look: compare(runners, pace or self.pace, scale, unit, look), moves)

    def measure(self, group, operation, runners, target=None, bounds=(), moved=0, on_processor=True):
        """Compares runners, one of which is called ours. How steady the processor is does not matter to rows whose work
        is a GPU's."""
        if not self.wants(operation):
            return
        figures, look = self.compare(runners, bool(moved)) if on_processor else (compare(runners, self.pace), None)
        self.add(group, operation, figures, look, target, bounds, moved)

    def add(self, group, operation, figures, look=None, target=None, bounds=(), moved=0):
        others = {name: value for name, value in figures.items() if name != "ours"}
        peers = {name: value for name, value in others.items() if name not in bounds}
        row = Row(group, operation, figures["ours"], peers, {name: others[name] for name in bounds if name in others},
                  moved=moved, look=look)
        if target:
            row.target, row.limit = target.text, target.limit(figures)
            row.excess, row.as_ratio = target.excess(figures), target.as_ratio(figures)
        self.rows.append(row)
        print(" ".join(row_cells(row)), file=sys.stderr, flush=True)
        self.after_row()

    def steadiness(self, row):
        """Relative to the whole run, so called at its end. None: nobody looked."""
        return self.gauge.judge(row.look) if row.look else None

    def point(self, plot, panel, x, runners, moved=0):
        print(f"{plot}, {panel}: {x}", file=sys.stderr, flush=True)
        figures, _ = self.compare(runners, bool(moved))
        self.points.append(Point(plot, panel, x, figures, moved))

    def say(self, text):
        """Adds a text about the points of a group, which `show` prints after the table."""
        self.texts.append(text)

    def skip(self, what, why):
        """Adds what is not run, and the exception that is the reason. It failed unless a peer or a GPU is missing."""
        entry = (what, str(why).splitlines()[0] if str(why) else type(why).__name__)
        if entry in self.not_run:
            return
        self.not_run.append(entry)
        if not isinstance(why, (Missing, ModuleNotFoundError)):
            self.failed.append(entry)


def machine():
    facts = {"date": time.strftime("%Y-%m-%d"), "cpu": cpu_name(), "cores": len(os.sched_getaffinity(0)),
             "memory": memory(), "caches": caches(), "governor": governor(),
             "load before": round(os.getloadavg()[0], 2), "system": platform.platform(),
             "python": sys.version.split()[0], "compiler": first_line("cc", "--version"),
             "commit": commit()}
    for name in PACKAGES:
        try:
            facts[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return facts


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def commit():
    name = first_line("git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD")
    changed = first_line("git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no") != "unknown"
    return name + (", changed" if changed else "")


def read(path, otherwise="unknown"):
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return otherwise


def governor():
    return read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


def caches():
    """Level and size of the first core's, "L1 48K, L2 2048K, …"."""
    found = [f"L{read(folder / 'level')} {read(folder / 'size')}"
             for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
             if read(folder / "type") != "Instruction"]
    return ", ".join(found) or "unknown"


def memory():
    for line in read("/proc/meminfo", "").splitlines():
        if line.startswith("MemTotal"):
            return f"{int(line.split()[1]) / (1 << 20):.0f} GiB"
    return "unknown"


def cpu_name():
    for line in read("/proc/cpuinfo", "").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def bandwidth(row, nanoseconds):
    """GB/s read and written."""
    return f"{row.moved / nanoseconds:.1f} GB/s"


def show(report, facts):
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    print("Median of turns taken alternately (quartiles in brackets). Python rows include the loop that runs them.\n")
    cells = [("operation", "ours", "target", "met", "beside peers", "peers; bounds")]
    cells += [row_cells(row, report.steadiness(row)) for row in report.rows]
    widths = [max(len(line[column]) for line in cells) for column in range(5)]
    for line in cells:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)) + "  " + line[5])
    print("†: measured while the machine was not steady")
    for text in report.texts:
        print(text)
    for what, why in report.not_run:
        print(f"not run: {what}: {why}")


def row_cells(row, steadiness=None):
    target = row.target
    if row.limit is not None and not target.endswith(f" {row.ours.unit}"):
        target += f" = {quantity(row, row.limit)}"
    beside = "; ".join(f"{name} {shown(row, figure)}" for name, figure in (row.peers | row.bounds).items())
    mark = " †" if steadiness and not steadiness.is_steady else ""
    return row.operation, shown(row, row.ours) + mark, target, row.met or "", row.verdict or "", beside


def quantity(row, value):
    return bandwidth(row, value) if row.moved else f"{amount(value)} {row.ours.unit}"


def shown(row, figure):
    if not row.moved:
        return figure.text()
    return f"{row.moved / figure.median:.1f} GB/s ({row.moved / figure.upper:.1f}–{row.moved / figure.lower:.1f})"


def members(of):
    return dataclasses.asdict(of, dict_factory=lambda pairs: {key: value for key, value in pairs
                                                              if key not in NOT_RECORDED})


def row_json(report, row):
    steadiness = report.steadiness(row)
    steady = steadiness and members(steadiness) | {"is_steady": steadiness.is_steady}
    return members(row) | {"met": row.met, "best_peer": row.best_peer, "verdict": row.verdict, "steady": steady}


def as_json(report, facts):
    return {"version": VERSION, "machine": facts, "rows": [row_json(report, row) for row in report.rows],
            "points": [members(point) for point in report.points], "texts": report.texts,
            "not_run": [{"what": what, "why": why} for what, why in report.not_run]}


def runs_text(runs):
    """Returns the text of a record: runs as JSON, one line for each fact, row and point, so that diffs are readable."""
    return "[\n" + ",\n".join(map(run_text, runs)) + "\n]\n"


def run_text(run):
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {part_text(part)}" for name, part in run.items()) + "\n}"


def part_text(part):
    if isinstance(part, list):
        return "[\n" + ",\n".join(map(json.dumps, part)) + "\n]"
    if isinstance(part, dict):
        return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in part.items()) + "\n}"
    return json.dumps(part)
