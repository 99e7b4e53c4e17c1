"""Timing of things that take nanoseconds, beside each other.

A runner is a function that does something n times and returns the seconds that all of it took. Runners that are
compared take turns, in another order each round, so that a clock that changes its pace or a neighbour on the machine
hits all of them; a figure is the median of the rounds, with the two quartiles beside it.
"""

import random
import statistics
import timeit
from dataclasses import dataclass

ROUND_SECONDS = 0.004  # one turn of one runner
ROUNDS = 25


@dataclass
class Figure:
    median: float
    lower: float  # quartiles
    upper: float
    unit: str = "ns"

    def text(self):
        return f"{amount(self.median)} {self.unit} ({amount(self.lower)}–{amount(self.upper)})"


def amount(value):
    return f"{value:.1f}" if abs(value) < 99.95 else f"{value:.0f}"


def figure(samples, unit="ns"):
    lower, median, upper = statistics.quantiles(samples, n=4, method="inclusive")
    return Figure(median, lower, upper, unit)


def statement(text, **names):
    """Runner of a Python statement; its names are global, as they are for code of a module."""
    return timeit.Timer(text, globals=names).timeit


def calibrate(runner):
    """How many times fill one turn."""
    n = 16
    while (seconds := runner(n)) < ROUND_SECONDS / 8:
        n *= 4
    return max(1, int(n * ROUND_SECONDS / seconds))


def compare(runners, rounds=ROUNDS):
    """Nanoseconds of each runner in a dict of the same keys."""
    counts = {name: calibrate(runner) for name, runner in runners.items()}
    samples = {name: [] for name in runners}
    order = list(runners)
    for _ in range(rounds):
        random.shuffle(order)
        for name in order:
            samples[name].append(runners[name](counts[name]) * 1e9 / counts[name])
    return {name: figure(values) for name, values in samples.items()}
