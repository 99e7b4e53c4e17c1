#!/usr/bin/env python3
"""How often one transposed bi_copy crosses from one source file into another.

    crossings.py SOURCE_DIR [--device DEVICE] [--most N] [--show]

Compiles the library with -finstrument-functions, runs crossings.c and counts the calls whose callee lies in another file
than the caller. Functions of a header belong to the source file of the same name. --show prints the calls as a tree;
with --most it exits with 1 if there are more crossings than N, or if a file of WAY was not seen.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
WAY = {"common/copy/enqueue", "common/runtime/order", "common/backend/dispatch", "opencl/move"}  # of a copy on OpenCL


def build(root, work):
    sources = sorted(root.glob("src/*/*.c")) + sorted(root.glob("src/*/*/*.c"))
    library = work / "libcrossings.so"
    # addr2line names the wrong file for many inline functions with DWARF 5.
    flags = ["-std=c11", "-O0", "-g1", "-gdwarf-4", "-fPIC", "-fvisibility=hidden", f"-I{root}/include", f"-I{root}/src"]
    objects = []
    jobs = []
    for number, source in enumerate(sources):
        objects.append(work / f"{number}.o")
        jobs.append(subprocess.Popen(["cc", *flags, "-finstrument-functions", "-c", source, "-o", objects[-1]]))
        while len(jobs) == 2 or (jobs and number == len(sources) - 1):
            if jobs.pop(0).wait():
                sys.exit("the library does not compile")
    subprocess.run(["cc", "-shared", "-o", library, *objects, "-lpthread", "-ldl"], check=True)
    program = work / "crossings"
    subprocess.run(["cc", "-std=c11", f"-I{root}/include", HERE / "crossings.c", library, f"-Wl,-rpath,{work}", "-rdynamic", "-ldl",
                    "-o", program], check=True)
    return program, library


def module_of(root, place):
    path = Path(place.split(":")[0])
    try:
        path = path.relative_to(root / "src")
    except ValueError:
        pass
    return str(path.with_suffix(""))


def entered(root, program, library, device):
    """(depth, function, module) of each function, in the order in which they were entered."""
    lines = subprocess.run([program, device], check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
    depths = [int(line.split()[0]) for line in lines]
    told = subprocess.run(["addr2line", "-f", "-e", library, *[line.split()[1] for line in lines]],
                          check=True, capture_output=True, text=True).stdout.split("\n")
    return [(depth, told[2 * i], module_of(root, told[2 * i + 1])) for i, depth in enumerate(depths)]


def crossings(calls):
    stack, count = [], 0
    for depth, _, module in calls:
        del stack[depth:]
        count += bool(stack) and stack[-1] != module
        stack.append(module)
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source_dir", type=Path)
    parser.add_argument("--device", default="opencl")
    parser.add_argument("--most", type=int)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    root = options.source_dir.resolve()
    with tempfile.TemporaryDirectory() as folder:
        program, library = build(root, Path(folder))
        calls = entered(root, program, library, options.device)
    if options.show:
        for depth, function, module in calls:
            print(f"{'  ' * depth}{function}  ({module})")
    count, modules = crossings(calls), {module for _, _, module in calls}
    print(f"{count} crossings between {len(modules)} files, {len(calls)} calls")
    if options.most is not None and not WAY <= modules:
        sys.exit(f"no call of {', '.join(sorted(WAY - modules))} was seen")
    return options.most is not None and count > options.most


if __name__ == "__main__":
    sys.exit(main())
