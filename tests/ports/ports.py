#!/usr/bin/env python3
"""Builds the library, the command and the tests for other systems, runs what can be run, and writes docs/ports.md.

    tests/ports/ports.py              the targets that scripts/test builds, with a part of their tests
    tests/ports/ports.py --all        every target and every test; records the results and writes docs/ports.md
    tests/ports/ports.py --only WORD  targets whose name contains WORD; "zig" is a word
    tests/ports/ports.py --page       tests only that docs/ports.md is the page of the recorded results

A warning of a compiler is a failure. Packages come from Debian and PyPI (requirements.txt beside this file). cmocka is
built for each target from Debian's source package. Everything is written into build/ports.
"""

import argparse
import json
import os
import pathlib
import re
import sys
import time
from dataclasses import dataclass

import debian

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "build/ports"
# Debian's packages that the sdist of the Python package is built with. The README names them.
FOR_THE_SDIST = ["gcc", "cmake", "make", "python3-dev", "opencl-c-headers"]
RECORDED = HERE / "results.json"
WHEELS = HERE / "wheels.json"  # scripts/build-wheels --test writes it
PAGE = ROOT / "docs/ports.md"
ARRAY = ROOT / "examples/data/jacksboro_elevation.npy"
JOBS = str(os.cpu_count())

# The tests of the short form: all element moves (SIMD included), byte order, exchange, threads, and the contract.
SHORT = "contract-host|test_(simd|tiles|run|shuffle|lines|dtype|descr|npy|npy_header|cai_read|index|layout|host|workers|threads)$"


@dataclass
class Target:
    name: str
    packages: str  # of Debian 12
    compiler: str  # the command; "zig TARGET" is Zig's compiler for that target
    system: str = "Linux"  # for CMake
    emulator: str = ""  # the command before a program; "none": nothing runs
    flags: str = ""
    left_out: str = ""  # unit tests that the emulator or the C library cannot run
    tests: bool = True
    short: bool = False
    release: str = ""  # of Debian, in whose root folder it is built and run (debian.py); "" is this system
    standard: int = 11  # of C

    @property
    def label(self):
        """The compiler and its version."""
        if self.zig:
            return f"Zig {version_of_zig()} (clang)"
        return ", ".join([first_line([self.compiler, "--version"], self.root), *(tools(self.root) if self.root else [])])

    @property
    def root(self):
        return debian.WORK / self.release if self.release else None

    @property
    def zig(self):
        return self.compiler.startswith("zig ") and self.compiler.removeprefix("zig ")


# The compilers of Debian come without headers, which are in packages of their own.
def cross(machine, debian_name, name, emulator, **options):
    packages = f"gcc-{machine}-linux-gnu libc6-dev-{debian_name}-cross qemu-user-static"
    return Target(name, packages, f"{machine}-linux-gnu-gcc", emulator=emulator, **options)


def zig(target, name, system, emulator="none"):
    return Target(name, "", f"zig {target}", system=system, emulator=emulator, tests=False)


SID = "gcc libc6-dev cmake make libcmocka-dev opencl-c-headers"
CMOCKA_2 = "-Wno-deprecated-declarations"  # of assert_in_range, for which cmocka 1 has nothing else

# Emulators do not start a program with raised rights, nor say which pages are large.
TARGETS = [
    cross("aarch64", "arm64", "aarch64, glibc", "qemu-aarch64-static -L /usr/aarch64-linux-gnu",
          left_out="environment;host", short=True),
    cross("s390x", "s390x", "s390x, glibc, big-endian", "qemu-s390x-static -L /usr/s390x-linux-gnu",
          left_out="environment;host", short=True),
    cross("i686", "i386", "i386, glibc",
          "/usr/i686-linux-gnu/lib/ld-linux.so.2 --library-path /usr/i686-linux-gnu/lib",
          flags="-Wno-psabi", left_out="environment", short=True),
    Target("x86-64, musl", "musl-tools", "musl-gcc", left_out="view;cuda_sim", flags="-idirafter /usr/include"),
    Target("x86-64, Windows", "gcc-mingw-w64-x86-64-posix wine wine64", "x86_64-w64-mingw32-gcc-posix",
           system="Windows", emulator="wine"),
    Target("x86-64, glibc", "clang-19", "clang-19"),
    Target("x86-64, Debian sid, C23", SID, "gcc", release="sid", standard=23, flags=CMOCKA_2),
    Target("x86-64, Debian sid, gcc 15", SID.replace("gcc ", "gcc-15 "), "gcc-15", release="sid", flags=CMOCKA_2),
    Target("x86-64, Debian sid, clang", SID.replace("gcc ", "clang-23 "), "clang-23", release="sid", flags=CMOCKA_2),
    zig("aarch64-macos", "aarch64, macOS", "Darwin"),
    zig("x86_64-macos", "x86-64, macOS", "Darwin"),
]  # fmt: skip


