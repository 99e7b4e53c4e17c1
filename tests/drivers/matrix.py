#!/usr/bin/env python3
"""Runs the command, the facts program and the suites on every OpenCL driver that can be had, and writes docs/drivers.md.

    tests/drivers/matrix.py              the drivers of PyPI and Debian 12: what scripts/test does
    tests/drivers/matrix.py --all        also the drivers of other Debian releases (needs root and debootstrap), every
                                         suite, and the Python package; records the results and writes docs/drivers.md
    tests/drivers/matrix.py --page       tests only that docs/drivers.md is the page of the recorded results

Without --all, the answers of the drivers must equal the recorded ones. Drivers are installed into build/drivers. The
programs come from build/default.
"""

import argparse
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "ports"))

import debian  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build/default"
WORK = ROOT / "build/drivers"
RECORDED = HERE / "results.json"
PAGE = ROOT / "docs/drivers.md"
PROGRAMS = ["tests/contract", "tests/ordering", "tests/behaviour/launch/launch", "tests/behaviour/dlpack/dlpack",
            "tests/random_programs", "tests/behaviour/fault/fault", "tests/behaviour/process/process",
            "tests/drivers/opencl_facts", "tests/libbi_opencl_layer.so", "bi"]  # fmt: skip
SUITES = ["command", "contract", "ordering", "launch", "dlpack", "random_programs", "fault", "process", "README", "package",
          "whole package"]  # fmt: skip
ARGUMENTS = {"dlpack": ["opencl"], "random_programs": ["1", "500"]}  # after the device
# Suites of several runs: the words before the device. "endurance" of process takes too long.
WORDS = {"fault": ["allocations", "options", "cold", "memory", "gone", "calls"],
         "process": ["cancel", "fork", "exec", "exit", "signals", "pressure", "first"]}  # fmt: skip
SECONDS = 6000  # a suite that takes longer hangs


# The tests of the Python package that use the driver most.
SELECTION = ["test_devices.py", "test_map.py", "test_operations.py", "test_views.py", "test_pyopencl.py",
             "test_rules_opencl.py", "test_export_dlpack.py", "test_import_dlpack.py"]  # fmt: skip


class Driver:
    """A driver: where it comes from, its library, and the suites that the short form runs on it."""

    def __init__(self, name, source, library, *, release=None, suites=("command",), **environment):
        self.name, self.source, self.library, self.release = name, source, library, release
        self.suites, self.environment = suites, environment
        self.package = source.split("`")[1]


DRIVERS = [
    Driver("PoCL 3.1", "Debian 12, `pocl-opencl-icd`", "/etc/OpenCL/vendors/pocl.icd"),
    Driver("PoCL 3.0", "PyPI, `pocl-binary-distribution` 3.0", "lib/python3*/site-packages/pyopencl/.libs/libpocl-*.so"),
    Driver("Intel CPU 2026.2", "PyPI, `intel-opencl-rt` and `intel-cmplr-lib-rt` 2026.2.0", "lib/libintelocl.so",
           suites=("command", "contract", "ordering", "launch", "dlpack", "random_programs"), BI_TEST_IN_ORDER="1"),
    Driver("oclgrind 21.10", "Debian 12, `oclgrind`", "/usr/lib/oclgrind/liboclgrind-rt-icd.so",
           BI_TEST_ONE_THREAD="1"),
    Driver("PoCL 6.0", "Debian 13, `pocl-opencl-icd`", "/etc/OpenCL/vendors/pocl.icd", release="trixie"),
    Driver("rusticl 25.0 (llvmpipe)", "Debian 13, `mesa-opencl-icd`", "/etc/OpenCL/vendors/rusticl.icd",
           release="trixie", RUSTICL_ENABLE="llvmpipe"),
    Driver("PoCL 7", "Debian sid, `pocl-opencl-icd`", "/etc/OpenCL/vendors/pocl.icd", release="sid"),
]  # fmt: skip


def run(command, **options):
    options.setdefault("timeout", SECONDS)
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, errors="replace", **options)  # fmt: skip


