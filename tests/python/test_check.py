"""The checker: each rule finds the offender that was made for it, and the right producers and consumers pass."""

import pathlib

import pytest

import offenders
from buffer_interface.check import command, rules

HERE = pathlib.Path(__file__).parent


ENVIRONMENT = {"PYTHONPATH": str(HERE), "BI_CUDA_LIBRARY": "no-cuda-driver-in-this-test"}


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


# Rules whose offender needs a driver, a queue or a broken process are in the tests below.
ELSEWHERE = {"all.alive", "buffer.refusal", "cai.memory", "cai.order", "dlpack.order"} | {
    f"B-{n}" for n in (20, 30, 31, 33, 36, 37, 42)
}


def test_every_rule_has_an_offender():
    listed = {rule.name for group in rules.PRODUCER.values() for rule in group}
    assert listed - set(offenders.PLANTED) - ELSEWHERE == set(rules.NOT_JUDGED)
