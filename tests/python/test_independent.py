"""The programs of examples/independent beside the library, as docs/interoperation.md shows."""

import importlib
import pathlib
import subprocess
import sys

import pytest

from buffer_interface.check import command

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent


@pytest.mark.needs("opencl")
@pytest.mark.needs("libraries")
def test_B30_B33_B34_B35_B36_every_producer_meets_every_consumer():
    command = [sys.executable, HERE / "interoperation.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (ROOT / "docs/interoperation.md").read_text(encoding="utf-8")


@pytest.mark.needs("opencl")
def test_the_checker_finds_what_the_producer_says_of_itself(monkeypatch):
    """A callback of ctypes cannot set an exception (B-46)."""
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    _, results = command.collect({"target": "offenders:independent", "consumer": False, "protocols": ["buffer-interface"]}, 20)
    assert {result["rule"] for result in results if result["status"] == "broken"} == {"B-46"}


def test_the_programs_know_nothing_else_of_ours():
    for path in (ROOT / "examples/independent").glob("*.[cp]*"):
        lines = path.read_text(encoding="utf-8").splitlines()
        ours = [line for line in lines if line.startswith(("#include", "import", "from")) and "buffer_interface" in line]
        assert ours == (["#include <buffer_interface/abi.h>"] if path.suffix == ".c" else []), path.name


@pytest.fixture
def programs(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples/independent"))
    return importlib.import_module("producer"), importlib.import_module("consumer")


@pytest.mark.parametrize("members, rule", [({"device_id": -1}, "B-23"), ({"device_id": 64}, "B-23"), ({"shape": None}, "B-14")])
def test_the_consumer_in_python_refuses_hostile_members(programs, members, rule):
    producer, consumer = programs
    x = consumer.acquire(producer.Array("host"))
    for name, value in members.items():
        setattr(x, name, value)
    with pytest.raises(BufferError, match=rule):
        consumer.Consumer(x, 1)


def test_the_consumer_in_python_needs_no_optional_attribute(programs):
    producer, consumer = programs
    array = producer.Array("host")
    said = {name: getattr(producer.Description(array), name) for name in ("buffer_interface_version", "buffer", "offset", "shape", "strides", "typestr")}
    method = {"__buffer_interface__": lambda self: self, "backend": "host", **said}
    assert consumer.Consumer(consumer.describe(type("Least", (), method)()), 1).finish() == 21
    for odd in ({"mask": 1}, {"backend": "cuda"}):
        with pytest.raises(BufferError, match="masked"):
            consumer.describe(type("Odd", (), {**method, **odd})())