def install_from_pypi():
    """An environment with the drivers of PyPI."""
    environment = WORK / "venv"
    if not environment.exists():
        run([sys.executable, "-m", "venv", environment])
    pip = [environment / "bin/pip", "--disable-pip-version-check", "install", "-q", "-r", HERE / "requirements.txt"]
    done = run(pip)
    if done.returncode:
        sys.exit(f"The drivers of PyPI cannot be installed ({HERE}/requirements.txt):\n{done.stdout}")
    return environment


def soname():
    """The name under which programs look for the shared library."""
    return next(line.split()[0] for line in run(["ldd", BUILD / "bi"]).stdout.splitlines() if "libbufferinterface" in line)


def install_release(driver):
    """A root folder with another Debian release and the driver."""
    root = debian.install_release(driver.release, ["ocl-icd-libopencl1", driver.package, *debian.FOR_PYTHON])
    (root / "bi").mkdir(exist_ok=True)
    for program in PROGRAMS:
        shutil.copy(BUILD / program, root / "bi")
    shutil.copy(next(BUILD.glob("libbufferinterface.so.*.*.*")), root / "bi" / soname())
    # The suites are linked with this system's cmocka, of which another release may have another version.
    linked = run(["ldd", BUILD / "tests/contract"]).stdout.splitlines()
    shutil.copy(next(line.split()[2] for line in linked if "libcmocka" in line), root / "bi")
    return root


class Machine:
    """One driver, ready: the command line before a program, where programs are, and the environment."""

    def __init__(self, driver):
        self.driver, self.prefix, self.programs, self.lacks = driver, [], {}, ""
        root = pathlib.Path("/")
        if driver.release:
            root = install_release(driver)
            self.prefix = debian.prefix(root)
        self.root = root
        for program in PROGRAMS:
            name = pathlib.Path(program).name
            self.programs[name] = f"/bi/{name}" if driver.release else str(BUILD / program)
        vendors = root / "bi/vendors" if driver.release else WORK / "vendors"
        folder = vendors / driver.name.replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        self.write_entry(folder / "driver.icd", root)
        inside = "/" + str(folder.relative_to(root)) if driver.release else str(folder)
        self.environment = {**os.environ, **driver.environment, "OCL_ICD_VENDORS": inside, "BI_CUDA_LIBRARY": "none",
                            "POCL_CACHE_DIR": inside, "HOME": inside, "LD_LIBRARY_PATH": "/bi"}  # fmt: skip
        for name in ("BI_DEVICE", "BI_OPENCL_LIBRARY", "POCL_DEVICES", "OPENCL_LAYERS", "BI_INLINE_LIMIT"):
            self.environment.pop(name, None)

    def write_entry(self, entry, root):
        library = self.driver.library
        if library.endswith(".icd"):
            library = (root / library.lstrip("/")).read_text()
        elif not library.startswith("/"):
            library = str(next(install_from_pypi().glob(library)))
        entry.write_text(library.strip() + "\n")

    def run(self, program, *arguments, **environment):
        return run([*self.prefix, self.programs.get(program, program), *arguments],
                   env={**self.environment, **environment})  # fmt: skip

    def layered(self, program, *words):
        """A suite below the layer that counts calls."""
        layer = self.programs["libbi_opencl_layer.so"]
        # As a user has it, with small work done inline. These suites test what is enqueued.
        limit = {"BI_INLINE_LIMIT": "0"} if program in ("ordering", *WORDS) else {}
        return self.run(program, *words, "opencl", *ARGUMENTS.get(program, ()), OPENCL_LAYERS=layer, BI_TEST_LAYER=layer,
                        **limit)  # fmt: skip

    def worded(self, program):
        """One run for each word. A word whose run fails is named like a test that failed."""
        runs = {word: self.layered(program, word) for word in WORDS[program]}
        failed = {word: run for word, run in runs.items() if run.returncode}
        text = "".join(f"{run.stdout}\nFAILED {word}\n" for word, run in failed.items())
        return subprocess.CompletedProcess(program, 1 if failed else 0, text)


# A driver with this answer cannot run tests of the Python package that have this fixture.
CRASHES = ("clEnqueueSVMFree, after which the list of pointers is freed", "ends the process", "enqueued_free")


def facts(machine):
    done = machine.run("opencl_facts")
    lines = [line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line]
    machine.lacks = CRASHES[2] if (CRASHES[0], CRASHES[1]) in map(tuple, lines) else ""
    return dict(lines) if done.returncode == 0 else {"the program": f"ends with {done.returncode}: {done.stdout[-200:]}"}


def write_array(path):
    """A file of NumPy without NumPy: 64 by 48 numbers of 2 bytes."""
    head = "{'descr': '<u2', 'fortran_order': False, 'shape': (64, 48), }".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + head.encode() + bytes(i & 255 for i in range(64 * 48 * 2)))


def command(machine):
    listed = machine.run("bi", "devices", "--json")
    if '"opencl:0:0"' not in listed.stdout:
        listed.returncode = listed.returncode or 1  # the host is there without the driver
    if listed.returncode:
        return listed
    folder = pathlib.Path("/bi") if machine.driver.release else WORK
    outside = machine.root / "bi" if machine.driver.release else WORK
    write_array(outside / "in.npy")
    return machine.run("bi", "copy", folder / "in.npy", folder / "out.npy", "--device", "opencl", "--slice",
                       "::-1, ::3", "--transpose", "1,0", "--verify")  # fmt: skip


install_python = functools.cache(debian.install_python)


def python_environment(machine, *requirements):
    """The Python of an environment with the package: that of scripts/test-python, or one in the root folder."""
    if machine.driver.release:
        return install_python(machine.root, *(ROOT / "tests/python" / name for name in requirements))
    python = ROOT / "build/python/venv/bin/python"
    if not python.exists():
        sys.exit("build/python has no environment; run scripts/test-python first")
    return str(python)


def pytest(machine, python, *tests):
    simulator = BUILD / "tests/simulators/cuda_sim/libcuda.so.1"
    return machine.run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                       *(ROOT / "tests/python" / test for test in tests), BI_TEST_CUDA_SIM=str(simulator),
                       BI_TEST_LACKS=machine.lacks)  # fmt: skip


def readme(machine):
    return pytest(machine, python_environment(machine, "requirements.txt"), "test_readme.py")


def package(machine):
    return pytest(machine, python_environment(machine, "requirements.txt"), *SELECTION)


def whole_package(machine):
    """Also says how many tests passed, and on which Python."""
    python = python_environment(machine, "requirements.txt", "requirements-libraries.txt")
    done = pytest(machine, python, "")
    found = re.search(r"(\d+) passed", done.stdout)
    done.more = f" ({found[1] if found else 0} tests, {machine.run(python, '--version').stdout.strip()})"
    return done


def failure(done):
    """The tests that failed, or else the exit status."""
    tests = re.findall(r"^\[  FAILED  \] (\w+)$|^FAILED (\S+)", done.stdout, re.MULTILINE)
    names = sorted({name or other for name, other in tests})
    return "fails: " + (", ".join(f"`{name}`" for name in names[:4]) or f"exit status {done.returncode}")