def run(command, root=None, **options):
    """Runs a command, in a root folder if there is one."""
    return debian.inside(root, *command, **options)


def must(command, root=None, **options):
    done = run(command, root, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout[-3000:]}")
    return done.stdout


def first_line(command, root):
    """"gcc 12.2.0": the first version number that the command says."""
    said = run(command, root).stdout.splitlines()[0]
    number = re.search(r" (\d+(\.\d+)*)", re.sub(r"\(.*?\)", "", said))
    return f"{'clang' if 'clang' in said else 'gcc'} {number[1]}"


def tools(root):
    """["CMake 4.3.1", "cmocka 2.0.2"] of a root folder."""
    said = must(["dpkg-query", "-W", "-f", "${Version}\n", "cmake", "libcmocka-dev"], root)
    return [f"{name} {line.partition('-')[0]}" for name, line in zip(("CMake", "cmocka"), said.splitlines(), strict=True)]


def zig_program():
    """Zig's compiler, from PyPI."""
    venv = WORK / "venv"
    if not venv.exists():
        must([sys.executable, "-m", "venv", venv])
    must([venv / "bin/pip", "--disable-pip-version-check", "install", "-q", "-r", HERE / "requirements.txt"])
    return next(venv.glob("lib/python3*/site-packages/ziglang/zig"))


def version_of_zig():
    return (HERE / "requirements.txt").read_text().strip().partition("==")[2]


def compiler_of(target, folder):
    """A program that CMake can call as a compiler."""
    if not target.zig:
        return target.compiler
    for program in ("cc", "ar", "ranlib"):
        words = f"-target {target.zig}" if program == "cc" else ""
        path = folder / program
        path.write_text(f'#!/bin/sh\nexec "{zig_program()}" {program} {words} "$@"\n')
        path.chmod(0o755)
    return folder / "cc"


def build_cmocka(target, compiler, folder):
    """Returns the options of CMake that name cmocka."""
    source = debian.source_of("cmocka")
    has = "SIGNAL_H STRUCT_TIMESPEC STRINGS_H INTTYPES_H MALLOC_H"
    if target.system != "Windows":
        has += " STRSIGNAL GCC_THREAD_LOCAL_STORAGE CLOCK_REALTIME SIGLONGJMP"
    made = folder / "cmocka.o"
    must([compiler, "-O1", "-w", f"-I{source}/include", *(f"-DHAVE_{word}" for word in has.split()), "-c",
          source / "src/cmocka.c", "-o", made])  # fmt: skip
    must(["ar", "rcs", folder / "libcmocka.a", made])
    return [f"-DBI_CMOCKA_INCLUDE_DIR={source}/include", f"-DBI_CMOCKA_LIBRARY={folder}/libcmocka.a"]


def configure(target, folder):
    compiler = compiler_of(target, folder)
    emulator = [] if target.emulator == "none" else target.emulator.split()
    options = [f"-DCMAKE_SYSTEM_NAME={target.system}", f"-DCMAKE_C_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Release",
               f"-DCMAKE_C_FLAGS_RELEASE=-O{2 if target.release else 1}", f"-DCMAKE_C_FLAGS={target.flags}", "-DBI_LTO=OFF", "-DBI_EXAMPLES=OFF",
               "-DBI_OPENCL_INCLUDE_DIR=/usr/include", f"-DBI_TESTS={'ON' if target.tests else 'OFF'}",
               f"-DBI_TEST_LAUNCHER={';'.join(emulator)}", f"-DBI_TEST_LEFT_OUT={target.left_out}",
               f"-DCMAKE_C_STANDARD={target.standard}", "-DCMAKE_CROSSCOMPILING=TRUE"]  # fmt: skip
    if target.zig:
        options += [f"-DCMAKE_AR={folder}/ar", f"-DCMAKE_RANLIB={folder}/ranlib"]
    if target.tests and not target.release:
        options += build_cmocka(target, compiler, folder)
    must(["cmake", "-S", ROOT, "-B", folder / "build", *options], target.root)


