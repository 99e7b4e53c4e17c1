"""devices(), and the command that prints them."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import buffer_interface as bi
from buffer_interface.__main__ import main

KINDS = {"host", "cpu", "gpu", "accelerator", "other"}
CAPABILITIES = {"async", "unified", "out-of-order", "profiling", "svm", "native-copy", "external-memory"}


def command(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "buffer_interface", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )


@pytest.mark.needs("second device")
def test_what_is_said_of_devices(cuda):
    devices = bi.devices()
    assert isinstance(devices, list) and {"host", "opencl", "cuda"} <= {device.backend for device in devices}
    for device in devices:
        assert type(device).__name__ == "Device" and repr(device).startswith("buffer_interface.Device(spec=")
        if not device.usable:
            assert device.reason and not device.name
            continue
        assert device.kind in KINDS and set(device.capabilities) <= CAPABILITIES and device.name and not device.reason
        assert device.memory is None or device.memory > 0
        assert bi.empty(1, "f4", device=device.spec).backend == device.backend
    cudas = [device for device in devices if device.backend == "cuda"]
    assert [device.ordinal for device in cudas] == [0, 1] and cudas[1].spec == "cuda:1"
    assert "async" in cudas[0].capabilities and cudas[0].kind == "gpu" and "CUDA" in cudas[0].version


def test_devices_are_values():
    first, again = bi.devices()[0], bi.devices()[0]
    assert first == again and hash(first) == hash(again)
    assert first.spec == first[0] and len(first) == len(type(first).__match_args__)
    with pytest.raises(AttributeError):
        first.spec = "mine"


def test_a_driver_that_is_not_there_is_told():
    text = "import buffer_interface as b; print([(d.backend, d.reason) for d in b.devices() if not d.usable])"
    got = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "BI_CUDA_LIBRARY": "libnothing.so", "CUDA_SIM_EXIT": "0"},
        check=True,
    ).stdout
    assert "cuda" in got and "libnothing.so" in got


FORGOTTEN = """
import os, sys
import buffer_interface as bi

backend, variable = sys.argv[1:]
def usable():
    return any(device.usable for device in bi.devices() if device.backend == backend)

named = os.environ.get(variable)
os.environ[variable] = "libnothing.so"
assert not usable()
del os.environ[variable]
if named:
    os.environ[variable] = named
assert usable()
"""


@pytest.mark.needs("simulator")
@pytest.mark.parametrize("backend", ["cuda", "opencl"])
def test_a_failed_open_is_forgotten(backend):
    """A driver that is installed or named later is found by the same process."""
    words = [sys.executable, "-c", FORGOTTEN, backend, f"BI_{backend.upper()}_LIBRARY"]
    subprocess.run(words, timeout=60, env={**os.environ, "CUDA_SIM_EXIT": "0"}, check=True)


def test_the_table():
    got = command("devices")
    assert got.returncode == 0, got.stderr
    lines = got.stdout.splitlines()
    assert re.match(r"\s+device\s+name\s+platform\s+memory\s+capabilities", lines[0])
    usable = [device for device in bi.devices() if device.usable]
    for number, (device, line) in enumerate(zip(usable, lines[1:])):
        assert line.startswith(f"#{number}") and device.spec in line and device.name in line
    assert f"'auto' takes {usable[0].spec}" in got.stdout


def test_the_table_names_what_cannot_be_used():
    got = command("devices", BI_CUDA_LIBRARY="libnothing.so")
    assert re.search(r"^cuda cannot be used: .*libnothing\.so", got.stdout, re.M)


def test_the_choice_of_the_environment():
    got = command("devices", BI_DEVICE="host")
    assert "'auto' takes host, which BI_DEVICE=host selects." in got.stdout and got.stdout.count("'auto'") == 1
    assert "'auto' takes no device" in command("devices", BI_DEVICE="moon").stdout
    assert "'auto' takes no device" in command("devices", BI_DEVICE="opencl:\udce9").stdout  # no UTF-8
    for name, shown in ("host", "host"), ("opencl:\udce9", "opencl:\N{REPLACEMENT CHARACTER}"):
        assert json.loads(command("devices", "--json", BI_DEVICE=name).stdout)["default"] == shown


def test_json():
    got = json.loads(command("devices", "--json").stdout)
    usable = [device for device in bi.devices() if device.usable]
    assert got["auto"] == usable[0].spec and got["default"] is None
    for device, entry in zip(usable, got["devices"]):
        assert entry["spec"] == device.spec and entry["usable"] is True
        # PoCL's devices have as much memory as was free when the process began.
        assert entry["memory"] == device.memory or (device.backend == "opencl" and entry["memory"] > 0)
        assert tuple(entry["capabilities"]) == device.capabilities
    for entry in got["devices"][len(usable) :]:
        assert set(entry) == {"spec", "backend", "usable", "reason"}


def test_json_as_the_command_bi_prints_it():
    """Whoever reads the one can read the other."""
    entry = json.loads(command("devices", "--json").stdout)["devices"][0]
    assert list(entry) == [
        "spec", "backend", "usable", "position", "kind", "platform", "ordinal", "name", "platform_name", "memory",
        "capabilities",
    ]  # fmt: skip


def test_version_and_usage():
    assert command("--version").stdout.strip() == f"buffer_interface {bi.__version__}"
    for arguments in ((), ("nothing",), ("devices", "--nothing")):
        got = command(*arguments)
        assert got.returncode == 2 and "usage" in got.stderr


def test_a_closed_pipe_is_no_error():
    got = subprocess.run(
        f"{sys.executable} -m buffer_interface devices | true", shell=True, capture_output=True, text=True, timeout=60
    )
    assert got.stderr == ""


# show


def test_show_prints_a_numpy_file(tmp_path):
    path = tmp_path / "numbers.npy"
    np.save(path, np.arange(6, dtype="i2").reshape(2, 3, order="F"))
    shown = command("show", str(path))
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout == (
        f"{path}: <i2  shape (2, 3)  strides (2, 4)  12 bytes\n"
        "<BufferInterface int16 (2, 3) on host, read-only>\n[[0 2 4]\n [1 3 5]]\n"
    )


def test_show_names_the_file_that_cannot_be_read(tmp_path):
    path = tmp_path / "other.npy"
    path.write_text("text")
    for name, reason in (path, "no .npy file"), (tmp_path / "missing.npy", "No such file or directory"):
        shown = command("show", str(name))
        assert shown.returncode == 1 and shown.stderr.startswith(f"{name}: {reason}")
        assert shown.stderr.count("\n") == 1


@pytest.mark.parametrize("shape", ["(", "(9999999999999999999999,)", "(2,"])
def test_show_names_a_damaged_file(tmp_path, shape):
    path = tmp_path / "damaged.npy"
    head = f"{{'descr': '<i4', 'fortran_order': False, 'shape': {shape}}}".ljust(117).encode() + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + head)
    shown = command("show", str(path))
    assert shown.returncode == 1 and shown.stderr.startswith(f"{path}: ") and shown.stderr.count("\n") == 1


def test_show_without_numpy(capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert main(["show", "x.npy"]) == 1
    assert capfd.readouterr().err == "x.npy: show needs NumPy, which is not installed: pip install numpy\n"
