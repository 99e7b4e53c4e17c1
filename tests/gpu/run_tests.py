"""tests/gpu/run on programs that hang, crash and fail: this script is also those programs."""

import contextlib
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile
from importlib.machinery import SourceFileLoader
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
LISTED = {"devices": [{"backend": "cuda", "spec": "cuda", "usable": False, "reason": "the driver is too old"}]}
USABLE = {"devices": [{"backend": "cuda", "spec": "cuda:0", "usable": True, "name": "a GPU", "platform_name": ""}]}


def suite(names):
    """Prints as cmocka does. A test does what its name begins with."""
    print("connections", os.environ.get("CUDA_DEVICE_MAX_CONNECTIONS"), flush=True)
    for name in names[int(os.environ.get("BI_TEST_FIRST", 0)) :]:
        print(f"[ RUN      ] {name}", flush=True)
        if name.startswith("hang"):
            time.sleep(60)
        if name.startswith("crash"):
            os.kill(os.getpid(), signal.SIGABRT)
        time.sleep(.3 if name.startswith("slow") else 0)
        print(f"[  FAILED  ] {name}" if name.startswith("fail") else f"[       OK ] {name}", flush=True)
    sys.exit(any(name.startswith("fail") for name in names))


def load():
    loader = SourceFileLoader("run", str(HERE / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    module.SECONDS_OF_SILENCE, module.SECONDS_OF_A_STEP, module.LEAST_SECONDS = 2, 8, .1
    return module


def plan_of(run, **suites):
    """The plan of a run: one step for each suite."""
    def make_plan(runner):
        for name, names in suites.items():
            runner.add(name, runner.suite, [sys.executable, __file__, "suite", *names.split()])
        runner.results.order = ["build", *suites]
        return {"name": "a GPU"}

    return mock.patch.object(run.Runner, "make_plan", make_plan)


class Case(unittest.TestCase):
    def setUp(self):
        self.run = load()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = Path(folder.name)
        self.out = self.work / "out"

    def main(self, *options, build="true", folder="build", plan=None):
        """Returns the exit status and what was printed."""
        def has_built(runner):
            return runner.made("build", {"compile": [build]})

        words = ["run", "--commit", "x", "--build", str(self.work / folder), "--out", str(self.out), *options]
        printed = io.StringIO()
        with contextlib.ExitStack() as stack:
            for patch in (mock.patch.object(sys, "argv", words), mock.patch.object(self.run.Runner, "has_built", has_built),
                          mock.patch.object(self.run, "count_of_gpus", lambda: (1, "")), *filter(None, [plan])):
                stack.enter_context(patch)
            stack.enter_context(contextlib.redirect_stdout(printed))
            stack.enter_context(contextlib.redirect_stderr(printed))
            try:
                self.run.main()
            except SystemExit as end:
                return end.code, printed.getvalue()
        return 0, printed.getvalue()

    def rows(self):
        with zipfile.ZipFile(self.out / "results.zip") as archive:
            return json.loads(archive.read("results.json"))["rows"]

    def test_behind_a_test_that_hangs_or_crashes_others_run(self):
        code, _ = self.main(plan=plan_of(self.run, suite="a hang_b c crash_d e"))
        self.assertEqual(code, 1)
        result, count, _ = self.rows()["suite"]
        self.assertEqual(result, "failed: tests that end the process or hang: hang_b, crash_d")
        self.assertEqual(count, "3 tests")

    def test_a_failed_test_is_not_run_again(self):
        self.main(plan=plan_of(self.run, suite="a fail_b c"))
        self.assertEqual(self.rows()["suite"][:2], ["failed: exit status 1", "2 tests"])

    def test_a_last_test_that_hangs_is_lost(self):
        self.main(plan=plan_of(self.run, suite="a hang_b"))
        self.assertIn("hang_b", self.rows()["suite"][0])

    def test_each_stream_has_a_queue_of_the_device(self):
        self.main(plan=plan_of(self.run, suite="a"))
        self.assertIn("connections 32\n", (self.out / "outputs.txt").read_text())

    def test_what_was_not_done_is_tried_again_after_the_rest(self):
        self.run.SECONDS_OF_A_STEP = 2
        slow = " ".join(f"slow_{i}" for i in range(20))
        self.main("--step", "first", plan=plan_of(self.run, first=slow, second="a"))
        self.assertRegex(self.rows()["first"][0], "^failed: not done after 2 s")
        self.assertIn("[       OK ] slow_1\n", (self.out / "outputs.txt").read_text())
        self.run.SECONDS_OF_A_STEP = 8
        code, printed = self.main("--more", plan=plan_of(self.run, first="slow_1", second="a"))
        self.assertEqual(code, 0)
        self.assertLess(printed.index("second: passed"), printed.index("first: passed"))

    def test_a_build_that_fails_takes_no_result_away(self):
        plan = plan_of(self.run, first="a", second="a")
        self.main(plan=plan)
        code, _ = self.main("--step", "second", build="false", plan=plan)
        self.assertEqual(code, 1)
        self.assertEqual([row[0] for row in self.rows().values()], ["failed: compile exits with 1", "passed", "passed"])
        self.assertIn("| second | passed |", (self.out / "gpu-results.md").read_text())

    def test_the_list_of_steps_takes_no_result_away(self):
        plan = plan_of(self.run, first="a")
        self.main(plan=plan)
        self.main("--list", plan=plan)
        self.assertEqual([*self.rows()], ["build", "first"])

    def test_another_machine_goes_on(self):
        plan = plan_of(self.run, first="a", second="a")
        self.main("--step", "first", plan=plan)
        carried = self.out.rename(self.work / "carried") / "results.zip"
        _, printed = self.main("--more", "--results", str(carried), folder="bare", plan=plan)
        self.assertNotIn("first: passed", printed)
        self.assertEqual([*self.rows()], ["build", "first", "second"])
        self.assertIn("==== first\n", (self.out / "outputs.txt").read_text())
        _, printed = self.main("--more", folder="other", plan=plan)
        self.assertIn("There are no results in ", printed)

    def test_results_of_another_gpu_are_not_mixed(self):
        plan = plan_of(self.run, first="a", second="a")
        self.main("--step", "first", plan=plan)
        with mock.patch.object(self.run, "machine", lambda device: [["device", "another"], ["date", "today"]]):
            code, _ = self.main("--more", plan=plan)
        self.assertIn("and this machine is [['device', 'another']", code)
        self.assertEqual([*self.rows()], ["build", "first"])

    def programs(self, listed):
        """A program bi, and one that answers a fact."""
        fact = next(iter((self.run.FACTS / "expected.txt").read_text().splitlines())).partition(": ")[0]
        texts = {"library/bi": f"print({json.dumps(listed)!r})",
                 "gpu_facts": f"import sys; print('{fact}: ' + ('assumed' if '--sources' in sys.argv else 'yes'))"}
        for name, text in texts.items():
            path = self.work / "build" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#!{sys.executable}\n{text}\n")
            path.chmod(0o755)
        return fact

    def test_a_gpu_that_cannot_be_used_has_a_table(self):
        fact = self.programs(LISTED)
        code, _ = self.main()
        self.assertEqual(code, 1)
        self.assertEqual(self.rows()["devices"][0], "failed: no usable CUDA device: the driver is too old")
        self.assertEqual([*self.rows()], ["build", "devices", "facts: " + fact.split(".")[0]])
        self.assertEqual((self.out / "facts.txt").read_text(), f"{fact}: yes\n")

    def test_all_steps_are_planned_for_a_gpu(self):
        self.programs(USABLE)
        _, printed = self.main("--step", "no such step")
        self.assertIn("devices: passed, 1 CUDA devices", printed)

    def test_a_run_that_is_ended_leaves_what_it_had(self):
        words = "a crash_b c hang_d"
        part = [sys.executable, __file__, "main", str(self.work), words]
        with subprocess.Popen(part, stdout=subprocess.DEVNULL) as process:
            outputs = self.work / "build" / "steps" / "suite.txt"
            while not outputs.exists() or "hang_d" not in outputs.read_text():
                time.sleep(.05)
            process.terminate()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertIn("[ RUN      ] hang_d\n", (self.out / "outputs.txt").read_text())
        self.assertRegex(self.rows()["suite"][0], "^failed: not done: the command was killed")


def run_until_terminated(folder, words):
    case = Case()
    case.run, case.work, case.out = load(), Path(folder), Path(folder) / "out"
    case.run.SECONDS_OF_SILENCE = 60
    code, _ = case.main(plan=plan_of(case.run, suite=words))
    sys.exit(code)


if sys.argv[1:2] == ["suite"]:
    suite(sys.argv[2:])
elif sys.argv[1:2] == ["main"]:
    run_until_terminated(*sys.argv[2:])
else:
    unittest.main()
