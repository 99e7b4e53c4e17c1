"""The command `bi check` from outside: it finds a planted offender for each rule, and clean functions pass.

    test_bi_check.py COMMAND [CheckTest.NAME]...

The offenders are in producers.c and consumers.c; the name of each begins with the rule that it breaks.
"""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

COMMAND = sys.argv[1] if len(sys.argv) > 1 else "bi"
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OK, BROKEN, UNCHECKED = range(3)

# Rules that no C function can be checked by.
OF_PYTHON = {"B-1", "B-2", "B-3", "B-4", "B-5", "B-41", "B-44", "B-45", "B-50"}  # not in the report
NOT_JUDGED = {"B-10", "B-20", "B-22", "B-24", "B-30", "B-31", "B-33", "B-36", "B-47"}
OWN_SENTENCES = {"B-23", "B-37", "B-38", "B-46", "bi.odd"}  # Python's checker judges more, or names an exception


def rules_of_python():
    spec = importlib.util.spec_from_file_location("rules", ROOT / "python/buffer_interface/check/rules.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rule_of(symbol):
    """B7_size breaks B-7, odd_dense breaks bi.odd, alive_hang breaks all.alive."""
    word = symbol.split("_")[0]
    return {"takes": "bi.takes", "odd": "bi.odd", "alive": "all.alive"}.get(word) or "B-" + word[1:]


def has_ended(process):
    """Waits for at most 10 s: the system ends a process some time after the signal."""
    for _ in range(100):
        try:
            if pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX":
                return True
        except OSError:
            return True
        time.sleep(0.1)
    return False


def offenders(name):
    text = (HERE / f"{name}.c").read_text()
    return re.findall(r"^(?:int |CHANGES\(|ACCEPTS\(|ALSO\(|REFUSES\(|CONSUMER\()((?:B\d+|takes|odd|alive)_\w+)", text, re.M)


class CheckTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        for name in ("producers", "consumers", "independent_producer", "independent_consumer"):
            command = [os.environ.get("CC", "cc"), "-std=c11", "-w", "-shared", "-fPIC", "-pthread", f"-I{ROOT}/include"]
            link = ["-l:libOpenCL.so.1"] if "independent" in name else []
            subprocess.run([*command, "-o", cls.path(f"{name}.so"), HERE / f"{name}.c", *link], check=True)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def run_check(self, library, *words):
        """Returns the exit status, the text on stdout and the text on stderr."""
        driver = {} if "independent" in library else {"BI_OPENCL_LIBRARY": "no-opencl-here"}  # opening it takes long
        done = subprocess.run([COMMAND, "check", self.path(library), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=300, encoding="utf-8", errors="replace", env={**os.environ, **driver})
        return done.returncode, done.stdout, done.stderr

    def report(self, status, library, *words):
        """The report as a document, after an exit with this status."""
        code, out, errors = self.run_check(library, *words, "--json", "-")
        self.assertEqual(code, status, (words, out[-2000:], errors))
        return json.loads(out)

    def broken(self, document):
        """{array: [rules]} of the rules that are broken."""
        found = {}
        for rule in document["rules"]:
            for seen in rule["seen"]:
                found.setdefault(seen["array"], []).append(rule["rule"])
        return found

    def status(self, document, name):
        return next(rule["status"] for rule in document["rules"] if rule["rule"] == name)

    def test_each_planted_producer_is_found(self):
        planted = offenders("producers")
        document = self.report(BROKEN, "producers.so", "--producer", ",".join(name for name in planted if name != "alive_hang"))
        found = self.broken(document)
        found |= self.broken(self.report(BROKEN, "producers.so", "--producer", "alive_hang", "--timeout", "1"))
        if "does not count its memory" in (next(r["reason"] for r in document["rules"] if r["rule"] == "B-51") or ""):
            planted = [symbol for symbol in planted if symbol not in ("B51_leak", "B7_holds")]
        missed = {symbol: found.get(symbol) for symbol in planted if rule_of(symbol) not in found.get(symbol, [])}
        self.assertEqual(missed, {})
        judged = {rule["rule"] for rule in document["rules"]} - NOT_JUDGED
        self.assertEqual(judged - set(map(rule_of, offenders("producers"))), set())
        for name in NOT_JUDGED:
            self.assertEqual(self.status(document, name), "not applicable")

    def test_all_defects_of_one_producer_are_found(self):
        found = self.broken(self.report(BROKEN, "producers.so", "--producer", "several"))
        self.assertEqual(set(found["several"]), {"B-11", "B-17", "B-18", "B-21", "B-23", "B-25", "B-26", "B-32", "B-38"})

    def test_rules_behind_a_broken_one_are_judged(self):
        found = self.broken(self.report(BROKEN, "producers.so", "--producer", "device"))
        self.assertLessEqual({"B-21", "B-17"}, set(found["device"]))

    def test_only_the_broken_rule_is_found(self):
        for symbol, rules in (("B26_bits", ["B-26"]), ("B28_endless", ["B-28"]), ("B39_null", ["B-39", "B-51"])):
            found = self.broken(self.report(BROKEN, "producers.so", "--producer", symbol))
            self.assertEqual(found, {symbol: rules})

    def test_a_rule_that_refused_calls_keep_from_being_tested_does_not_hold(self):
        document = self.report(OK, "producers.so", "--producer", "right_last")
        for name in ("B-8", "B-43", "B-51"):
            self.assertEqual(self.status(document, name), "not applicable", name)

    def test_each_planted_consumer_is_found(self):
        judged = set()
        for symbol in offenders("consumers"):
            with self.subTest(symbol):
                document = self.report(BROKEN, "consumers.so", "--consumer", symbol)
                self.assertIn(rule_of(symbol), self.broken(document)["consumer"])
                judged |= {rule["rule"] for rule in document["rules"]}
        self.assertEqual(judged - set(map(rule_of, offenders("consumers"))), {"B-34"})

    def test_wrong_elements_are_listed(self):
        document = self.report(BROKEN, "consumers.so", "--consumer", "odd_dense")
        seen = [row["text"] for rule in document["rules"] for row in rule["seen"]]
        self.assertIn("the elements of an array with Fortran order are 1, 2, 3, 4, 5, 6, and should be 1, 3, 5, 2, 4, 6", seen)

    def test_pending_work_is_waited_for(self):
        self.assertEqual(self.status(self.report(OK, "independent_consumer.so", "--timeout", "8"), "B-34"), "holds")
        document = self.report(BROKEN, "independent_consumer.so", "--consumer", "B34_early")
        self.assertEqual(self.broken(document), {"consumer": ["B-34"]})

    def test_right_functions_pass(self):
        for library, *words in [
                ("producers.so",), ("producers.so", "--producer", "right_done"), ("consumers.so",),
                ("consumers.so", "--consumer", "right_row"),
                ("independent_producer.so", "--producer",
                 "host,host_strides,host_no_dimension,host_no_element,host_readonly,opencl,opencl_pending"),
        ]:
            with self.subTest(library, words=words):
                document = self.report(OK, library, *words)
                self.assertEqual(self.broken(document), {})
                self.assertEqual(document["broken"], 0)
                held = [rule["rule"] for rule in document["rules"] if rule["status"] == "holds"]
                self.assertGreater(len(held), 14, held)

    def test_unusual_functions_that_are_right_pass(self):
        symbols = "right_live,right_pinned,right_long_double,right_fields,right_slow,right_frames,right_one,right_last"
        document = self.report(OK, "producers.so", "--producer", symbols, "--timeout", "8")
        self.assertEqual(self.broken(document), {})
        fields = self.report(OK, "producers.so", "--producer", "right_fields")
        self.assertEqual([self.status(fields, name) for name in ("B-28", "B-29")], ["holds", "holds"])

    def test_functions_that_disturb_the_report(self):
        document = self.report(OK, "producers.so", "--producer", "writes_report,closes_all")
        self.assertEqual(self.broken(document), {})
        symbols = "closes_and_hangs,forges,alive_group,alive_process"
        document = self.report(BROKEN, "producers.so", "--producer", symbols, "--timeout", "1")
        seen = {row["array"]: row["text"] for rule in document["rules"] if rule["rule"] == "all.alive" for row in rule["seen"]}
        self.assertRegex(seen["closes_and_hangs"], "goes on for more than 1 s")
        self.assertRegex(seen["forges"], "the first call goes on for more than 2 s")
        self.assertRegex(seen["alive_group"], "signal 15")
        self.assertRegex(seen["alive_process"], "signal 6")
        code, out, _ = self.run_check("producers.so", "--producer", "B26_colours")
        self.assertEqual((code, set(out) & {"\033", "\r"}), (BROKEN, set()))

    def test_no_process_is_left(self):
        _, _, errors = self.run_check("producers.so", "--producer", "alive_process")
        started = re.findall(r"process (\d+) waits for ever", errors)
        self.assertTrue(started)
        self.assertEqual([process for process in started if not has_ended(process)], [])

    def test_one_refusal_leaves_the_other_findings(self):
        found = self.broken(self.report(BROKEN, "producers.so", "--producer", "refuses,B17_size"))
        self.assertEqual(found, {"B17_size": ["B-17"]})

    def test_an_ignored_signal_of_children(self):
        command = [COMMAND, "check", self.path("producers.so"), "--producer", "alive_first"]
        done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertIn("the first call crashes the process (signal 6", done.stdout)

    def test_the_report_is_that_of_python(self):
        """The same keys, and the same rules in the same words."""
        python = rules_of_python()
        said = {rule.name: rule for group in python.PRODUCER.values() for rule in group}
        document = self.report(OK, "producers.so")
        self.assertEqual(list(document), ["target", "consumer", "python", "arrays", "rules", "broken"])
        self.assertEqual(document["arrays"], [{"name": "buffer_interface_acquire", "type": "struct bi_exchange",
                                               "protocols": ["buffer-interface"]}])
        names = [rule["rule"] for rule in document["rules"]]
        wanted = [rule.name for rule in python.PRODUCER["buffer-interface"] if rule.name not in OF_PYTHON]
        self.assertEqual(names, [*wanted, "all.alive"])
        for rule in document["rules"]:
            self.assertEqual(list(rule), ["rule", "protocol", "status", "wants", "source", "seen", "reason"])
            self.assertEqual(rule["source"], said[rule["rule"]].source)
            if rule["rule"] not in OWN_SENTENCES:
                self.assertEqual(rule["wants"], said[rule["rule"]].wants)
        consumer = {rule.name: rule.wants for rule in python.CONSUMER["buffer-interface"]}
        for rule in self.report(OK, "consumers.so")["rules"]:
            if rule["rule"] not in OWN_SENTENCES:
                self.assertEqual(rule["wants"], consumer.get(rule["rule"], rule["wants"]))

    def test_text(self):
        code, out, _ = self.run_check("producers.so", "--producer", "B17_size,right_done")
        self.assertEqual(code, BROKEN)
        self.assertRegex(out, r"^Producer .*/producers.so\n  function B17_size\n")
        self.assertRegex(out, r"\n  BROKEN  B-17\n          rule:   All bytes .*\n          seen:   function B17_size: ndim is 2, "
                              r"shape \(2, 3\), strides \(12, 4\), item_size 4,[^:]*\n"
                              r"          source: BufferInterface, specification: B-17\n\n1 rule is broken, ")
        self.assertLessEqual(max(map(len, out.splitlines()[1:])), 110)
        self.assertNotIn("B-9", out)
        shutil.copy(self.path("producers.so"), self.path("\x1b[31m.so"))
        self.assertNotIn("\x1b", self.run_check("\x1b[31m.so", "--producer", "B17_size")[1])
        code, out, _ = self.run_check("producers.so", "--all", "--json", self.path("report.json"))
        self.assertEqual(code, OK)
        self.assertRegex(out, r"\n  holds   B-9\n")
        self.assertRegex(out, r"\n  -       B-37: does not apply, `done` is NULL\n")
        self.assertRegex(out, r"\n\n0 rules are broken, \d+ hold, \d+ do not apply\.\n$")
        with open(self.path("report.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["broken"], 0)
        with open(self.path("report.json"), "wb") as out:
            subprocess.run([COMMAND, "check", self.path("producers.so"), "--json", out.name], stdout=out, check=True)
        with open(self.path("report.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["broken"], 0)  # without the text

    def test_what_cannot_be_checked(self):
        source = b"#include <stdlib.h>\n__attribute__((constructor)) static void start(void) { abort(); }\n"
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-xc", "-o", self.path("opening.so"), "-"], input=source, check=True)
        text = self.path("text.so")
        pathlib.Path(text).write_text("no library")
        for reason, library, *words in [
                (r"none.so: cannot open shared object file", "none.so"),
                (r"text.so: (file too short|invalid ELF header)", "text.so"),
                (r"exports no function nix", "producers.so", "--producer", "nix"),
                (r"exports no function nix", "producers.so", "--producer", "right_done,nix"),
                (r"exports neither buffer_interface_acquire nor buffer_interface_consume", "independent_producer.so"),
                (r"give either --producer or --consumer", "producers.so", "--producer", "a", "--consumer", "b"),
                (r'--consumer is "a,b"; one function is expected', "consumers.so", "--consumer", "a,b"),
                (r'--producer is ""; the name of a function is expected', "producers.so", "--producer", ""),
                (r'--producer is "f0,f1,.*"; at most 64 functions', "producers.so", "--producer", ",".join(f"f{i}" for i in range(65))),
                (r'--producer is "refuses,"; a name is empty', "producers.so", "--producer", "refuses,"),
                (r'--producer is ",refuses"; a name is empty', "producers.so", "--producer", ",refuses"),
                (r'--producer is "a,,b"; a name is empty', "producers.so", "--producer", "a,,b"),
                (r'--consumer is ","; a name is empty', "consumers.so", "--consumer", ","),
                (r'--producer is "a,b,a"; a name is repeated', "producers.so", "--producer", "a,b,a"),
                (r"opening .*opening.so crashes the process \(signal 6", "opening.so", "--producer", "make"),
                (r'--timeout is "x"; a whole number of seconds from 1 to 3600', "producers.so", "--timeout", "x"),
                (r'--timeout is "0"; a whole number', "producers.so", "--timeout", "0"),
                (r"refuses returns -5 for a plain call, so there is no array", "producers.so", "--producer", "refuses"),
                (r"refuses refuses plain arrays", "consumers.so", "--consumer", "refuses"),
                (r"--json: .*/no/folder.json: cannot use the directory", "producers.so", "--json", self.path("no/folder.json")),
                (r"--json cannot be .*producers.so, which is checked", "producers.so", "--json", self.path("producers.so")),
        ]:
            with self.subTest(library, words=words):
                code, out, errors = self.run_check(library, *words)
                self.assertEqual((code, out), (UNCHECKED, ""), errors)
                self.assertRegex(errors, r"^bi: check: .*" + reason)

    def test_a_report_that_cannot_be_written(self):
        reason = "bi: check: --json: /dev/full: cannot write: No space left on device\n"
        code, out, errors = self.run_check("producers.so", "--json", "/dev/full")
        self.assertEqual((code, errors), (UNCHECKED, reason))
        self.assertIn("0 rules are broken", out)
        code, out, errors = self.run_check("producers.so", "--producer", "hangs", "--timeout", "1", "--json", "/dev/full")
        self.assertEqual((code, errors), (BROKEN, reason))

    def test_first_calls_that_never_return(self):
        for symbol, how in [("hangs", "the first call goes on for more than 1 s"), ("alive_first", "the first call crashes")]:
            code, out, _ = self.run_check("producers.so", "--producer", symbol, "--timeout", "1")
            self.assertEqual(code, BROKEN)
            self.assertRegex(out, f"BROKEN  all.alive\n(.*\n)*.*seen:   function {symbol}: {how}")
            self.assertIn("\n1 rule is broken, 0 hold, ", out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
