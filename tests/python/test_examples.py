"""The programs of examples/python run, and compare their results with NumPy's themselves."""

import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent.parent.parent / "examples" / "python"
MPIEXEC = pathlib.Path(sys.executable).parent / "mpiexec"
COMMANDS = {
    "dask_blocks.py": ([], "16 blocks on opencl: as in NumPy\n"),
    "halo_mpi.py": ([MPIEXEC, "-n", "4"], "4 ranks on opencl: as in one process\n"),
    "shared_memory.py": ([], "two processes squared one array in shared memory\n"),
}


def test_every_example_has_a_command():
    assert {path.name for path in FOLDER.glob("*.py")} == set(COMMANDS)


@pytest.mark.needs("libraries")
@pytest.mark.needs("opencl")
@pytest.mark.parametrize("name", COMMANDS)
def test_example(name):
    launcher, printed = COMMANDS[name]
    done = subprocess.run([*launcher, sys.executable, FOLDER / name], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr
