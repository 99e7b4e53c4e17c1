#!/usr/bin/env python3
"""Compares what the kernels access, and how many instructions they have, with a list.

    model.py MODEL EXPECTED             compares; exits with 1 and prints the difference if a row is another one
    model.py MODEL EXPECTED --record    writes the list

MODEL (model.c) computes the accesses. The instructions are those of the shipped machine code for compute capability 9.0,
read by nvdisasm (in PATH, or as scripts/fetch-cuda gets it). Where it is missing, all other columns are compared.

The last column is the share of a plain copy's speed that three limits leave. Each is derived from the published figures of
an H100 (132 processors with four schedulers, 1755 MHz, 3.35 TB/s of which a copy reaches nine tenths); none is measured:

    memory          the sectors that are read and written, beside one byte read and one written
    waves           at most WAVES for 512 bytes: a processor's load and store unit makes one a cycle
    instructions    at most INSTRUCTIONS for 512 bytes: four tenths of the cycles of a scheduler issue one
"""

import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
WAVES = 77
INSTRUCTIONS = 126
HEAD = "layout                 item kernel  axes loads/access loads stores/access stores waves pages instructions share"


def find_nvdisasm():
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    folders += ["/usr/local/cuda/bin", str(ROOT / "build/cuda-toolkit/bin")]
    return shutil.which("nvdisasm", path=os.pathsep.join(folders))


def read_kernels(model, nvdisasm):
    """For each kernel the lines of its machine code: labels, and instructions without their addresses."""
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder) / "code.cubin"
        code.write_bytes(subprocess.run([model, "--code", "9", "0"], check=True, capture_output=True).stdout)
        text = subprocess.run([nvdisasm, "-c", str(code)], check=True, capture_output=True, text=True).stdout
    kernels, lines = {}, []
    for line in text.splitlines():
        if found := re.match(r"\.text\.bi__(\w+):", line):
            lines = kernels[found.group(1)] = []
        elif found := re.match(r"(\.L_x_\d+):|\s+/\*\w{4}\*/\s+(.*?)\s*;", line):
            lines.append(found.group(0) if found.group(1) else found.group(2))
    return kernels


def count(lines):
    """The instructions outside of loops, and the pairs (depth, instructions) of the loops in the order of their starts."""
    labels, code = {}, []
    for line in lines:
        if line.startswith(".L"):
            labels[line.rstrip(":")] = len(code)
        else:
            code.append(line)
    jumps = [(i, labels[found.group(1)]) for i, line in enumerate(code)
             if (found := re.search(r"\bBRA(?:\.\w+)* .*?`\((\.L_x_\d+)\)", line))]
    end = next(i for i, to in jumps if to == i)
    ends = {}
    for i, to in jumps:
        if to < i < end:
            ends[to] = max(i, ends.get(to, i))
    loops = sorted(ends.items())
    inner = [min((last - first, n) for n, (first, last) in enumerate(loops) if first <= i <= last)[1]
             if any(first <= i <= last for first, last in loops) else None for i in range(end)]
    depth = [sum(a <= first and last <= b for a, b in loops) for first, last in loops]
    return inner.count(None), [(depth[n], inner.count(n)) for n in range(len(loops))]


def instructions_of(kernel, axes, kernels):
    """Instructions of a thread that does not meet an edge. The one loop is over the axes that need a division."""
    straight, loops = count(kernels[kernel])
    if len(loops) != 1:
        sys.exit(f"{kernel} has {len(loops)} loops, not one over the axes")
    return straight + loops[0][1] * (axes if kernel.startswith(("tile", "words")) else max(axes - 1, 0))


def make_rows(model, kernels):
    rows = [HEAD]
    for line in subprocess.run([model], check=True, capture_output=True, text=True).stdout.splitlines():
        name, kernel, axes, *figures = line[:25], *line[26:].split()
        loads, stores, waves = float(figures[1]), float(figures[3]), float(figures[4])
        share = min(1, 2 / (loads + stores), WAVES / waves)
        row = f"{line.rsplit(maxsplit=1)[0]}"
        if kernels:
            instructions = instructions_of(kernel, int(axes), kernels) * float(figures[6])
            row += f" {instructions:6.0f} {min(share, INSTRUCTIONS / instructions):5.2f}"
        rows.append(row.rstrip())
    return rows


def main():
    model, expected = sys.argv[1], Path(sys.argv[2])
    nvdisasm = find_nvdisasm()
    rows = make_rows(model, read_kernels(model, nvdisasm) if nvdisasm else None)
    if "--record" in sys.argv:
        if not nvdisasm:
            sys.exit("nvdisasm was not found, so instructions cannot be recorded (scripts/fetch-cuda)")
        expected.write_text("\n".join(rows) + "\n")
        return 0
    recorded = expected.read_text().splitlines()
    if not nvdisasm:
        print("nvdisasm was not found: the columns 'instructions' and 'share' are not compared")
        recorded = [HEAD] + [row.rsplit(maxsplit=2)[0] for row in recorded[1:]]
    difference = list(difflib.unified_diff(recorded, rows, "expected.txt", "now", lineterm="", n=0))
    print("\n".join(difference) or f"{len(rows) - 1} rows are as recorded")
    if difference:
        print("If this is intended: cmake --build --preset default --target record-kernels, and the reason in the commit")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
