"""Measures how steady the machine is, by work that is always the same, timed between the rows.

Clock rates and the load by others change within seconds. A round waits until the machine is as usual. A row that was
disturbed is measured again, and marked if that did not help. Only the time of this work decides, never a figure.

The processor's work is Python code: calls, branches and small allocations suffer from load on the same core as the
measured operations do. Integer arithmetic hardly does (by a tenth, while views and calls take half as long again).
"""

import statistics
from dataclasses import dataclass
from time import monotonic, sleep

import native
from layouts import MIB, flat
from timing import Pace, calibrate, statement

OFF = 1.15  # a work that takes this many times its usual time is not steady
AGAIN = 3  # most repetitions of a row
TURN = Pace(turn=.0002)
PAUSE = .05  # seconds between two looks while waiting
LOOKS_AHEAD = 60  # before the first row, to learn the usual time
MEMORY_BYTES = 32 * MIB


@dataclass
class Steadiness:
    """
    The times of the same work while a row was measured: `within` is the slowest time over the fastest, without the
    outer tenths; `beside_run` the median over the time in the faster quarter of the run; `again` how many times the row
    was measured again.
    """

    within: float
    beside_run: float
    again: int = 0

    @property
    def is_steady(self):
        return max(self.within, self.beside_run) <= OFF


class Look:
    """Seconds of each work during one comparison, by its name."""

    def __init__(self, names, again=0):
        self.seconds = {name: [] for name in names}
        self.again = again


def undisturbed(seconds):
    """Returns the usual time: the faster quarter, because more than half of the run may be disturbed."""
    return sorted(seconds)[len(seconds) // 4]


def within(seconds):
    ordered = sorted(seconds)
    tenth = len(ordered) // 10
    return ordered[-1 - tenth] / ordered[tenth]


class Gauge:
    """
    Times the works, which are runners: `processor` before each round, and `memory` if bytes are moved, which empties
    the caches. `patience` is the seconds that may be spent on measuring again, `waiting` those for waiting.
    """

    def __init__(self, works, patience=0.0, waiting=0.0):
        self.works, self.patience, self.waiting = works, patience, waiting
        self.times = {name: calibrate(work, TURN)[0] for name, work in works.items()}
        self.seconds = {name: [] for name in works}  # of the whole run

    def watch(self, measure, moves=False):
        """Calls measure(before_round) until the machine was steady during it, or the patience is used up. Returns its
        last result and the look at the machine."""
        result, look, spent = self.once(measure, moves, 0)
        while not self.judge(look).is_steady and look.again < AGAIN and spent < self.patience:
            self.patience -= spent
            result, look, spent = self.once(measure, moves, look.again + 1)
        return result, look

    def once(self, measure, moves, again):
        look = Look([name for name in self.works if moves or name != "memory"], again)
        self.wait()
        start = monotonic()
        result = measure(lambda: self.before_round(look))
        self.time_works(look)
        return result, look, monotonic() - start

    def before_round(self, look):
        """Called before each round; its look belongs to the round before."""
        self.time_works(look)
        self.wait()

    def wait(self):
        """Waits until the processor is as fast as usual, while waiting time is left."""
        while self.waiting > 0 and self.time_work("processor") > OFF * undisturbed(self.seconds["processor"]):
            start = monotonic()
            sleep(PAUSE)
            self.waiting -= monotonic() - start

    def look_ahead(self):
        for _ in range(LOOKS_AHEAD):
            self.seconds["processor"].append(self.time_work("processor"))
            sleep(PAUSE)

    def time_work(self, name):
        """Returns the better of two times, because the caches are cold at the first."""
        return min(self.works[name](self.times[name]) for _ in range(2))

    def time_works(self, look):
        for name, seconds in look.seconds.items():
            seconds.append(self.time_work(name))
            self.seconds[name].append(seconds[-1])

    def judge(self, look):
        """Relative to the run so far. The least steady work counts."""
        ratios = [statistics.median(seconds) / undisturbed(self.seconds[name])
                  for name, seconds in look.seconds.items()]
        return Steadiness(max(map(within, look.seconds.values())), max(ratios), look.again)


def gauge(here, patience, waiting):
    """The memory is kept until the end of the run."""
    memory = native.Array(here, flat(MEMORY_BYTES))
    copy = memory.job("memcpy")
    copy.verify("work that is always the same")
    made = Gauge({"processor": statement("d.get(1)", d={}), "memory": copy}, patience, waiting)
    if waiting:
        made.look_ahead()
    return made
