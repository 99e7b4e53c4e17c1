"""The exchange of arrays with one library on a real GPU: BI_GPU_PEER names its module in adapters.

Only tests/gpu/run starts these tests (BI_TEST_CUDA=real); elsewhere nothing here is collected. What the library does not
have is not run, and counted with the reason.
"""

import collections
import gc
import os
import pathlib
import sys

import pytest

PYTHON_TESTS = pathlib.Path(__file__).resolve().parent.parent.parent / "python"
PEER = os.environ.get("BI_GPU_PEER")
is_real = os.environ.get("BI_TEST_CUDA") == "real" and PEER
collect_ignore_glob = [] if is_real else ["*.py"]
sys.path.insert(1, str(PYTHON_TESTS))

not_run = collections.Counter()


def pytest_configure(config):
    config.addinivalue_line("markers", "needs(member): the library has it")


def pytest_ignore_collect(collection_path):
    """A file of another library."""
    names = {"test_exchange.py", f"test_{PEER}.py"}
    return True if collection_path.suffix == ".py" and collection_path.name not in names else None


def pytest_collection_modifyitems(config, items):
    import adapters

    chosen, others = [], []
    for item in items:
        lacks = [mark.args[0] for mark in item.iter_markers("needs") if not getattr(adapters.chosen(), mark.args[0])]
        empty = hasattr(item, "callspec") and "NOTSET" in item.name
        (others if lacks or empty else chosen).append(item)
        if lacks or empty:
            not_run[f"the library has no {lacks[0] if lacks else 'way to do it'}"] += 1
    items[:] = chosen
    config.hook.pytest_deselected(items=others)


def pytest_terminal_summary(terminalreporter):
    for why, count in sorted(not_run.items()):
        terminalreporter.write_line(f"not run: {count} tests: {why}")


@pytest.fixture
def driver():
    """The driver itself, in the primary context of device 0, without making it current."""
    import cuda_sim

    import adapters

    driver = adapters.chosen().driver = cuda_sim.Driver(current=False)
    yield driver
    gc.collect()
    driver.close()


@pytest.fixture
def peer(driver):
    import adapters

    return adapters.chosen()
