"""examples/adopt: Numba as a producer and a consumer of the exchange structure. adopted_numba.py has the tests of its arrays."""

import os
import pathlib
import subprocess
import sys

import pytest

from buffer_interface.check import command
from conftest import NO_SIMULATOR, find_simulator

HERE = pathlib.Path(__file__).parent
JUDGED = {"numba_arrays": {"B-7", "B-17", "B-28", "B-46", "B-51"}, "numba_pending": {"B-30", "B-36", "B-37", "B-47"}}

pytestmark = pytest.mark.needs("simulator")


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """Numba and the library open the simulated driver."""
    for name in ("NUMBA_CUDA_DRIVER", "BI_CUDA_LIBRARY"):
        monkeypatch.setenv(name, find_simulator() or pytest.fail(NO_SIMULATOR))
    monkeypatch.setenv("PYTHONPATH", str(HERE))


@pytest.mark.parametrize("factory", JUDGED)
def test_checker_finds_no_broken_rule(factory):
    _, results = command.collect({"target": f"adopted_numba:{factory}", "consumer": False, "protocols": ["buffer-interface"]}, 20)
    assert [result for result in results if result["status"] == "broken"] == []
    assert {result["rule"] for result in results if result["status"] == "holds"} > JUDGED[factory]


def test_arrays_go_in_both_directions_with_work_pending():
    options = ["-q", "--noconftest", "-p", "no:cacheprovider", str(HERE / "adopted_numba.py")]
    done = subprocess.run([sys.executable, "-m", "pytest", *options], env=os.environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
