#!/usr/bin/env python3
"""Compares what the kernels access, and how many instructions they have, with a list.

    model.py MODEL EXPECTED             compares; exits with 1 and prints the difference if a row is another one
    model.py MODEL EXPECTED --record    writes the list

The table of docs/kernels.md must have the shares of before.txt, the list of the former kernels that the script `before`
writes, and those of EXPECTED.

MODEL (model.c) computes the accesses. The instructions are those of the shipped machine code for compute capability 9.0,
read by nvdisasm (as scripts/fetch-cuda gets it, or in PATH). Where it is missing, all other columns are compared.

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
    folders = [str(ROOT / "build/cuda-toolkit/bin"), os.environ.get("PATH", os.defpath)]
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


def follow(lines, is_one_run):
    """
    The instructions of a thread that meets no edge: those outside of loops, and those of each loop, in the order of
    their ends. Edges are the only code that reads or writes units of a tile instead of words. Where the code forks
    without an access, the longer branch is for runs that follow each other.
    """
    labels, code = {}, []
    for line in lines:
        if line.startswith(".L"):
            labels[line.rstrip(":")] = len(code)
        else:
            code.append(line)

    def target(i):
        found = re.search(r"\bBRA.*?`\((\.L_x_\d+)\)", code[i])
        return labels[found.group(1)] if found else None

    def is_edge(first, last):
        accesses = [line for line in code[first:last] if re.search(r"\b(LDG|STG)\b", line)]
        return accesses and not any(".128" in line for line in accesses)

    def is_skipped(i, to):
        """Whether the branch at i is taken: over an edge, or to the branch of a fork that is_one_run selects."""
        if is_edge(i + 1, to):
            return True
        end = target(to - 1) if not code[to - 1].startswith("@") else None
        if end is None or end <= to or re.search(r"\b(LDG|STG)\b", " ".join(code[i + 1:end])):
            return False
        return (end - to > to - i) == is_one_run

    tile, taken, loops, i = any(".128" in line for line in code), [], [], 0
    while not re.match(r"EXIT", code[i]):
        taken.append(i)
        to = target(i)
        if to is not None and to <= i:
            inside = [at for at in taken if at >= to]
            loops.append(len(inside))
            taken = [at for at in taken if at < to]
            if not code[i].startswith("@"):
                break
        elif to is not None and (not code[i].startswith("@") or (tile and is_skipped(i, to))):
            i = to - 1
        i += 1
    return len(taken), loops


def follow_units(kernel, lines):
    """
    The code that writes a tile in units: the instructions of the loop over runs without those of the loop inside of it,
    and those of the inner loop for a unit. The inner loop is the only one that has several stores and nothing else to do with the arrays.
    """
    labels, code = {}, []
    for line in lines:
        if line.startswith(".L"):
            labels[line.rstrip(":")] = len(code)
        else:
            code.append(line)
    ends = [(i, labels[found.group(1)]) for i, line in enumerate(code)
            if (found := re.search(r"\bBRA.*?`\((\.L_x_\d+)\)", line)) and labels[found.group(1)] < i]
    for end, start in ends:
        stores = ["STG" in line and (".128" in line) == (kernel == "tile_16") for line in code[start:end]]
        others = [line for line, store in zip(code[start:end], stores) if not store and re.search("STG|LDG", line)]
        if sum(stores) > 1 and not others:
            outer_end, outer_start = min((e, s) for e, s in ends if s < start and e > end)
            return outer_end - outer_start - (end - start), (end - start + 1) / sum(stores)
    sys.exit("a tile kernel has no loop over units; model.py counts another one")


def instructions_of(kernel, axes, words, is_one_run, units, kernels):
    """
    Strided kernels have a loop over the axes that need a division. Tile kernels have a loop over all axes, a loop over
    the words that a thread writes, and around it a loop over runs, of which there is one round. If `units` is not 0,
    `words` are units instead.
    """
    straight, loops = follow(kernels[kernel], is_one_run)
    if len(loops) != (3 if kernel.startswith("tile") else 1):
        sys.exit(f"{kernel} has {len(loops)} loops; model.py counts other ones")
    if units:
        each_run, each_unit = follow_units(kernel, kernels[kernel])
        return straight + axes * loops[0] + words / units * each_run + words * each_unit
    if kernel.startswith("tile"):
        return straight + axes * loops[0] + words * loops[1] + loops[2]
    return straight + max(axes - 1, 0) * loops[0]


def make_rows(model, kernels):
    rows = [HEAD]
    for line in subprocess.run([model], check=True, capture_output=True, text=True).stdout.splitlines():
        name, kernel, axes, *figures = line[:25], *line[26:].split()
        loads, stores, waves = float(figures[1]), float(figures[3]), float(figures[4])
        share = min(1, 2 / (loads + stores), WAVES / waves)
        row = line.rsplit(maxsplit=4)[0]
        if kernels:
            warps, words, is_one_run = float(figures[6]), float(figures[7]), figures[8] == "1"
            instructions = warps * instructions_of(kernel, int(axes), words, is_one_run, int(figures[9]), kernels)
            row += f" {instructions:6.0f} {min(share, INSTRUCTIONS / instructions):5.2f}"
        rows.append(row.rstrip())
    return rows


def read_shares(path):
    """The last column by layout and bytes of an item."""
    rows = [line for line in path.read_text().splitlines() if line != HEAD]
    return {(row[:22].rstrip(), int(row[22:25])): row.split()[-1].removeprefix("0") for row in rows}


def rows_missing_in(page, before, now):
    """The rows that the table of the page lacks."""
    lines = page.read_text(encoding="utf-8").replace("`", "").replace(" channels", "").splitlines()
    rows = {}
    for name, item in now:
        rows.setdefault(name, []).append(f"{before[name, item]} → {now[name, item]}")
    return [row for name, cells in rows.items() if (row := f"| {' | '.join([name, *cells])} |") not in lines]


def main():
    model, expected = sys.argv[1], Path(sys.argv[2])
    nvdisasm = find_nvdisasm()
    rows = make_rows(model, read_kernels(model, nvdisasm) if nvdisasm else None)
    if "--record" in sys.argv:
        if not nvdisasm:
            sys.exit("nvdisasm was not found, so instructions cannot be recorded (scripts/fetch-cuda)")
        expected.write_text("\n".join(rows) + "\n")
        return 0
    missing = rows_missing_in(ROOT / "docs/kernels.md", read_shares(expected.with_name("before.txt")), read_shares(expected))
    if missing:
        print("The table of docs/kernels.md has other rows than these:", *missing, sep="\n")
    recorded = expected.read_text().splitlines()
    if not nvdisasm:
        print("nvdisasm was not found: the columns 'instructions' and 'share' are not compared")
        recorded = [HEAD] + [row.rsplit(maxsplit=2)[0] for row in recorded[1:]]
    difference = list(difflib.unified_diff(recorded, rows, "expected.txt", "now", lineterm="", n=0))
    print("\n".join(difference) or f"{len(rows) - 1} rows are as recorded")
    if difference:
        print("If this is intended: cmake --build --preset default --target record-kernels, and the reason in the commit")
    return 1 if difference or missing else 0


if __name__ == "__main__":
    sys.exit(main())