def built_targets(target, short):
    if not target.tests or not short:
        return []
    units = re.search(r"test_\((.*)\)", SHORT)[1].split("|")
    units = [unit for unit in units if (ROOT / f"tests/unit/test_{unit}.c").exists()]
    return ["bufferinterface_command", "contract", *(f"test_{unit}" for unit in units if unit not in left_out(target))]


def left_out(target):
    names = target.left_out.split(";")
    return names + ["cai_read"] if target.name.startswith("i386") else names


def copy_and_verify(target, folder):
    """Runs `bi copy --device host --verify`. Returns what the table says."""
    if target.emulator == "none":
        return "linked only"
    program = next((folder / "build").glob("bi*"), None)
    out = folder / "out.npy"
    done = run([*target.emulator.split(), program, "copy", ARRAY, out, "--device", "host", "--slice", "::2,::-1",
                "--transpose", "1,0", "--verify"], target.root, env=environment())  # fmt: skip
    (folder / "copy.log").write_text(done.stdout)
    return "pass" if done.returncode == 0 and "verified" in done.stdout else "fails"


def environment():
    return {**os.environ, "WINEPREFIX": str(WORK / "wine"), "WINEDEBUG": "-all", "BI_CUDA_LIBRARY": "none"}


def run_tests(target, folder, short):
    """Runs ctest. Returns what the table says."""
    if not target.tests:
        return "not built"
    chosen = ["-R", SHORT] if short else []
    done = run(["ctest", "--test-dir", folder / "build", "-j", JOBS, "--no-tests=error", *chosen], target.root,
               env=environment())  # fmt: skip
    (folder / "tests.log").write_text(done.stdout)
    failed = re.findall(r"^\s*\d+ - (\S+) \(", done.stdout, re.MULTILINE)
    found = re.search(r"(\d+) tests failed out of (\d+)", done.stdout)
    if done.returncode or not found:
        print(done.stdout[-2000:])
        return "fails: " + ", ".join(failed or ["ctest"])
    return f"{found[2]} pass"


def try_target(target, short):
    """Builds and runs one target. Returns its row: warnings, command, tests."""
    folder = WORK / re.sub(r"\W+", "-", target.name)
    folder.mkdir(parents=True, exist_ok=True)
    configure(target, folder)
    command = ["cmake", "--build", folder / "build", "-j", JOBS, "--clean-first"]
    targets = built_targets(target, short)
    done = run(command + (["--target", *targets] if targets else []), target.root)
    (folder / "build.log").write_text(done.stdout)
    warnings = len(re.findall(r"warning:", done.stdout))
    if done.returncode or warnings:
        print("\n".join(re.findall(r"^.*(?:error|warning):.*$", done.stdout, re.MULTILINE)[:20]) or done.stdout[-2000:])
    if done.returncode:
        return {"warnings": "does not build", "command": "", "tests": ""}
    return {"warnings": str(warnings), "command": copy_and_verify(target, folder), "tests": run_tests(target, folder, short)}


def install(targets):
    """Installs the packages of the targets, on this system and in the root folders."""
    for release in dict.fromkeys(target.release for target in targets):
        words = " ".join(target.packages for target in targets if target.release == release).split()
        packages = list(dict.fromkeys(words))
        if release:
            debian.install_release(release, packages)
        elif packages:
            must([ROOT / "scripts/setup-debian", "--only", *packages])


