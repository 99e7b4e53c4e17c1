#!/usr/bin/env python3
"""bench/run and bench/report as a user calls them; correctness and structure, no timing.

    test_bench.py SOURCE_DIR BUILD_DIR FORGETTING_LIBRARY
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree
from pathlib import Path

import numpy as np

ROOT, BUILD, FORGETS = map(Path, sys.argv[1:4])
sys.path.insert(0, str(ROOT / "bench" / "python"))

import layouts  # noqa: E402
import native  # noqa: E402
import page  # noqa: E402
import steady  # noqa: E402
import svg  # noqa: E402
import timing  # noqa: E402
from report import Report, Row, at_most, at_most_of, share_of  # noqa: E402
from timing import Figure  # noqa: E402

FIGURE = {"median", "lower", "upper", "unit"}


def call(program, *arguments, **environment):
    return subprocess.run([sys.executable, str(ROOT / "bench" / program), *map(str, arguments)], capture_output=True,
                          text=True, env=os.environ | environment, check=False)


def quick(*arguments, **environment):
    return call("run", "--quick", "--build", BUILD, *arguments, **environment)


class Run(unittest.TestCase):
    """One quick run of everything, recorded twice into one file."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = Path(cls.folder.name) / "here.json"
        cls.done = quick("--record", cls.file)
        cls.runs = json.loads(cls.file.read_text(encoding="utf-8")) if cls.file.exists() else []

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.run_ = self.runs[0]

    def test_every_group_has_rows(self):
        groups = {row["group"] for row in self.run_["rows"]}
        self.assertEqual(groups, {"exchange", "moving", "any", "further", "gpu", "launch"})
        plots = {point["plot"] for point in self.run_["points"]}
        self.assertLessEqual({"any", "layouts", "sizes", "dimensions", "items"}, plots)

    def test_every_layout_is_there_on_host_and_opencl(self):
        names = [row["operation"] for row in self.run_["rows"] if row["group"] == "moving"]
        for layout in ("2-D transpose", "[:, ::2]", "permute (0,2,1,3)", "permute (3,2,1,0)", "[::-1]", "[:, ::-1]",
                       "contiguous"):
            for place in ("host", "OpenCL CPU"):
                self.assertTrue([name for name in names if name.startswith(f"{layout}, {place}, ")], (layout, place))

    def test_rows_hold_what_they_say(self):
        for row in self.run_["rows"]:
            for figure in [row["ours"], *row["peers"].values(), *row["bounds"].values()]:
                self.assertEqual(set(figure), FIGURE)
                self.assertLessEqual(figure["lower"], figure["upper"])
            self.assertEqual(row["limit"] is None, row["met"] is None, row)
            self.assertEqual(row["limit"] is None, row["excess"] is None, row)
            # Rows that are not timed, and those whose work is a GPU's.
            is_watched = row["group"] != "gpu" and not any(word in row["operation"] for word in ("memory of a", "growth"))
            self.assertEqual(is_watched, row["steady"] is not None, row["operation"])
            self.assertEqual(bool(row["peers"]), row["verdict"] is not None, row)

    def test_numbers_of_nanoseconds_are_ratios_too(self):
        ratios = {row["operation"]: row["as_ratio"] for row in self.run_["rows"] if row["as_ratio"]}
        for words, other in (("C: slice of a view", "libgpuarray"), ("c__, acquire and release", "tvm-ffi"),
                             (".__dlpack__", "NumPy"), (".__cuda_array_interface__, first read, idle", "NumPy")):
            rows = [row for row in self.run_["rows"] if words in row["operation"]]
            others = [name for row in rows for name in row["peers"] | row["bounds"] if name.startswith(other)]
            self.assertEqual(bool(others), any(words in operation for operation in ratios), words)

    def test_other_work_is_no_peer(self):
        """What takes from the pool, reads again, or takes no reference is not judged beside what does more."""
        for words in ("of the pool", "from the pool", "later reads", "c__, view", "copy of 8 bytes, host"):
            for row in self.run_["rows"]:
                if words in row["operation"]:
                    self.assertEqual(row["peers"], {}, row["operation"])

    def test_what_is_not_run_has_a_reason(self):
        for entry in self.run_["not_run"]:
            self.assertTrue(entry["what"] and entry["why"], entry)

    def test_the_machine_is_named(self):
        for fact in ("cpu", "cores", "compiler", "library", "commit", "date", "devices"):
            self.assertTrue(self.run_["machine"].get(fact), fact)

    def test_a_second_run_is_added(self):
        file = Path(self.folder.name) / "two.json"
        for count in (1, 2):
            self.assertEqual(quick("--only", "moving", "--rows", "contiguous", "--record", file).returncode, 0)
            self.assertEqual(len(json.loads(file.read_text(encoding="utf-8"))), count)

    def test_a_record_has_one_row_per_line(self):
        lines = self.file.read_text(encoding="utf-8").splitlines()
        for part in ("rows", "points", "not_run"):
            start = lines.index(f'"{part}": [') + 1
            read = [json.loads(line.rstrip(",")) for line in lines[start : start + len(self.run_[part])]]
            self.assertEqual(read, self.run_[part])
            self.assertIn(lines[start + len(read)], ("]", "],"))

    def test_report(self):
        folder = Path(self.folder.name) / "docs"
        done = call("report", self.file, "--output", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (folder / "performance.md").read_text(encoding="utf-8")
        for row in self.run_["rows"]:
            self.assertIn(row["operation"], page)
        for entry in self.run_["not_run"]:
            self.assertIn(entry["why"], page)
        plots = sorted(folder.glob("performance/*.svg"))
        self.assertGreaterEqual(len(plots), 5)
        for plot in plots:
            xml.etree.ElementTree.parse(plot)
            self.assertIn(f"(performance/{plot.name})", page)
        self.assertEqual(call("report", "--check", self.file, "--output", folder).returncode, 0)
        plots[0].write_text(plots[0].read_text(encoding="utf-8").replace("svg", "sgv", 1), encoding="utf-8")
        checked = call("report", "--check", self.file, "--output", folder)
        self.assertEqual(checked.returncode, 1)
        self.assertIn(plots[0].name, checked.stderr)


class Refusals(unittest.TestCase):
    def test_a_wrong_result_ends_the_run(self):
        for rows in ("transpose", "contiguous"):
            done = quick("--only", "moving", "--rows", rows, LD_PRELOAD=str(FORGETS))
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("wrong result", done.stderr)
            self.assertIn("is not the source's", done.stderr)

    def test_a_run_that_ends_early_leaves_its_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "here.json"
            done = quick("--only", "further", "--rows", "8 bytes, OpenCL CPU", "--record", file,
                         LD_PRELOAD=str(FORGETS), BENCH_FORGETS="fill")
            self.assertIn("wrong result: fill of 8 bytes", done.stderr)
            (run,) = json.loads(file.read_text(encoding="utf-8"))
        self.assertIn("copy of 8 bytes, OpenCL CPU", [row["operation"] for row in run["rows"]])

    def test_bytes_that_were_right_before_do_not_count(self):
        code = f"""if True:
            import sys
            sys.path.insert(0, {str(ROOT / "bench" / "python")!r})
            import drivers, layouts, native
            here = native.Native({str(BUILD / "libbufferinterface.so")!r}, {str(BUILD / "bench/libbench_jobs.so")!r})
            with native.Array(here, layouts.flat(64)) as array:
                drivers.verified(array.job("memcpy"), "memcpy")
                wanted = native.request(native.COPY, native.HOST, native.HOST)
                drivers.verified(drivers.ours(array, "host", wanted), "ours")
        """
        for environment, error in (({}, ""), ({"BENCH_FORGETS": "copy"}, "element 0 is not the source's")):
            preloaded = {"LD_PRELOAD": str(FORGETS)} if environment else {}
            done = subprocess.run([sys.executable, "-c", code], env=os.environ | environment | preloaded,
                                  capture_output=True, text=True, check=False)
            self.assertIn(error, done.stderr)
            self.assertEqual(bool(done.returncode), bool(error), done.stderr)

    def test_every_operation_is_compared(self):
        for forgotten, group, rows in (("fill", "further", "fill of 8 bytes, OpenCL CPU"),
                                       ("copy", "further", "copy into memory of the pool, 0 MiB, host"),
                                       ("copy", "further", "copy into memory of the pool, 0 MiB, OpenCL CPU"),
                                       ("copy", "further", "copy into memory that was never written, 0 MiB, host"),
                                       ("copy", "further", "2-D transpose, host to device"),
                                       ("launch", "launch", "allocation of 4 KiB, launch, release"),
                                       ("shade", "launch", "examples/heat")):
            environment = {"LD_PRELOAD": str(FORGETS)}
            done = quick("--only", group, "--rows", rows, **environment, BENCH_FORGETS="none")
            self.assertEqual(done.returncode, 0, (rows, done.stderr))
            done = quick("--only", group, "--rows", rows, **environment, BENCH_FORGETS=forgotten)
            self.assertEqual(done.returncode, 1, (rows, done.stderr))
            self.assertIn(f"wrong result: {rows}", done.stderr)

    def test_what_was_not_compared_is_not_timed(self):
        code = f"""if True:
            import sys
            sys.path.insert(0, {str(ROOT / "bench" / "python")!r})
            import layouts, native
            here = native.Native({str(BUILD / "libbufferinterface.so")!r}, {str(BUILD / "bench/libbench_jobs.so")!r})
            with native.Array(here, layouts.flat(64)) as array:
                array.job("memcpy")(1)
        """
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        self.assertIn("WrongResult: memcpy would be timed before its result was compared", done.stderr)

    def test_a_row_that_is_not_run(self):
        arguments = "--only", "further", "--rows", "copy of 8 bytes, host"
        done = quick(*arguments, BI_OPENCL_LIBRARY="/nonexistent.so")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("rows on an OpenCL CPU: not run, although no peer and no GPU is missing", done.stderr)
        self.assertEqual(quick(*arguments).returncode, 0)

    def test_only_missing_peers_and_gpus_are_no_failure(self):
        report = Report(timing.QUICK, None)
        for why in (native.Missing("no GPU"), ModuleNotFoundError("no NumPy")):
            report.skip("a row", why)
        self.assertEqual((len(report.not_run), report.failed), (2, []))
        for why in (native.Unavailable("loops.c does not compile"), ImportError("undefined symbol"), ValueError("x")):
            report.skip("a row", why)
        self.assertEqual([words for _, words in report.failed], ["loops.c does not compile", "undefined symbol", "x"])

    def test_the_same_without_a_fault(self):
        done = quick("--only", "moving", "--rows", "transpose")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_unknown_group(self):
        done = quick("--only", "movin")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'movin' is none of exchange, moving", done.stderr)

    def test_library_that_is_not_there(self):
        done = quick("--library", "/nonexistent.so")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/nonexistent.so is not there", done.stderr)

    def test_no_row_has_that_name(self):
        done = quick("--only", "moving", "--rows", "no such row")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no row", done.stderr)


def as_numpy_does(name, x):
    """The view that a layout is named after, of a dense array."""
    if name.startswith("permute"):
        return x.transpose(eval(name.removeprefix("permute ")))  # noqa: S307: a tuple of our own
    return {"2-D transpose": lambda: x.T, "[:, ::2]": lambda: x[:, ::2], "[::-1]": lambda: x[::-1],
            "[:, ::-1]": lambda: x[:, ::-1], "contiguous": lambda: x, "2-D transpose, odd extents": lambda: x.T,
            "[:, ::8]": lambda: x[:, ::8], "left half": lambda: x[:, :x.shape[1] // 2]}[name]()


class Layouts(unittest.TestCase):
    def test_they_are_what_they_are_called(self):
        for name, make in (layouts.LAYOUTS | layouts.GPU_LAYOUTS | layouts.TRANSFERRED_LAYOUTS).items():
            for item_size in (1, 3, 4, 16):
                layout = make(layouts.MIB // 8, item_size)
                axes = 4 if name.startswith("permute") else 2
                shape = layouts.split(layouts.MIB // 8 // item_size, axes)
                if "odd" in name:
                    shape = [extent - 1 for extent in shape]
                view = as_numpy_does(name, np.empty(shape, f"V{item_size}"))
                self.assertEqual((layout.shape, layout.strides), (view.shape, view.strides), name)
                base = view if name == "contiguous" else view.base
                self.assertEqual(layout.offset, view.ctypes.data - base.ctypes.data)
                self.assertEqual(layout.source_bytes, base.nbytes)

    def test_axes_that_cannot_be_merged(self):
        for ndim in range(1, 9):
            layout = layouts.padded(layouts.MIB, 4, ndim)
            self.assertEqual((len(layout.shape), layout.bytes), (ndim, layouts.MIB))
            for axis in range(ndim - 1):
                self.assertGreater(layout.strides[axis], layout.shape[axis + 1] * layout.strides[axis + 1])


def exactly(value, spread=0.0):
    return Figure(value, value - spread, value + spread)


def turns(*values):
    return timing.figure(values)


class Judgement(unittest.TestCase):
    def row(self, ours, peer):
        return Row("exchange", "x", ours, {"slow": exactly(900), "peer": peer})

    def added(self, figures, target):
        report = Report(timing.QUICK, None)
        report.add("exchange", "x", figures, None, target)
        return report.rows[0]

    def test_met(self):
        figures = {"yes": (exactly(10), exactly(15)), "about": (exactly(16, 2),), "no": (exactly(18, 2),)}
        for met, ours in ((met, figure) for met, several in figures.items() for figure in several):
            self.assertEqual(self.added({"ours": ours}, at_most(15)).met, met)

    def test_met_round_by_round(self):
        """The clock halves while ours, or the other, has its turn: the medians come from different halves."""
        late = {"ours": turns(140, 140, 140, 140, 260, 260, 260), "raw": turns(100, 100, 100, 220, 220, 220, 220)}
        self.assertLess(late["ours"].median, late["raw"].median)
        self.assertEqual(self.added(late, at_most_of("raw")).met, "no")
        early = {"ours": turns(110, 110, 110, 210, 210, 210, 210), "raw": turns(100, 100, 100, 100, 200, 200, 200)}
        self.assertGreater(early["ours"].median, early["raw"].median + 20)
        row = self.added(early, at_most_of("raw", plus=20))
        self.assertEqual((row.met, row.excess.median, row.limit), ("yes", -10, 120))

    def test_rounds_in_which_one_had_no_turn_do_not_count(self):
        figures = {"ours": turns(90, 90, 500, 500, 500), "slow": turns(100, 100)}
        self.assertEqual(self.added(figures, at_most_of("slow")).met, "yes")

    def test_a_share_round_by_round(self):
        figures = {"ours": turns(20, 40, 80), "memcpy": turns(10, 20, 40)}
        for share, met in ((.5, "yes"), (.6, "no")):
            self.assertEqual(self.added(figures, share_of("memcpy", share)).met, met)

    def test_about_is_the_better_quartile_of_the_differences(self):
        figures = {"ours": turns(90, 99, 120, 120, 120), "raw": turns(100, 100, 100, 100, 100)}
        self.assertEqual(self.added(figures, at_most_of("raw")).met, "about")

    def test_as_ratio(self):
        figures = {"ours": turns(20, 20, 60), "peer": turns(100, 100, 200)}
        row = self.added(figures, at_most(30, taken_beside=("peer", 120)))
        self.assertEqual(row.as_ratio, {"peer": "peer", "target": .25, "ours": .2})
        self.assertEqual(row.met, "yes")
        self.assertIsNone(self.added(figures, at_most(30)).as_ratio)
        self.assertIsNone(self.added(figures, at_most(30, taken_beside=("other", 120))).as_ratio)

    def test_beside_the_best_peer(self):
        for ours, verdict in ((10, "wins"), (19, "even"), (21, "even"), (30, "loses")):
            row = self.row(exactly(ours, 1), exactly(20, 1))
            self.assertEqual((row.best_peer, row.verdict), ("peer", verdict))

    def test_targets(self):
        figures = {"ours": exactly(7), "raw": exactly(100), "memcpy": exactly(40)}
        self.assertEqual(at_most(15).limit(figures), 15)
        self.assertEqual(at_most_of("raw", 1.05).limit(figures), 105)
        self.assertEqual(at_most_of("raw", plus=200).limit(figures), 300)
        self.assertEqual(share_of("memcpy", .5).limit(figures), 80)
        self.assertIsNone(at_most_of("not here").limit(figures))

    def test_turns(self):
        calls = {"a": [], "b": []}
        runners = {name: lambda n, name=name: calls[name].append(n) or n * 1e-6 for name in calls}
        figures = timing.compare(runners, timing.Pace())
        for name, figure in figures.items():
            self.assertAlmostEqual(figure.median, 1000)
            self.assertEqual(calls[name].count(4000), 25)

    def test_each_round_is_looked_at(self):
        looks = []
        runners = {name: lambda n: n * 1e-6 for name in "ab"}
        timing.compare(runners, timing.Pace(), before_round=lambda: looks.append(1))
        self.assertEqual(len(looks), 25)

    def test_the_slowest(self):
        facts = (("a, x", 30, "no", "wins"), ("a, y", 40, "no", "wins"), ("b", 11, "no", "loses"),
                 ("c", 9, "yes", "wins"))
        rows = [{"operation": name, "ours": {"median": ours}, "met": met, "limit": 10,
                 "excess": {"median": ours - 10}, "target": "≤ 10",
                 "verdict": verdict, "peers": {"p": {"median": 5}}, "best_peer": "p"}
                for name, ours, met, verdict in facts]
        words = page.Page("here", [{"rows": rows}], {}).slowest()
        self.assertIn("1. a, y: 4.00 times its target", words)
        self.assertIn("2. b: 2.20 times its best peer", words)
        self.assertNotIn("a, x", words)
        self.assertNotIn("c:", words)

    def test_a_run_of_some_rows_does_not_hide_the_others(self):
        def row(name, met, verdict):
            return {"operation": name, "ours": {"median": 12}, "met": met, "limit": 10, "excess": {"median": 2},
                    "target": "≤ 10", "verdict": verdict, "peers": {"p": {"median": 5}}, "best_peer": "p"}
        runs = [{"rows": [row("a", "no", "loses"), row("b", "no", "wins")]}, {"rows": [row("b", "yes", "wins")]}]
        text = page.Page("here", runs, {})
        self.assertIn("Missed, of 2 rows, each in its last run: a.", text.summary())
        self.assertIn("Losing, likewise: a.", text.summary())
        self.assertIn("1. a: 2.40 times its best peer", text.slowest())
        self.assertNotIn("b:", text.slowest())

    def test_the_page_has_the_texts_of_each_run(self):
        text = page.Page("here", [{"rows": []}, {"rows": [], "texts": ["of one", "of two"]}], {}).texts()
        self.assertEqual(text, "Run 2:\n\n```\nof one\n```\n\nRun 2:\n\n```\nof two\n```")

    def test_ticks(self):
        for lowest, highest in ((.4, 90), (3.9, 2e8), (10, 10.5), (.02, .9)):
            ticks = svg.logarithmic(lowest, highest)
            self.assertLessEqual(ticks[0], lowest * 1.001)
            self.assertGreaterEqual(ticks[-1], highest / 1.001)
            self.assertEqual(svg.nice(highest)[0], 0)
            self.assertGreaterEqual(svg.nice(highest)[-1], highest)
            self.assertLess(len(svg.nice(highest)), 8)


class Machine:
    """A processor that does a unit of work in `pace` seconds: of several paces, the next one at each look. The first
    time of a look it takes longer, because its caches are cold."""

    def __init__(self, *paces):
        self.paces, self.is_cold = list(paces), False

    def __call__(self, n):
        self.is_cold = not self.is_cold
        if self.is_cold:
            return n * self.paces[0] * 3
        return n * (self.paces.pop(0) if len(self.paces) > 1 else self.paces[0])


class Steadiness(unittest.TestCase):
    """Which rows are measured again and marked: by the work that is always the same, whatever the row's figures are."""

    def gauge(self, patience, **works):
        gauge = steady.Gauge({name: Machine(1e-3) for name in works}, patience)
        gauge.works = {name: Machine(*paces) for name, paces in works.items()}
        return gauge

    def watch(self, gauge, moves=False, looks=9):
        """What a row of so many rounds returns: how many times it has been measured."""
        calls = []

        def measure(look):
            calls.append(1)
            for _ in range(looks):
                look()
            return len(calls)
        return gauge.watch(measure, moves)

    def test_a_look_is_long_enough_to_be_timed(self):
        for pace, times in ((1e-7, 2000), (1e-2, 1)):
            gauge = steady.Gauge({"processor": Machine(pace)})
            self.assertEqual(self.watch(gauge)[1].seconds, {"processor": [times * pace] * 10})

    def test_a_steady_row_is_measured_once(self):
        gauge = self.gauge(60, processor=[1e-3])
        count, look = self.watch(gauge)
        self.assertEqual((count, look.again, len(look.seconds["processor"])), (1, 0, 10))
        self.assertTrue(gauge.judge(look).is_steady)

    def test_a_row_in_which_the_pace_changes_is_measured_again_and_the_last_one_kept(self):
        gauge = self.gauge(60, processor=[1e-3] * 5 + [2e-3] * 5 + [1e-3])
        count, look = self.watch(gauge)
        self.assertEqual((count, look.again), (2, 1))
        self.assertEqual(gauge.judge(look), steady.Steadiness(1.0, 1.0, 1))

    def test_a_machine_that_never_is_steady_is_given_up(self):
        gauge = self.gauge(60, processor=[1e-3, 2e-3] * 500)
        count, look = self.watch(gauge)
        self.assertEqual((count, look.again), (1 + steady.AGAIN, steady.AGAIN))
        self.assertFalse(gauge.judge(look).is_steady)
        self.assertAlmostEqual(gauge.judge(look).within, 2)

    def test_without_patience_nothing_is_measured_again(self):
        count, look = self.watch(self.gauge(0, processor=[1e-3, 2e-3] * 500))
        self.assertEqual((count, look.again), (1, 0))

    def test_a_row_at_another_pace_than_the_run(self):
        """A slower one, that is: a quarter of the run may be all that the row has for itself."""
        for pace, off in ((1.1e-3, False), (1.2e-3, True), (.8e-3, False)):
            gauge = self.gauge(0, processor=[1e-3] * 30 + [pace] * 10 + [1e-3])
            looks = [self.watch(gauge)[1] for _ in range(5)]
            self.assertEqual([not gauge.judge(look).is_steady for look in looks], [False] * 3 + [off, False])

    def test_patience_ends(self):
        gauge = self.gauge(3.5, processor=[1e-3, 2e-3] * 500)
        seconds = iter(range(1000))
        with unittest.mock.patch.object(steady, "monotonic", lambda: next(seconds)):
            self.assertEqual([self.watch(gauge)[1].again for _ in range(3)], [3, 0, 0])
        self.assertEqual(gauge.patience, .5)

    def test_a_round_waits_for_the_machine_and_not_for_ever(self):
        for slow, waiting, waited in ((0, 60, 0), (3, 60, 3), (500, 2.5, 3), (500, 0, 0)):
            gauge = self.gauge(0, processor=[1e-3] * steady.LOOKS_AHEAD + [2e-3] * slow + [1e-3])
            gauge.waiting = waiting
            seconds, pauses = itertools.count(), []
            with (unittest.mock.patch.object(steady, "monotonic", lambda: next(seconds)),
                  unittest.mock.patch.object(steady, "sleep", pauses.append)):
                gauge.look_ahead()
                self.watch(gauge, looks=2)
            self.assertEqual(len(pauses) - steady.LOOKS_AHEAD, waited, (slow, waiting))

    def test_the_faster_quarter_of_the_run_is_the_measure(self):
        gauge = self.gauge(0, processor=[2e-3] * 30 + [1e-3])
        looks = [self.watch(gauge)[1] for _ in range(5)]
        self.assertEqual([gauge.judge(look).beside_run for look in looks], [2, 2, 2, 1, 1])

    def test_three_disturbed_looks_of_ten_are_seen_in_any_work(self):
        disturbed, even = [1e-3] * 7 + [2e-3] * 3, [5e-3]
        for works in (dict(processor=disturbed, memory=even), dict(processor=even, memory=disturbed)):
            gauge = self.gauge(0, **works)
            found = gauge.judge(self.watch(gauge, moves=True)[1])
            self.assertEqual((found.within, found.beside_run, found.is_steady), (2, 1, False))

    def test_one_disturbed_look_of_ten_is_none(self):
        look = self.watch(self.gauge(0, processor=[1e-3] * 4 + [9e-3] + [1e-3]))[1]
        self.assertEqual(steady.within(look.seconds["processor"]), 1.0)

    def test_memory_counts_where_bytes_are_moved(self):
        for moves in (False, True):
            gauge = self.gauge(0, processor=[1e-3], memory=[5e-3, 9e-3] * 50)
            look = self.watch(gauge, moves)[1]
            self.assertEqual(gauge.judge(look).is_steady, not moves)
            self.assertEqual("memory" in look.seconds, moves)

    def test_the_page_marks_and_counts_them(self):
        def row(name, ours, within, again):
            is_steady = within <= steady.OFF
            return {"group": "exchange", "operation": name, "ours": vars(exactly(ours)), "met": None, "limit": None,
                    "target": "–", "verdict": None, "peers": {}, "bounds": {}, "moved": 0,
                    "steady": {"within": within, "beside_run": 1.0, "again": again, "is_steady": is_steady}}
        run = {"rows": [row("a", 30, 1.01, 1), row("b", 40, 1.3, 3)]}
        text = page.Page("here", [run, run], {})
        self.assertIn("| a | 1, 2 | – | **30.0 · 30.0 ns** |", text.table("exchange"))
        self.assertIn("| b | 1, 2 | – | **40.0† · 40.0† ns** |", text.table("exchange"))
        self.assertIn("2 rows were measured again, 1 are marked", text.summary())


class Documentation(unittest.TestCase):
    def test_the_page_is_what_the_generator_makes(self):
        done = call("report", "--check")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
