#!/usr/bin/env python3
"""Counts the instructions of hot calls with callgrind and compares them with those that are recorded.

    count.py [--record] --inside PATTERN... [--outside PATTERN]... EXPECTED -- PROGRAM [ARGUMENT]...

PROGRAM marks its cases with marks.h. EXPECTED has one line for each, "name count": instructions per call. A PATTERN is
matched with the file names of objects (programs and shared libraries). Two sorts of instructions are counted: those of
objects that match an inside PATTERN, and those of the functions that these objects call in objects that match no
PATTERN, such as the C library. Calls into objects that match an outside PATTERN, such as a driver, are not counted, nor
are the functions of the C library that a driver calls: they depend on the driver and on the processor.

A case fails if its count differs from the record by more than TOLERANCE and by more than ALLOWANCE. That lets in a check
that a mend needs. A case that became cheaper fails too, because a gain has to be recorded before it can be lost again.
Smaller changes are listed and do not fail; as they are always compared with the record, they cannot add up unnoticed.
Exits with 1 if a case fails, is missing, or is not expected; --record writes EXPECTED instead.
"""
import argparse
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# A few tests and branches are below the larger of the two. A lock with its unlock, an allocation with its release, or a
# driver call is above it in every case of fewer than a thousand instructions.
TOLERANCE = 0.03
ALLOWANCE = 15


# getenv() looks at every variable that there is, so the program gets these and no others.
VARIABLES = ("PATH", "BI_CUDA_LIBRARY", "BI_NVRTC_LIBRARY", "OCL_ICD_VENDORS", "POCL_CACHE_DIR", "POCL_DEVICES")


def environment():
    return {name: os.environ[name] for name in VARIABLES if name in os.environ}


def run(command, folder):
    """The text of each dump."""
    out = pathlib.Path(folder) / "dump"
    valgrind = ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", "--compress-strings=no",
                "--compress-pos=no", f"--callgrind-out-file={out}"]
    result = subprocess.run(valgrind + command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", env=environment())
    if result.returncode:
        sys.exit(f"{' '.join(command)} exits with {result.returncode}:\n{result.stdout}")
    return [path.read_text(errors="replace") for path in pathlib.Path(folder).glob("dump.*")]


def matches(path, patterns):
    return any(fnmatch.fnmatch(os.path.basename(path), pattern) for pattern in patterns)


def count(dump, inside, outside):
    """The instructions of the inside objects and of the neutral functions that they call.

    The line after calls= has the instructions of the callee and of its callees. cob= names the object of the callee
    and is missing where that is the object of the caller."""
    total, is_inside, callee, is_call = 0, False, None, False
    for line in dump.splitlines():
        if line.startswith("ob="):
            is_inside = matches(line[3:], inside)
        elif line.startswith("cob="):
            callee = line[4:]
        elif line.startswith("calls="):
            is_call = True
        elif line[:1].isdigit():
            is_neutral = callee is not None and not matches(callee, inside + outside)
            if is_inside and (is_neutral or not is_call):
                total += int(line.split()[1])
            callee, is_call = None, False
    return total


def measure(command, inside, outside):
    """{name: instructions per call}"""
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        for dump in run(command, folder):
            mark = re.search(r"^desc: Trigger: Client Request: (\w+) (\d+)$", dump, re.MULTILINE)
            if mark:
                counts[mark[1]] = round(count(dump, inside, outside) / int(mark[2]))
    if not counts:
        sys.exit("the program marked no case")
    return counts


def read(path):
    lines = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {name: int(number) for name, number in lines}


def write(path, counts):
    header = [line for line in path.read_text().splitlines() if line.startswith("#")] if path.exists() else []
    path.write_text("\n".join(header + [f"{name} {counts[name]}" for name in sorted(counts)]) + "\n")


def judge(recorded, now):
    """Whether one case passes, and words for the reader. None as a number: there is no such case on that side."""
    if now is None:
        return False, "FAILED: the program has no such case any more"
    if recorded is None:
        return False, "FAILED: is not recorded"
    change = now - recorded
    if not change:
        return True, ""
    words = f"{abs(change)} {'more' if change > 0 else 'fewer'} than recorded"
    if abs(change) <= max(ALLOWANCE, TOLERANCE * recorded):
        return True, f"{words}, which is allowed"
    return False, f"FAILED: {words}" + ("" if change > 0 else "; renew the record, so that the gain is kept")


def compare(expected, counts):
    failures = 0
    print(f"{'instructions per call':24}{'recorded':>10}{'now':>10}")
    for name in sorted(expected.keys() | counts.keys()):
        passes, words = judge(expected.get(name), counts.get(name))
        failures += not passes
        print(f"{name:24}{expected.get(name, '-'):>10}{counts.get(name, '-'):>10}  {words}".rstrip())
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write EXPECTED")
    parser.add_argument("--inside", action="append", required=True, metavar="PATTERN")
    parser.add_argument("--outside", action="append", default=[], metavar="PATTERN")
    parser.add_argument("expected", type=pathlib.Path)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    counts = measure(arguments.command, arguments.inside, arguments.outside)
    if arguments.record:
        write(arguments.expected, counts)
        return 0
    failures = compare(read(arguments.expected), counts)
    if failures:
        print(f"\n{failures} of the counts are not what {arguments.expected.name} says. If that is meant, record them "
              "and say why in the commit: cmake --build --preset default --target record-instructions")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
