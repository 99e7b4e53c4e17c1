#!/usr/bin/env python3
"""bench/run and bench/report as a user calls them; correctness and structure, no timing.

    test_bench.py SOURCE_DIR BUILD_DIR FORGETTING_LIBRARY
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

ROOT, BUILD, FORGETS = map(Path, sys.argv[1:4])
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
        self.assertEqual(groups, {"exchange", "moving", "further", "gpu"})
        plots = {point["plot"] for point in self.run_["points"]}
        self.assertLessEqual({"layouts", "sizes", "dimensions", "items"}, plots)

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
            self.assertEqual(bool(row["peers"]), row["verdict"] is not None, row)

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


class Documentation(unittest.TestCase):
    def test_the_page_is_what_the_generator_makes(self):
        done = call("report", "--check")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