def run_suite(machine, suite):
    """"pass", or what failed."""
    print(f"  {suite} ...", end="", flush=True)
    start = time.monotonic()
    functions = {"command": command, "README": readme, "package": package, "whole package": whole_package}
    try:
        if suite in functions:
            done = functions[suite](machine)
        else:
            done = machine.worded(suite) if suite in WORDS else machine.layered(suite)
    except subprocess.TimeoutExpired:
        done = None
    took = time.monotonic() - start
    if done is None:
        answer = "hangs"
    else:
        answer = ("pass" if done.returncode == 0 else failure(done)) + getattr(done, "more", "")
    print(f" {answer}, {took:.0f} s", flush=True)
    if done is not None and done.returncode:
        (WORK / f"{machine.driver.name}-{suite}.log".replace(" ", "-")).write_text(done.stdout)
        print("\n".join(done.stdout.splitlines()[-30:]))
    return answer


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def page(results):
    """The text of docs/drivers.md."""
    met = [driver for driver in DRIVERS if driver.name in results]
    questions = list(dict.fromkeys(q for driver in met for q in results[driver.name]["facts"]))
    suites = [[driver.name, driver.source, *(results[driver.name]["suites"].get(s, "not run") for s in SUITES)]
              for driver in met]  # fmt: skip
    asked = [[q, *(results[driver.name]["facts"].get(q, "") for driver in met)] for q in questions]
    return f"""# OpenCL drivers that the library has met

This page is made by `scripts/test drivers --all`. `scripts/test` repeats a part of it: the command and the questions on
the drivers of Debian 12 and PyPI, and the suites on Intel's.

{table(["driver", "from", *SUITES], suites)}
The tests in which pyopencl calls `clEnqueueSVMFree` are left out on PoCL 3.0: the driver crashes there (see below).
`command`: `bi devices` and `bi copy --verify`. `random_programs`: 500 programs of `tests/fuzz`. `fault` and `process`: the
suites of these names in `tests/behaviour`, without `process endurance`. `README`: the Python code of the README. `package`: the tests of the Python package that use the driver most: {", ".join(f"`{test}`" for test in SELECTION[:4])},
{", ".join(f"`{test}`" for test in SELECTION[4:])}.
`whole package`: all tests of the Python package. On PoCL 3.1 they run in `scripts/test-python`.
`contract` and `launch` on oclgrind leave out tests with several threads: when two threads run kernels or open contexts
at the same time, oclgrind often ends the process.
`random_programs` on Intel's driver uses in-order streams only, because barriers of its out-of-order queues do not hold
when several threads enqueue ([opencl.md](opencl.md)).
The drivers of other releases run with the Python of that release. oclgrind interprets kernels instruction by
instruction: `package` did not end in 200 seconds there, and was stopped.

## Where drivers differ

`tests/drivers/opencl_facts.c` asks each driver by plain OpenCL, without this library. [opencl.md](opencl.md) says what
the backend does about the answers.

{table(["question", *(driver.name for driver in met)], asked)}"""


def compare(driver, answers, suites, recorded):
    """Prints what differs from the recorded results; returns how many do."""
    expected = recorded.get(driver.name, {"facts": {}, "suites": {}})
    wrong = [f"{suite}: {answer}" for suite, answer in suites.items() if answer != "pass"]
    wrong += [f"{q}: {answers.get(q)}, recorded: {a}" for q, a in expected["facts"].items() if answers.get(q) != a]
    for words in wrong:
        print(f"  {driver.name}: {words}")
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="all drivers and suites; writes docs/drivers.md")
    parser.add_argument("--page", action="store_true", help="tests that docs/drivers.md is what the results say")
    parser.add_argument("--suites", default=",".join(SUITES), help="with --all: the suites to run, separated by commas")
    parser.add_argument("--only", metavar="WORD", help="drivers whose name matches the pattern WORD")
    arguments = parser.parse_args()
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    if arguments.page:
        return 0 if PAGE.read_text() == page(recorded) else "docs/drivers.md is not what tests/drivers/results.json says"
    WORK.mkdir(parents=True, exist_ok=True)
    chosen = [suite for suite in SUITES if suite in arguments.suites.split(",")]
    wrong = 0
    for driver in DRIVERS:
        if not re.search(arguments.only or "", driver.name) or (driver.release and not arguments.all):
            continue
        print(driver.name, flush=True)
        machine = Machine(driver)
        answers = facts(machine)
        suites = {suite: run_suite(machine, suite) for suite in (chosen if arguments.all else driver.suites)}
        if arguments.all:
            # Another run may have written meanwhile.
            recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
            kept = recorded.get(driver.name, {"suites": {}})["suites"]
            recorded[driver.name] = {"facts": answers, "suites": {**kept, **suites}}
            RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")
        else:
            wrong += compare(driver, answers, suites, recorded)
    if arguments.all:
        PAGE.write_text(page(recorded))
    print(f"{wrong} differences" if wrong else "as recorded" if not arguments.all else f"wrote {PAGE}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
