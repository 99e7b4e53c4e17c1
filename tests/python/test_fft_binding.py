"""examples/fft_binding: a C function that takes arrays of any library, called from Python."""

import importlib.util
import os
import pathlib
import subprocess
import sysconfig

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples/fft_binding"
LIBRARY = ROOT / "build/default/libbufferinterface.so"


@pytest.fixture(scope="module")
def fft(tmp_path_factory):
    assert LIBRARY.exists(), f"{LIBRARY} is not there: cmake --build build/default --target bufferinterface"
    path = tmp_path_factory.mktemp("fft") / ("fft" + sysconfig.get_config_var("EXT_SUFFIX"))
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror",
                    f"-I{ROOT / 'include'}", "-isystem", sysconfig.get_path("include"),
                    f'-DFFT_KERNEL="{EXAMPLE / "fft.kernel.h"}"', EXAMPLE / "fft.c", EXAMPLE / "fft_python.c",
                    LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}", "-lm", "-o", path], check=True)
    specification = importlib.util.spec_from_file_location("fft", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def numbers(*shape):
    random = np.random.default_rng(1)
    return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype("c8")


def close(found, given):
    np.testing.assert_allclose(found, np.fft.fft(given), rtol=0, atol=1e-4 * given.shape[-1])


@pytest.mark.parametrize("shape", [(1,), (2,), (64,), (3, 256), (2, 3, 16)])
def test_numpy(bi, fft, shape):
    x = numbers(*shape)
    given = x.copy()
    fft.forward(x)
    close(x, given)


def test_strides(bi, fft):
    whole = numbers(6, 64)
    part = whole[::-2, ::-2]
    given, rest = part.copy(), whole[::2].copy()
    fft.forward(part)
    close(part, given)
    np.testing.assert_array_equal(whole[::2], rest)


def test_opencl(bi, fft, pocl):
    given = numbers(4, 128)
    view = bi.from_numpy(given, device=pocl)
    fft.forward(view)
    fft.forward(view[:, ::4])
    found = np.fft.fft(given)
    found[:, ::4] = np.fft.fft(found[:, ::4])
    np.testing.assert_allclose(view.to("host").numpy(), found, rtol=0, atol=.05)


@pytest.mark.parametrize("shape", [(0,), (0, 4), (4, 0)])
def test_no_elements(bi, fft, pocl, shape):
    fft.forward(np.zeros(shape, "c8"))
    fft.forward(bi.zeros(shape, "c8", device=pocl))


@pytest.mark.parametrize("array, message", [
    (np.zeros(4, "f4"), "not complex64"), (np.zeros(3, "c8"), "is 3, not a power of two"), (np.zeros((), "c8"), "is 0, not a power of two"),
    (np.broadcast_to(np.zeros(1, "c8"), 4), "read-only"),
])
def test_refusals(bi, fft, array, message):
    with pytest.raises(ValueError, match=message):
        fft.forward(array)
