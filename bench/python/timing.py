"""Times operations beside each other.

A runner is a function that repeats an operation n times and returns the seconds of all repetitions. The runners of a
comparison alternate, in another order each round, so that a change of the clock rate or other load affects all of
them. A figure is the median of the rounds, with the two quartiles. Two figures are compared round by round, so that
the same conditions apply to both.
"""

import random
import statistics
import timeit
from dataclasses import dataclass, field


@dataclass
class Pace:
    """The duration of measurements. A runner with repetitions longer than `slow` has only the fewest turns."""

    turn: float = 0.004  # seconds of one turn of one runner
    rounds: int = 25  # at most
    fewest: int = 7
    budget: float = 2.0  # seconds for all that is compared
    slow: float = 0.2


QUICK = Pace(turn=0.0, rounds=2, fewest=1, budget=0.0, slow=0.0)


@dataclass
class Figure:
    median: float
    lower: float  # quartiles
    upper: float
    unit: str = "ns"
    turns: tuple = field(default=(), repr=False, compare=False)  # time of each round in which it had a turn

    def text(self):
        return f"{amount(self.median)} {self.unit} ({amount(self.lower)}–{amount(self.upper)})"


def amount(value):
    return f"{value:.1f}" if abs(value) < 99.95 else f"{value:.0f}"


def figure(samples, unit="ns"):
    if len(samples) == 1:
        return Figure(samples[0], samples[0], samples[0], unit, tuple(samples))
    lower, median, upper = statistics.quantiles(samples, n=4, method="inclusive")
    return Figure(median, lower, upper, unit, tuple(samples))


def excess(ours, other, factor=1.0, plus=0.0):
    """Returns the time of ours above `factor` times the other plus `plus`, from the rounds in which both had a turn."""
    return figure([mine - factor * its - plus for mine, its in zip(ours.turns, other.turns)], ours.unit)


def statement(text, **names):
    """Runner of a Python statement; its names are global, as they are for code of a module."""
    return timeit.Timer(text, globals=names).timeit


def calibrate(runner, pace):
    """Returns how many repetitions fill a turn, and its seconds. The first repetition warms up, unless it is slow."""
    seconds = runner(1)
    if seconds > pace.slow:
        return 1, seconds
    n = 1
    while (seconds := runner(n)) < pace.turn / 8:
        n *= 4
    times = max(1, int(n * pace.turn / seconds)) if seconds else n
    return times, seconds * times / n


def compare(runners, pace, scale=1e9, unit="ns", before_round=lambda: None):
    """Returns a figure of each runner, in a dict of the same keys: seconds of one repetition, times `scale`."""
    turns = {name: calibrate(runner, pace) for name, runner in runners.items()}
    fast = [name for name, (_, seconds) in turns.items() if seconds <= pace.slow]
    spent = sum(turns[name][1] for name in fast)
    rounds = max(pace.fewest, min(pace.rounds, int(pace.budget / spent) if spent else 0))
    samples = {name: [] for name in runners}
    for number in range(rounds):
        order = list(runners if number < max(pace.fewest // 2, 1) else fast)
        random.shuffle(order)
        before_round()
        for name in order:
            times, _ = turns[name]
            samples[name].append(runners[name](times) * scale / times)
    return {name: figure(values, unit) for name, values in samples.items()}
