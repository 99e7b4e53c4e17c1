"""How steady the machine is: work that is always the same, timed beside the rows.

Clocks change and neighbours come, also within seconds. A round waits until they have passed, a row that was measured
meanwhile is measured again, and marked if that did not help. This work alone decides so, no figure does.

The processor's work is Python's: calls, branches and small pieces of memory suffer from a neighbour on the same core as
what is measured does. Integers in registers hardly do (by a tenth, where views and calls take half as long again).
"""

import statistics
from dataclasses import dataclass
from time import monotonic, sleep

import native
from layouts import MIB, flat
from timing import Pace, calibrate, statement

OFF = 1.15  # so many times as long as usual is not steady
AGAIN = 3  # times at most that a row is measured again
TURN = Pace(turn=.0002)
PAUSE = .05  # seconds between two looks where nothing is measured
LOOKS_AHEAD = 60  # so that the first row knows what is usual
MEMORY_BYTES = 32 * MIB


@dataclass
class Steadiness:
    """
    How long the same work took while a row was measured: `within` is the slowest time over the fastest, without the
    outer tenths; `beside_run` the median over what it takes in the faster quarter of the run; `again` how many times the
    row was measured again.
    """

    within: float
    beside_run: float
    again: int = 0

    @property
    def is_steady(self):
        return max(self.within, self.beside_run) <= OFF


class Look:
    """Seconds that each work took during one comparison, by its name."""

    def __init__(self, names, again=0):
        self.seconds = {name: [] for name in names}
        self.again = again


def undisturbed(seconds):
    """The median may be that of a slow half; a quarter of the run the machine has for itself."""
    return sorted(seconds)[len(seconds) // 4]


def within(seconds):
    ordered = sorted(seconds)
    tenth = len(ordered) // 10
    return ordered[-1 - tenth] / ordered[tenth]


class Gauge:
    """
    Works are runners: `processor` is timed before each round, `memory` too where bytes are moved; it empties the
    caches. `patience` is how many seconds may be spent on measuring again, `waiting` on waiting.
    """

    def __init__(self, works, patience=0.0, waiting=0.0):
        self.works, self.patience, self.waiting = works, patience, waiting
        self.times = {name: calibrate(work, TURN)[0] for name, work in works.items()}
        self.seconds = {name: [] for name in works}  # of the whole run

    def watch(self, measure, moves=False):
        """Calls measure(before_round) until the machine was steady meanwhile, as long as that may take. What it
        returned last, and the look at it."""
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
        """What the look finds is the end of the round before."""
        self.time_works(look)
        self.wait()

    def wait(self):
        """Until the processor is as fast as in the faster quarter of the run, as long as waiting is left."""
        while self.waiting > 0 and self.time_work("processor") > OFF * undisturbed(self.seconds["processor"]):
            start = monotonic()
            sleep(PAUSE)
            self.waiting -= monotonic() - start

    def look_ahead(self):
        for _ in range(LOOKS_AHEAD):
            self.seconds["processor"].append(self.time_work("processor"))
            sleep(PAUSE)

    def time_work(self, name):
        """The better of two, because the first one may find the caches full of what was measured before it."""
        return min(self.works[name](self.times[name]) for _ in range(2))

    def time_works(self, look):
        for name, seconds in look.seconds.items():
            seconds.append(self.time_work(name))
            self.seconds[name].append(seconds[-1])

    def judge(self, look):
        """Beside the run as far as it has come. Of several works the least steady one counts."""
        ratios = [statistics.median(seconds) / undisturbed(self.seconds[name])
                  for name, seconds in look.seconds.items()]
        return Steadiness(max(map(within, look.seconds.values())), max(ratios), look.again)


def gauge(here, patience, waiting):
    """Nothing lets go of the memory but the end of the run."""
    memory = native.Array(here, flat(MEMORY_BYTES))
    made = Gauge({"processor": statement("d.get(1)", d={}), "memory": memory.job("memcpy")}, patience, waiting)
    if waiting:
        made.look_ahead()
    return made
