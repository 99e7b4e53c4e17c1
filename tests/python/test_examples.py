"""The programs of examples/python run, and compare their results with NumPy's themselves."""

import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent.parent.parent / "examples" / "python"
MPIEXEC = pathlib.Path(sys.executable).parent / "mpiexec"
PYTHON = [sys.executable]
COMMANDS = {
    "dask_blocks.py": (PYTHON, "16 blocks on opencl: as in NumPy\n"),
    "halo_mpi.py": ([MPIEXEC, "-n", "4", *PYTHON, "-m", "mpi4py"], "4 ranks on opencl: as in one process\n"),
    "shared_memory.py": (PYTHON, "two processes squared one array in shared memory\n"),
}


def test_every_example_has_a_command():
    assert {path.name for path in FOLDER.glob("*.py")} == set(COMMANDS)


@pytest.mark.needs("libraries")
@pytest.mark.needs("opencl")
@pytest.mark.parametrize("name", COMMANDS)
def test_example(name):
    command, printed = COMMANDS[name]
    done = subprocess.run([*command, FOLDER / name], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr


@pytest.mark.needs("libraries")
def test_halo_refuses_a_number_of_ranks_that_does_not_divide_the_columns():
    command = [MPIEXEC, "-n", "3", sys.executable, FOLDER / "halo_mpi.py", "--device", "host"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2 and done.stderr.count("error: 3 ranks do not divide 64 columns") == 1, done.stderr
