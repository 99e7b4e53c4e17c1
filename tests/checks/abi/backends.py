#!/usr/bin/env python3
"""Where code lists backends. Prints each line outside of a backend that names one, or takes a number for one.

    backends.py SOURCE_DIR            nobody does, besides the files in TYPED
    backends.py --break SOURCE_DIR    each pattern is noticed when a copy of the sources has it

What differs between backends is a member of their table (src/common/backend/backend.h), and for callers of
struct bi_backend (bi_backend_at). A comparison with the name of one is a list that a new backend is not in.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path

from includes import NOT_BACKENDS, without

FOLDERS = ("src", "tools", "python/src")
NUMBER = r"BI_(?:HANDLE_C\w+|EXCHANGE_DEVICE_(?:CUDA|OPENCL)\w*|ORDER_(?:CUDA|OPENCL))"
COMPARED = re.compile(rf"(?:[=!]=|\bcase)\s*{NUMBER}|{NUMBER}\s*(?:[=!]=)")

# Files whose subject is the memory or the streams of one driver, and why.
TYPED = {
    "src/common/backend/registry.c": "the list",
    "src/interop/cai_import.c": "the CUDA Array Interface is about CUDA's memory",
    "src/interop/cai_export.c": "the CUDA Array Interface is about CUDA's memory",
    "python/src/base/backends.h": "which of abi.h's handles are addresses",
    "python/src/contexts.c": "devices by CUDA's ordinals, as Python's libraries name them",
    "python/src/handle.c": "pyopencl reads a cl_mem as int_ptr",
    "python/src/import/dlpack.c": "DLPack's list of devices",
    "python/src/export/dlpack.c": "DLPack's rules for streams, by its devices",
    "python/src/export/dlpack_table.c": "DLPack's list of devices",
    "python/src/import/draft.c": "the draft's rules for a cl_mem and for an address",
    "python/src/import/native.c": "a queue leads to the device of its cl_context",
    "python/src/import/pyopencl.c": "pyopencl's types",
    "tools/bi/check_pending.c": "work of OpenCL behind a gate",
    "python/src/host_memory.c": "pinned memory is host memory to consumers",
}


class Checker:
    def __init__(self, root):
        self.root = root
        backends = {p.name for p in (root / "src").iterdir() if p.is_dir()} - NOT_BACKENDS
        self.own = {f"src/{name}" for name in backends}
        names = "|".join(sorted(backends - {"host"}))
        # "host" is the name of host memory, in whatever context.
        self.named = re.compile(rf'"(?:{names})(?:"|:)')
        self.used = set()
        self.found = []

    def run(self):
        for folder in FOLDERS:
            for path in sorted((self.root / folder).rglob("*")):
                name = str(path.relative_to(self.root))
                if path.suffix in {".c", ".h"} and not any(name.startswith(own + "/") for own in self.own):
                    self.check(path, name)
        for name in sorted(set(TYPED) - self.used - {"src/common/backend/registry.c"}):
            self.found.append(f"{name}: is in TYPED, but names no backend")
        return self.found

    def check(self, path, name):
        lines = path.read_text().splitlines()
        for number, line in enumerate(without(path.read_text(), strings=False).splitlines(), 1):
            if not self.named.search(line) and not COMPARED.search(line):
                continue
            if name in TYPED:
                self.used.add(name)
            else:
                self.found.append(f"{name}:{number}: a list of backends: {lines[number - 1].strip()}")


BREAKS = [
    ("src/common/copy/route.c", 'int f(const char *s) { return strcmp(s, "opencl") == 0; }'),
    ("src/common/view/view.c", "int f(int kind) { return kind == BI_HANDLE_CUDA; }"),
    ("src/common/view/export.c", "int f(int kind) { return BI_ORDER_OPENCL != kind; }"),
    ("src/interop/place.c", "int f(int kind) { switch (kind) { case BI_EXCHANGE_DEVICE_OPENCL: return 1; } return 0; }"),
    ("src/kernels/launch.c", "int f(int kind) { return kind != BI_HANDLE_CL_MEM; }"),
    ("tools/bi/main.c", 'const char *f(void) { return "cuda:0"; }'),
    ("python/src/streams.c", 'int f(const char *s) { return strcmp(s, "cuda") == 0; }'),
    ("python/src/properties.c", "int f(int kind) { return kind == BI_EXCHANGE_DEVICE_CUDA_MANAGED; }"),
]


def broken(root):
    failures = 0
    for name, line in BREAKS:
        with tempfile.TemporaryDirectory() as work:
            copy = Path(work)
            for folder in FOLDERS:
                shutil.copytree(root / folder, copy / folder, ignore=shutil.ignore_patterns("generated"))
            with (copy / name).open("a") as file:
                file.write(f"\n{line}\n")
            if not any(line in found for found in Checker(copy).run()):
                print(f"not noticed in {name}: {line}")
                failures += 1
    print(f"{len(BREAKS) - failures} of {len(BREAKS)} lists were noticed")
    return failures


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--break":
        return 1 if broken(Path(sys.argv[2]).resolve()) else 0
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    found = Checker(Path(sys.argv[1]).resolve()).run()
    print("\n".join(found) or "nobody lists backends")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