def python_of_the_newest():
    """Sentences about the Python package there. tests/drivers/matrix.py runs its tests with the pinned libraries."""
    suites = json.loads((HERE.parent / "drivers/results.json").read_text())["PoCL 7"]["suites"]
    pinned, newest = (suites.get(name, "not run") for name in ("whole package", "whole package, newest libraries"))
    return f"The tests of the Python package on Debian sid:\n{pinned}.\nWith the newest libraries of PyPI, by hand:\n{newest}."


def table_of_wheels():
    rows = ["| package | compiler | checked by | tried |", "| --- | --- | --- | --- |"]
    for name, row in json.loads(WHEELS.read_text()).items():
        rows.append(f"| {name} | {row['compiler']} | {row['checked']} | {row['tried']} |")
    return "\n".join(rows)


def page(recorded):
    """The text of docs/ports.md."""
    rows = ["| target | compiler | warnings | `bi copy --device host --verify` | tests |", "| --- | --- | --- | --- | --- |"]
    for target in TARGETS:
        row = recorded.get(target.name)
        if row:
            rows.append(f"| {target.name} | {row['compiler']} | {row['warnings']} | {row['command']} | {row['tests']} |")
    short = ", ".join(target.name.split(",")[0] for target in TARGETS if target.short)
    table = "\n".join(rows)
    return f"""# Systems that the library was built for

This page is made by `scripts/test ports --all`. `scripts/test` repeats a part of it: {short}.

{table}

`tests`: unit tests, and the contract and ordering suites on the host. Programs for aarch64 and s390x run in qemu, those
for Windows in Wine 8; no such machine was used. "linked only": the library and the command were compiled and linked,
and have not run. Debian sid is Debian's newest state: its programs were built and run in a root folder
(`tests/ports/debian.py`).
{python_of_the_newest()}

- CUDA is tested on 64-bit little-endian targets with glibc only.
- On Windows there are no suites, because they open drivers and fork, and compiled OpenCL programs are not kept in
  files. Wine's `OpenCL.dll` leads to PoCL: there `bi copy --device opencl --verify` works.
- Some unit tests are left out. They need an OpenCL driver, the simulated CUDA driver (on targets where CUDA is not
  tested), functions that Windows lacks, or something that the emulator or the C library lacks.
  `tests/ports/left_out.cmake` and the members `left_out` in `tests/ports/ports.py` list them.

## Packages of Python

`scripts/build-wheels --test` makes these with warnings as errors, and writes this table.

{table_of_wheels()}

`tried`: pip installed the package into an empty environment (`alone`: with the OpenCL driver of the system), then
beside pyopencl and PyPI's PoCL, and then in a new root folder of `debootstrap`, with `python3-venv`, and for the
sdist also with {", ".join(f"`{name}`" for name in FOR_THE_SDIST)}.
"linked only" and "not run": no such machine was used.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="all targets and tests; writes docs/ports.md")
    parser.add_argument("--only", metavar="WORD", default="", help="targets whose name or compiler contains WORD")
    parser.add_argument("--page", action="store_true", help="tests that docs/ports.md is what the results say")
    arguments = parser.parse_args()
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    if arguments.page:
        wrong = [name for name in recorded if name not in {target.name for target in TARGETS}]
        wrong += [target.name for target in TARGETS if target.name not in recorded]
        if wrong or PAGE.read_text() != page(recorded):
            sys.exit(f"docs/ports.md is not the page of tests/ports/results.json; run scripts/test ports --all. {wrong}")
        return print(f"{len(recorded)} targets")
    chosen = [t for t in TARGETS if (arguments.all or t.short or arguments.only) and arguments.only in t.name + t.compiler]
    install(chosen)
    WORK.mkdir(parents=True, exist_ok=True)
    passed = failed = 0
    for target in chosen:
        start = time.monotonic()
        row = {"compiler": target.label, **try_target(target, not arguments.all)}
        good = row["warnings"] == "0" and "fails" not in row["command"] + row["tests"]
        passed, failed = passed + good, failed + (not good)
        print(f"{target.name}: {row['compiler']}, {row['warnings']} warnings, copy: {row['command']}, "
              f"tests: {row['tests']}, {time.monotonic() - start:.0f} s", flush=True)  # fmt: skip
        if arguments.all:
            recorded[target.name] = row
            RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")
    if arguments.all:
        PAGE.write_text(page(recorded))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
