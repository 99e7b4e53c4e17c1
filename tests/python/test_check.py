"""The checker: each rule finds the offender that was made for it, and the right producers and consumers pass."""

import contextlib
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import types

import pytest

import offenders
from buffer_interface.__main__ import main
from buffer_interface.check import command, cuda, judge, opencl, report, rules
from conftest import NO_SIMULATOR, find_simulator

HERE = pathlib.Path(__file__).parent


# The package may be found by PYTHONPATH only.
PATH = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
ENVIRONMENT = {"PYTHONPATH": PATH, "BI_CUDA_LIBRARY": "no-cuda-driver-in-this-test"}


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """The addresses of these producers are those of the host, so there is no CUDA driver."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def collect(target, protocols, consumer=False, seconds=20):
    """Returns {array: {status: {rule: texts}}}."""
    _, results = command.collect({"target": target, "consumer": consumer, "protocols": protocols}, seconds)
    found = {}
    for result in results:
        by_status = found.setdefault(result["array"], {})
        by_status.setdefault(result["status"], {}).setdefault(result["rule"], []).append(result["text"])
    return found


@pytest.mark.parametrize("protocol", rules.PROTOCOLS)
def test_planted_offenders_are_found_and_the_right_producer_passes(protocol):
    protocols = ["array", "dlpack"] if protocol == "dlpack" else [protocol]
    found = collect(f"offenders:{protocol.replace('-', '_')}", protocols)
    planted = [rule for rule in offenders.PLANTED if offenders.protocol_of(rule) == protocol]
    missed = {rule: found[rule].get("broken") for rule in planted if rule not in found[rule].get("broken", {})}
    assert not missed
    assert found["right"].get("broken", {}) == {}
    assert found["right"]["holds"]


def test_a_dictionary_without_descr_and_odd_formats_do_not_end_the_comparison():
    found = collect("offenders:beside_each_other", ["array", "buffer", "dlpack"])
    assert found["descr None"].get("broken", {}) == {} and "all.agree" in found["descr None"]["holds"]
    for name in ("no letter", "not UTF-8"):
        assert "all.alive" not in found[name]["broken"]
        assert "all.agree" in found[name]["skip"]


# Rules whose offender needs a driver, a queue or a process that ends are in the tests below. NumPy breaks buffer.refusal.
ELSEWHERE = {"all.alive", "buffer.refusal", "cai.memory", "cai.order", "dlpack.order", *offenders.ORDERS}


def test_every_rule_has_an_offender():
    listed = {rule.name for table in (rules.PRODUCER, rules.CONSUMER) for group in table.values() for rule in group}
    planted = {name for name in listed if name.split(".")[-1] in offenders.CONSUMERS and name not in rules.NOT_JUDGED}
    assert listed - set(offenders.PLANTED) - ELSEWHERE - planted == set(rules.NOT_JUDGED)


def test_rules_that_are_not_judged_are_listed():
    page = (HERE.parents[1] / "docs/field.md").read_text()
    assert all(f"`{rule}`" in page for rule in rules.NOT_JUDGED)


def test_producers_that_hang_or_crash_are_findings_and_the_check_goes_on():
    found = collect("offenders:troubles", ["dlpack"], seconds=8)
    assert "more than 8 s" in found["hangs"]["broken"]["all.alive"][0]
    assert "SIGSEGV" in found["crashes"]["broken"]["all.alive"][0]
    assert "broken" not in found["right"] and "broken" not in found["other"]


def test_what_was_found_before_the_last_restart_is_reported(monkeypatch):
    monkeypatch.setattr(command, "MOST_RESTARTS", 1)
    task = {"target": "offenders:troubles", "protocols": ["dlpack"], "consumer": False}
    broken = [result["text"] for result in command.collect(task, 8)[1] if result["status"] == "broken"]
    assert len(broken) == 2 and "the process ended early 1 times, and the rest was not checked" in broken[-1]


def test_names_of_a_producer_cannot_control_the_terminal():
    arrays = [("\x1b[31mred", "ndarray", ["dlpack"])]
    text = report.Report("m:f\r", False, ["dlpack"], arrays, []).text(False)
    assert text.splitlines()[:2] == ["Producer m:f\\r", "  array \\x1b[31mred: ndarray; dlpack"]


def test_a_task_may_be_long(monkeypatch):
    task = {"target": "offenders:right" + " " * 200_000, "protocols": ["dlpack"], "consumer": False}
    with pytest.raises(command.Failure, match="right"):
        command.collect(task, 20)


def test_order_of_opencl_is_judged_behind_a_gate():
    found = collect("offenders:order", ["buffer-interface"])
    assert "broken" not in found["right"]
    assert [name for name in offenders.RIGHT_ORDERS if "broken" in found[name]] == []
    for name in ("right", "by event", "of host"):
        assert {"B-30", "B-36", "B-37"} <= set(found[name]["holds"])
    assert "B-33" in found["of host"]["holds"] and "B-31" in found["of host"]["holds"]
    assert not [rule for rule in offenders.ORDERS if rule != "right" and rule not in found[rule].get("broken", {})]


def test_a_probe_is_queried_often_however_slow_the_machine_is(monkeypatch):
    """Each look at the clock is ten seconds later. The probe is complete at the third query."""
    seconds, codes, done = itertools.count(0, 10), iter([600, 600, 0]), iter([False, False, True])
    clock = types.SimpleNamespace(monotonic=lambda: next(seconds), sleep=lambda _: None)
    driver = cuda.Driver.__new__(cuda.Driver)
    driver._library = types.SimpleNamespace(cuEventQuery=lambda event: next(codes))
    driver.entered = contextlib.nullcontext
    monkeypatch.setattr(cuda, "time", clock)
    monkeypatch.setattr(opencl, "time", clock)
    monkeypatch.setattr(opencl, "is_complete", lambda event: next(done))
    assert driver.is_complete(1) and opencl.Gate.is_complete(None, 1)


def test_a_call_is_looked_at_often_however_slow_the_machine_is(monkeypatch):
    """The call returns after the second look."""

    class Slow:
        def __init__(self, target, daemon):
            self.target, self.start, self.looks = target, lambda: None, itertools.count(1)

        def join(self, seconds=None):
            if next(self.looks) == 2:
                self.target()

    monkeypatch.setattr(judge, "threading", types.SimpleNamespace(Thread=Slow))
    assert judge.on_thread(lambda: 7, judge.LOOKS) == (True, 7)


@pytest.mark.needs("simulator")
def test_the_opencl_loader_is_that_of_the_environment(tmp_path, monkeypatch):
    opencl.library()  # one is loaded
    copied = shutil.copy(opencl.loaded()[0], tmp_path / "loader.so")
    monkeypatch.setenv("BI_OPENCL_LIBRARY", str(copied))
    assert opencl.library.__wrapped__()._name == str(copied)
    monkeypatch.setenv("BI_OPENCL_LIBRARY", str(tmp_path / "absent.so"))
    assert opencl.library.__wrapped__() is None


@pytest.mark.needs("simulator")
def test_order_and_memory_of_cuda(monkeypatch):
    monkeypatch.setenv("BI_CUDA_LIBRARY", find_simulator() or pytest.fail(NO_SIMULATOR))
    found = collect("offenders:cuda_order", ["cai"])
    assert "broken" not in found["right"]
    assert {"cai.order", "cai.memory"} <= set(found["right"]["holds"])
    assert "cai.order" in found["cai.order"]["broken"]
    assert "cai.memory" in found["cai.memory"]["broken"]
    found = collect("offenders:cuda_tensors", ["dlpack"])
    assert "broken" not in found["right"] and "dlpack.order" in found["right"]["holds"]
    assert list(found["dlpack.order"]["broken"]) == ["dlpack.order"]


def test_right_consumer_passes():
    found = collect("offenders:taken", rules.PROTOCOLS, consumer=True)["consumer"]
    assert "broken" not in found
    judged = {rule.name for listed in rules.CONSUMER.values() for rule in listed}
    assert judged - set(found["holds"]) == judged & set(rules.NOT_JUDGED)


def test_a_consumer_is_given_items_of_other_sizes():
    broken = collect("offenders:wrong_for_other_types", rules.PROTOCOLS, consumer=True)["consumer"]["broken"]
    assert set(broken) == {"array.odd", "buffer.odd", "dlpack.odd", "bi.odd"}
    for texts in broken.values():
        assert all(text.startswith("elements of type ") for text in texts)
        assert {text[18:].split(":")[0] for text in texts} >= {"i1", "i2", "i8"}
    assert any("c16" in text for text in broken["bi.odd"])


def test_a_consumer_may_refuse_items_of_other_sizes():
    found = collect("offenders:refuses_other_types", rules.PROTOCOLS, consumer=True)["consumer"]
    assert "broken" not in found
    assert any("elements of type " in text for text in found["skip"]["bi.odd"])


@pytest.mark.parametrize("rule", offenders.CONSUMERS)
def test_planted_consumers_are_found(rule):
    consumer = offenders.CONSUMERS[rule].__name__
    broken = collect(f"offenders:{consumer}", rules.PROTOCOLS, consumer=True)["consumer"]["broken"]
    wanted = {listed.name for group in rules.CONSUMER.values() for listed in group if listed.name.endswith("." + rule)}
    assert wanted - set(rules.NOT_JUDGED) <= set(broken)


@pytest.mark.parametrize(
    "arguments, status, words",
    [
        (["offenders:right"], 0, "0 rules are broken"),
        (["offenders:returns_bad"], 1, "1 rule is broken"),
        (["offenders:ending"], 1, "after the last step the producer crashes the process (SIGSEGV)"),
        (["offenders:nothing"], 2, "has no 'nothing'"),
        (["no_such_module:make"], 2, "No module named"),
        (["offenders"], 2, "is not MODULE:FUNCTION"),
        (["offenders:raises"], 2, "LookupError: mine"),
        (["offenders:returns_a_number"], 2, "none of the protocols"),
        (["offenders:hangs", "--timeout", "4"], 2, "more than 4 s"),
        (["offenders:crashes"], 2, "SIGSEGV"),
        ([], 2, "give either"),
        (["--consumer", "offenders:refuses_all"], 2, "array: a plain array is refused (ValueError: no); buffer: a plain"),
        (["--consumer", "offenders:numberless"], 2, "the result for a plain array has no numbers"),
        (["--consumer", "offenders:of_dlpack", "--protocol", "buffer"], 2, "buffer: a plain array is refused"),
        (["--consumer", "offenders:taken", "--protocol", "cai"], 2, "no rule for consumers of the CUDA Array Interface"),
        (["--consumer", "offenders:of_dlpack"], 0, "0 rules are broken"),
        (["--consumer", "offenders:crashes_later", "--protocol", "buffer"], 1, "1 rule is broken"),
        (["--consumer", "offenders:crashes_first", "--protocol", "buffer"], 1, "buffer: the first call crashes the process (SIGSEGV)"),
    ],
)
def test_command(capfd, arguments, status, words):
    assert main(["check", *arguments]) == status
    written = capfd.readouterr()
    assert words in written.out + written.err


def test_reports(tmp_path, capfd):
    files = ["--json", str(tmp_path / "r.json"), "--html", str(tmp_path / "r.html")]
    assert main(["check", "offenders:dlpack", "--protocol", "dlpack", "--all", *files]) == 1
    document = json.loads((tmp_path / "r.json").read_text())
    by_name = {rule["rule"]: rule for rule in document["rules"]}
    assert by_name["dlpack.shape"]["status"] == "broken"
    assert {"array": "dlpack.shape", "text": "ndim is -1, shape is ()"} in by_name["dlpack.shape"]["seen"]
    page = (tmp_path / "r.html").read_text()
    assert "ndim is -1, shape is ()" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "source: DLPack: DLTensor.ndim, shape" in capfd.readouterr().out


def test_the_page_keeps_the_reason_of_a_protocol_that_is_not_judged():
    results = [dict(rule=rule.name, status="skip", text="refused (TypeError: No)", array="") for rule in rules.CONSUMER["dlpack"]]
    assert ">Refused (TypeError: No).<" in report.Report("m:f", True, ["dlpack"], [], results).html()


def test_a_report_that_cannot_be_written(capfd, tmp_path, monkeypatch):
    assert main(["check", "offenders:right", "--html", "/nowhere/page.html"]) == 2
    assert "/nowhere/page.html" in capfd.readouterr().err
    page = tmp_path / "page.html"
    page.write_text("precious")
    assert main(["check", "offenders:right", "--html", str(page), "--json", f"{tmp_path}/./page.html"]) == 2
    assert "are the same file" in capfd.readouterr().err
    monkeypatch.setattr(report.Report, "html", lambda self: "x" * 100 + "\udce9")  # fails in the middle
    assert main(["check", "offenders:right", "--html", str(page)]) == 2
    assert "UnicodeEncodeError" in capfd.readouterr().err
    assert page.read_text() == "precious" and list(tmp_path.iterdir()) == [page]


def test_a_report_replaces_a_file_and_keeps_its_mode(tmp_path):
    old, link, new = tmp_path / "old.json", tmp_path / "link.json", tmp_path / "new.json"
    old.write_text("{}")
    old.chmod(0o604)
    link.symlink_to(old)
    for path in (link, new):
        assert main(["check", "offenders:right", "--json", str(path)]) == 0
    assert json.loads(old.read_text()) == json.loads(new.read_text()) and link.is_symlink()
    assert (old.stat().st_mode & 0o777, new.stat().st_mode & 0o111) == (0o604, 0)
    assert main(["check", "offenders:right", "--json", "/dev/null"]) == 0


def shell(words):
    """Runs `check` with the words."""
    line = f"({sys.executable} -m buffer_interface check {words})"
    return subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("redirected", ["--json /dev/stdout", "--json -", "--json /dev/fd/3 3>&1 >/dev/null"])
def test_a_report_goes_into_a_pipe(redirected):
    got = shell(f"offenders:right {redirected}")
    assert (got.returncode, got.stderr) == (0, "") and json.loads(got.stdout)["target"] == "offenders:right"


def test_a_report_goes_into_the_file_that_is_the_standard_output(tmp_path):
    page = tmp_path / "page.html"
    assert shell(f"offenders:right --html {page} >{page}").returncode == 0
    assert page.read_text().startswith("<!DOCTYPE html>") and "rules are broken" not in page.read_text().split("</html>")[1]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", ["offenders:right", "offenders:dlpack --all --json -", "offenders:returns_bad"])
@pytest.mark.parametrize("output", [">/dev/full", ">&-"])
def test_a_report_that_nobody_gets_is_no_broken_rule(words, output):
    got = shell(f"{words} {output}")
    assert got.returncode == 2 and got.stderr.startswith("standard output: ") and got.stderr.count("\n") == 1


def test_a_reader_that_stops_early_does_not_change_the_status():
    got = shell("offenders:returns_bad --all; echo $? >&2) | (true")
    assert got.stderr == "1\n"


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_a_report_that_cannot_be_written_is_refused_before_the_check(capfd, tmp_path, monkeypatch, option):
    def refused(path, *words):
        assert main(["check", "offenders:right", option, str(path)]) == 2
        text = capfd.readouterr().err
        assert text.startswith(f"{path}: ") and text.count("\n") == 1 and all(word in text for word in words)

    monkeypatch.setattr(command, "collect", None)
    refused(tmp_path / "none/r", f"no folder {tmp_path}/none", "mkdir -p")
    refused(tmp_path, "a folder")
    report, access = tmp_path / "r", os.access
    report.write_text("precious")
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(report) and access(path, mode))
    refused(report, "write-protected")
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(tmp_path) and access(path, mode))
    refused(report, f"the folder {tmp_path} cannot be written")
    assert report.read_text() == "precious" and list(tmp_path.iterdir()) == [report]


@pytest.mark.parametrize("seconds", ["-1", "0", "nan", "inf", "1e9", "x"])
def test_a_time_limit_that_is_none(capfd, seconds):
    with pytest.raises(SystemExit) as caught:
        main(["check", "offenders:right", "--timeout", seconds])
    assert caught.value.code == 2
    assert "a number of seconds from 1 to 3600 is expected" in capfd.readouterr().err


def test_an_error_of_the_check_is_no_broken_rule(capfd, monkeypatch):
    monkeypatch.setattr(command, "collect", lambda task, seconds: 1 // 0)
    assert main(["check", "offenders:right"]) == 2
    assert "ZeroDivisionError" in capfd.readouterr().err
