"""docs/libraries.md says what the libraries do with our arrays, and we with theirs. libraries.py runs each line of it."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


@pytest.mark.needs("libraries")
@pytest.mark.needs("opencl")
def test_the_page_says_what_happens():
    done = subprocess.run([sys.executable, HERE / "libraries.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
