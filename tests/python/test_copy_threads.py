"""How many threads share a large copy."""

import os
import subprocess
import sys

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def default(bi):
    yield
    bi.set_threads(0)


@pytest.mark.parametrize("count", [1, 2, 64])
def test_the_count_is_what_was_set(bi, count):
    assert bi.set_threads(count) is None
    assert bi.threads() == count


def test_0_is_the_default(bi):
    before = bi.threads()
    bi.set_threads(before + 1)
    bi.set_threads(0)
    assert bi.threads() == before >= 1


@pytest.mark.parametrize("count", [-1, 65, 2**31, 2**40, 2**70, -(2**70)])
def test_no_other_count(bi, count):
    bi.set_threads(3)
    with pytest.raises(ValueError, match=rf"^{count} threads .* 0\.\.64"):
        bi.set_threads(count)
    assert bi.threads() == 3


@pytest.mark.parametrize("count", ["2", 2.0, None])
def test_nothing_but_an_int(bi, count):
    with pytest.raises(TypeError):
        bi.set_threads(count)


def test_the_environment_says_the_default():
    words = [sys.executable, "-c", "import buffer_interface as bi; print(bi.threads())"]
    run = subprocess.run(words, env=os.environ | {"BI_THREADS": "5"}, capture_output=True, text=True, check=True)
    assert run.stdout == "5\n"


@pytest.mark.parametrize("count", [1, 2, 7])
def test_copies_are_whole_whatever_the_count(bi, count):
    bi.set_threads(count)
    source = np.random.default_rng(count).integers(0, 2**31, (1500, 2000), dtype="i4")
    assert np.array_equal(np.asarray(bi.buffer_interface(source.T).copy()), source.T)
