#!/usr/bin/env python3
"""What a user is told about drivers that are missing or broken, and what a user gets who has only pip.

The command comes from build/default. The drivers are those of Debian 12 (PoCL, oclgrind) and PyPI. The environment of
the user is build/drivers/user; its wheel is the one of build/python, or is built.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COMMAND = ROOT / "build/default/bi"
USER = ROOT / "build/drivers/user"
POCL = pathlib.Path("/etc/OpenCL/vendors/pocl.icd")
OCLGRIND = "/usr/lib/oclgrind/liboclgrind-rt-icd.so"
UNWRITABLE = {"POCL_CACHE_DIR": "/proc/nothing"}
NO_DEVICE = (
    'cannot be used: platform "Portable Computing Language": clGetDeviceIDs failed: CL_DEVICE_NOT_FOUND (-1); '
    "is POCL_CACHE_DIR, or HOME, writable?"
)
# The system has no loader and no driver.
BARE = 'set -e; for f in /usr/lib/*/libOpenCL.so*; do mount --bind /dev/null "$f"; done; mount -t tmpfs none /etc/OpenCL; exec "$@"'
PROGRAM = """
import sys
import numpy as np, pyopencl as cl, pyopencl.array
import buffer_interface as bi

devices = [device for device in bi.devices() if device.backend == "opencl"]
assert devices and all(device.usable for device in devices), devices
own = bi.empty((3, 4), "<f4", device="auto")
assert own.backend == "opencl"
own[...] = np.arange(12, dtype="<f4").reshape(3, 4)
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
theirs = pyopencl.array.to_device(queue, np.zeros((3, 4), "<f4"))
bi.buffer_interface(theirs)[...] = own
assert (theirs.get() == np.arange(12).reshape(3, 4)).all()
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "libpocl" in line or "libOpenCL" in line}
assert any("libpocl" in path for path in loaded), loaded
assert all(path.startswith(sys.prefix) for path in loaded), loaded
"""


def environment(folder, **variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BI_", "POCL_", "OCL_", "OPENCL_"))}
    return {**kept, "POCL_CACHE_DIR": folder, "HOME": folder, "BI_CUDA_LIBRARY": "none", **variables}


def run(command, **options):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, timeout=300, **options)  # fmt: skip


def told(entries, **variables):
    """What `bi devices` says with these loader entries. The name of their folder is FOLDER in it."""
    with tempfile.TemporaryDirectory() as folder:
        for number, library in enumerate(entries):
            pathlib.Path(folder, f"{number}.icd").write_text(library + "\n")
        done = run([COMMAND, "devices"], env=environment(folder, OCL_ICD_VENDORS=folder, **variables))
        return done.stdout.replace(folder, "FOLDER")


def check(name, said, *expected):
    missing = [words for words in expected if words not in said]
    print(f"  {name}: {'wrong' if missing else 'right'}", flush=True)
    for words in missing:
        print(f"    expected: {words}\n    said: {said}")
    return len(missing)


def messages():
    """The number of messages that do not name the file, the cause and the remedy."""
    pocl = POCL.read_text().strip()
    wrong = check("no driver", told([]), "opencl cannot be used: no OpenCL platform; install a driver",
                  "file *.icd into FOLDER")  # fmt: skip
    wrong += check("a broken entry", told(["libmissing.so"]), "FOLDER/0.icd: libmissing.so: ", "reinstall that driver")
    wrong += check("a library that is no OpenCL", told([pocl], BI_OPENCL_LIBRARY="libm.so.6"),
                   "the driver library libm.so.6 lacks clGetPlatformIDs; BI_OPENCL_LIBRARY names another")  # fmt: skip
    wrong += check("a platform without devices", told([pocl], **UNWRITABLE), f"opencl:0 {NO_DEVICE}")
    said = told([pocl, OCLGRIND], **UNWRITABLE)
    wrong += check("beside a working one", said, NO_DEVICE, "'auto' takes opencl:")
    empty = "opencl:0" if f"opencl:0 {NO_DEVICE}" in said else "opencl:1"
    return wrong + check("its device, by name", told([pocl, OCLGRIND], BI_DEVICE=f"{empty}:0", **UNWRITABLE),
                         f'BI_DEVICE "{empty}:0": {NO_DEVICE.removeprefix("cannot be used: ")}')  # fmt: skip


def install():
    """The environment of a user who has only pip."""
    wheels = list((ROOT / "build/python/wheel").glob("*.whl"))
    commands = [
        [sys.executable, "-m", "venv", USER],
        [USER / "bin/python", "-m", "pip", "--disable-pip-version-check", "install", "-q", "-r",
         HERE / "requirements-user.txt", *(wheels or [ROOT / "python"])],
    ]  # fmt: skip
    for command in commands:
        done = run(command)
        if done.returncode:
            sys.exit(f"The environment of a user cannot be made:\n{done.stdout}")


def only_pip():
    """1 if a user who has only pip gets no devices."""
    install()
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    if run([*namespace, "true"]).returncode:
        print("  only pip: not run, because this user cannot hide the system's loader (unshare --mount: CAP_SYS_ADMIN)")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        done = run([*namespace, "sh", "-c", BARE, "sh", USER / "bin/python", "-c", PROGRAM], env=environment(folder))
    said = "done" if done.returncode == 0 else done.stdout
    return check("only pip", said, "done")


if __name__ == "__main__":
    sys.exit(1 if messages() + only_pip() else 0)
