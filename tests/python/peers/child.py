"""
Scripts that run in an interpreter of their own: its end is what is tested.

A child that is killed by a signal, says anything on stderr, or exits with another code than 0 fails the test. The
simulated CUDA driver makes that 97 if something was wrong or was left behind.
"""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

TESTS = Path(__file__).parent.parent


# From 3.12 on Python warns of forks beside threads, and PoCL has some.
FORK_WARNING = "This process"
LEAVES_BEHIND = "cuda_sim: left behind:"


def ended_well(done, leaves):
    """With `leaves` the driver may find memory that nobody has let go of, because the script has left it so."""
    said = done.stderr.splitlines()
    if leaves and done.returncode == 97:
        return all(line.startswith(LEAVES_BEHIND) for line in said)
    return done.returncode == 0 and not said


def run(script, *, cuda_sim=None, seconds=120, leaves=False, **variables):
    """Runs the script, asserts that it ends well and returns what it printed."""
    environment = dict(os.environ, **variables)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(TESTS), *sys.path]))
    environment.pop("OPENCL_LAYERS", None)
    if cuda_sim:
        environment.update(BI_CUDA_LIBRARY=str(cuda_sim), CUDA_SIM_EXIT="1")
    options = ["-X", "faulthandler", "-W", f"ignore:{FORK_WARNING}:DeprecationWarning"]
    done = subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert ended_well(done, leaves), f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
