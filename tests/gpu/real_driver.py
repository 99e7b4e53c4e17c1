"""pytest plugin: tests/python on a real CUDA driver (tests/gpu/run; BI_TEST_CUDA=real, pytest -p real_driver).

Elsewhere those tests never skip. Here a test is not run if it needs what this machine lacks, and the summary says how
many and why. The mark `needs` and a test's fixtures and parameters say what it needs. A file is not run if a library
that it imports is missing; pyopencl is replaced while the tests are collected, because many files need it for few tests.

BI_GPU_JOURNAL names a file of the tests that have begun: they are not run again. BI_GPU_SHARE=20: every 20th test.
"""

import ast
import collections
import importlib.util
import os
import re
import shutil
import sys
import types
from pathlib import Path

import pytest

FIXTURES = {
    "cuda_run": "simulator",
    "second": "second device",
    "pocl": "opencl",
    "opencl_queue": "opencl",
    "nanobind_peer": "c++",
    "fft": "build",
}
WHY = {
    "simulator": "only the simulated driver can tell",
    "opencl": "there is no PoCL, or no pyopencl",
    "c++": "there is no C++ compiler, or no nanobind",
    "second device": "there is one CUDA device",
    "setuptools": "no module setuptools",
    "libraries": "no module pandas",
    "build": "there is no build/default",
}
STAND_INS = ("pyopencl", "pyopencl.array", "pyopencl.tools")

not_run = collections.Counter()


class StandIn(types.ModuleType):
    """A module of a library that is missing. Whatever is asked of it is another one."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(name)


def pytest_sessionstart(session):
    if os.environ.get("BI_TEST_CUDA") != "real":
        raise pytest.UsageError("the plugin real_driver is for BI_TEST_CUDA=real")
    if is_missing("pyopencl"):
        sys.modules.update({name: StandIn(name) for name in STAND_INS})


def is_missing(library):
    return isinstance(sys.modules.get(library), StandIn) or importlib.util.find_spec(library) is None


def pytest_collection_finish(session):
    for name in STAND_INS:
        if isinstance(sys.modules.get(name), StandIn):
            del sys.modules[name]


def pytest_ignore_collect(collection_path, config):
    if collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    why = why_not_importable(collection_path)
    if why:
        not_run[f"{collection_path.name} cannot be imported: {why}", "files"] += 1
    return True if why else None


def why_not_importable(path):
    """Tries the imports of a file. Those of the package itself must not fail. A peer's file has its name."""
    peer = path.stem.removeprefix("test_peers_")
    if peer != path.stem and is_missing(peer):
        return f"no module {peer}"
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, (ast.Import, ast.ImportFrom)) or "buffer_interface" in ast.unparse(node):
            continue
        try:
            exec(compile(ast.Module([node], []), str(path), "exec"), {})
        except (ImportError, OSError, RuntimeError) as error:
            return str(error).split("\n")[0]
    return None


def pytest_collection_modifyitems(config, items):
    lacks = lacking()
    journal = os.environ.get("BI_GPU_JOURNAL")
    begun = set(Path(journal).read_text().splitlines()) if journal else set()
    chosen, others = [], []
    for item in items:
        why = next((WHY[need] for need in needs(item) if need in lacks), None)
        (others if why else chosen).append(item)
        if why and not begun:
            not_run[why, "tests"] += 1
    items[:] = [item for item in chosen[:: int(os.environ.get("BI_GPU_SHARE", "1"))] if item.nodeid not in begun]
    config.hook.pytest_deselected(items=others)


def lacking():
    """The needs that this machine does not meet. The simulator's controls are never there."""
    import buffer_interface

    usable = [device for device in buffer_interface.devices() if device.usable]
    lacks = {"simulator"}
    has_pocl = any(device.platform == "Portable Computing Language" for device in usable)
    if not has_pocl or is_missing("pyopencl"):
        lacks.add("opencl")
    if not shutil.which("c++") or is_missing("nanobind"):
        lacks.add("c++")
    if is_missing("setuptools"):
        lacks.add("setuptools")
    if is_missing("pandas"):
        lacks.add("libraries")
    if not (Path(__file__).resolve().parents[2] / "build" / "default").exists():
        lacks.add("build")
    if sum(device.backend == "cuda" for device in usable) < 2:
        lacks.add("second device")
    return lacks


def needs(item):
    yield from (mark.args[0] for mark in item.iter_markers("needs"))
    yield from (FIXTURES[name] for name in item.fixturenames if name in FIXTURES)
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if set(parameters.get("cuda_options", {})) - {"seed"}:
        yield "simulator"
    if re.search("opencl|pocl", item.name):
        yield "opencl"
    if "c++" in item.name:
        yield "c++"
    if "cuda:1" in item.name:
        yield "second device"


def pytest_runtest_logstart(nodeid):
    if journal := os.environ.get("BI_GPU_JOURNAL"):
        with open(journal, "a", encoding="utf-8") as file:
            print(nodeid, file=file)


def pytest_terminal_summary(terminalreporter):
    for (why, what), count in sorted(not_run.items()):
        terminalreporter.write_line(f"not run: {count} {what}: {why}")
