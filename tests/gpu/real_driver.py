"""pytest plugin: tests/python on a real CUDA driver (tests/gpu/run; BI_TEST_CUDA=real, pytest -p real_driver).

Those tests were written beside the simulated driver and never skip. Here a test whose answer only the simulator knows, or
whose device, library or OpenCL driver is not on this machine, is not run, and the summary says how many and why. What
is in NEEDS_SIMULATOR and no longer exists is an error, so that the list cannot grow old.
"""

import ast
import collections
import importlib.util
import inspect
import os
import pathlib
import re
import sys

import pytest

# They count calls, waits or objects of the driver, ask whether work is ordered and expect that it is not, or name the
# simulator's devices.
NEEDS_SIMULATOR = {
    "test_C5_without_elements_no_pointer_is_asked_about",
    "test_C7_the_end_of_a_with_block_waits_only_where_no_stream_is_named",
    "test_a_foreign_thread_lets_go_of_device_memory",
    "test_acquire_and_hand_back",
    "test_copies_between_our_arrays_do_not_wait",
    "test_join_streams_into_one",
    "test_other_threads_run_while_a_copy_waits",
    "test_pending_work_is_waited_for_without_the_gil",
    "test_synchronize_reports_what_failed",
    "test_what_will_be_written_is_not_read",
}
SIMULATOR = "only the simulated driver can tell"
NO_POCL = "there is no PoCL"
NO_SECOND = "there is one CUDA device"
PYTHON_TESTS = pathlib.Path(__file__).resolve().parent.parent / "python"
POCL = "Portable Computing Language"
# What uses OpenCL has the word in its name, its parameters, its text, its fixtures or the name of its file, but for these.
NEEDS_OPENCL = {"test_block_runs_and_prints_what_it_says"}

not_run = collections.Counter()


def pytest_sessionstart(session):
    """A simulator that stands in for the real driver (BI_GPU_RUN_SIMULATED) has no say either."""
    if os.environ.get("BI_TEST_CUDA") != "real":
        raise pytest.UsageError("the plugin real_driver is for BI_TEST_CUDA=real")
    import cuda_sim

    cuda_sim.open_simulator = lambda: None
    texts = "".join(path.read_text(encoding="utf-8") for path in PYTHON_TESTS.glob("test_*.py"))
    gone = [name for name in sorted(NEEDS_SIMULATOR | NEEDS_OPENCL) if f"def {name}(" not in texts]
    if gone:
        raise pytest.UsageError(f"real_driver names what is no test: {', '.join(gone)}")


def pytest_ignore_collect(collection_path, config):
    if collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    absent = [name for name in imported(collection_path) if not is_there(name, collection_path.parent)]
    if not absent:
        return None
    not_run[f"no package {absent[0]}, which all of {collection_path.name} needs", "files"] += 1
    return True


def imported(path):
    """The first names of the modules that a file imports when it is imported."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.split(".")[0]
            if node.module == "peers.fixtures":
                yield "pyopencl"


def is_there(name, folder):
    beside = (folder / name).is_dir() or (folder / f"{name}.py").exists()
    return beside or name in sys.builtin_module_names or importlib.util.find_spec(name) is not None


def pytest_collection_modifyitems(config, items):
    here = Here()
    chosen, others = [], []
    for item in items:
        why = here.why_not(item)
        (others if why else chosen).append(item)
        if why:
            not_run[why, "tests"] += 1
    items[:] = chosen
    config.hook.pytest_deselected(items=others)


class Here:
    """What this machine has."""

    def __init__(self):
        import buffer_interface

        usable = [device for device in buffer_interface.devices() if device.usable]
        self.has_pocl = any(device.platform == POCL for device in usable)
        self.has_second = sum(device.backend == "cuda" for device in usable) > 1

    def why_not(self, item):
        fixtures, values = set(item.fixturenames), parameters(item)
        options = values.get("cuda_options", {})
        if "cuda_run" in fixtures or item.originalname in NEEDS_SIMULATOR or set(options) - {"seed"}:
            return SIMULATOR
        if not self.has_second and ("second" in fixtures or says(item, "cuda:1")):
            return NO_SECOND
        if not self.has_pocl and (item.originalname in NEEDS_OPENCL or says(item, "opencl|pocl", *fixtures)):
            return NO_POCL
        return None


def parameters(item):
    return item.callspec.params if hasattr(item, "callspec") else {}


def says(item, pattern, *more):
    """Whether a test's file, its name, which has its parameters, its text or something more says this."""
    texts = (item.path.name, item.name, inspect.getsource(item.function), *more)
    return any(re.search(pattern, text, re.IGNORECASE) for text in texts)


def pytest_terminal_summary(terminalreporter):
    for (why, what), count in sorted(not_run.items()):
        terminalreporter.write_line(f"not run: {count} {what}: {why}")
