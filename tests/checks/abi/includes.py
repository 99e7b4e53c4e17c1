#!/usr/bin/env python3
"""Who may include and call whom. Prints each line that breaks a rule.

    includes.py SOURCE_DIR            the rules hold
    includes.py --break SOURCE_DIR    each rule is noticed when a copy of the sources breaks it
"""

import functools
import re
import shutil
import sys
import tempfile
from pathlib import Path

NOT_BACKENDS = {"common", "interop", "kernels"}

# The rooms that each room of src/ may include besides itself and the public headers; src/NAME is a room, and so is
# src/common/NAME. BACKEND stands for the folder of any backend.
BASE = {"common/base"}
LAYOUT = BASE | {"common/layout"}
PLAN = LAYOUT | {"common/plan"}
TABLE = PLAN | {"common/backend"}
RUNTIME = TABLE | {"common/runtime"}
VIEW = RUNTIME | {"common/view"}
ALLOWED = {
    "common/base": set(),
    "common/layout": BASE,
    "common/plan": LAYOUT,
    "common/engine": PLAN,
    "common/backend": PLAN,
    "common/runtime": TABLE,
    "common/view": RUNTIME,
    "common/copy": VIEW,
    "common/launch": VIEW,
    "interop": VIEW,
    "kernels": PLAN,
    "BACKEND": TABLE | {"common/engine", "kernels"},
}

# The floors of the extension: those that each may include besides its own. A file of python/src/NAME is on the floor
# NAME, the files that complete the type and the module are the roof, all others the ground.
ROOF = {"type", "properties", "module"}
FLOORS = {
    "base": set(),
    "ground": {"base"},
    "import": {"base", "ground"},
    "export": {"base", "ground"},
    "operations": {"base", "ground", "import", "export"},
    "roof": {"base", "ground", "import", "export", "operations"},
}

COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def without(text, strings):
    """The text without comments, and without the contents of strings if asked; every line keeps its number."""
    def blank(match):
        token = match.group(0)
        if token[0] in "\"'":
            return '""' if strings else token
        return " " + "\n" * token.count("\n")
    return COMMENT_OR_STRING.sub(blank, text)


@functools.lru_cache(maxsize=None)
def found_in(text, pattern, strings):
    """(number, line, match) of each match; of one text only once, because --break reads most files again unchanged."""
    lines = text.splitlines()
    return [(number, lines[number - 1], match)
            for number, line in enumerate(without(text, strings).splitlines(), 1) for match in pattern.finditer(line)]


def is_public(name):
    return name == "buffer_interface.h" or name.startswith("buffer_interface/")


def room_of(name):
    """The room of a path below src/."""
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] == "common" else parts[0]


def floor_of(name):
    """The floor of a path below python/src/. Every file includes extension.h, the conventions."""
    folder, _, file = name.rpartition("/")
    if name == "extension.h":
        return "base"
    return folder or ("roof" if Path(file).stem in ROOF else "ground")


def allowed_rooms(room):
    return ALLOWED[room if room.startswith("common/") or room in NOT_BACKENDS else "BACKEND"] | {room}


class Checker:
    def __init__(self, root):
        self.root = root
        self.found = []
        self.folders = {p.name for p in (root / "src").iterdir() if p.is_dir()}
        self.backends = self.folders - NOT_BACKENDS

    def report(self, path, number, line, rule):
        self.found.append(f"{path.relative_to(self.root)}:{number}: {rule}: {line.strip()}")

    def sources(self, *folders):
        for folder in folders:
            for path in sorted((self.root / folder).rglob("*")):
                if path.is_file() and path.suffix in {".c", ".h", ".cl"}:
                    yield path

    def includes(self, path):
        for number, line, match in found_in(path.read_text(), INCLUDE, False):
            yield number, line, match.group(1) == '"', match.group(2)

    def matches(self, path, pattern):
        return found_in(path.read_text(), re.compile(pattern), True)

    def outside(self):
        """
        tools/, examples/ and python/ include the public headers, the system's, and their own: tools/ and examples/ by
        the name of the file beside, python/ by the path below python/src. The programs of examples/independent call
        OpenCL themselves.
        """
        for path in self.sources("tools", "examples", "python"):
            is_extension = self.root / "python/src" in path.parents
            base = self.root / "python/src" if is_extension else path.parent
            for number, line, quoted, name in self.includes(path):
                beside = quoted and (is_extension or "/" not in name) and ".." not in name and (base / name).is_file()
                inside = (self.root / "src" / name).is_file() or name.split("/")[0] in self.folders
                is_opencl = name.startswith("CL/") and path.parent != self.root / "examples/independent"
                if inside or is_opencl or (quoted and not beside and not is_public(name)):
                    self.report(path, number, line, "only public headers may be included here")

    def floors(self):
        """A file of the extension includes its own floor and those below it (FLOORS)."""
        base = self.root / "python/src"
        for path in self.sources("python/src"):
            floor = floor_of(str(path.relative_to(base)))
            if floor not in FLOORS:
                self.report(path, 1, floor, "a floor has to be in FLOORS")
                continue
            for number, line, quoted, name in self.includes(path):
                if quoted and (base / name).is_file() and floor_of(name) not in FLOORS[floor] | {floor}:
                    self.report(path, number, line, f"the {floor} of the extension may not include this")

    def headers(self):
        """Public headers include each other and the fixed-size types; those of a vendor, and of CPython, only in their own."""
        for path in self.sources("include"):
            for number, line, quoted, name in self.includes(path):
                vendor = path.stem in self.backends | {"python"} and not quoted
                beside = "/" not in name and (path.parent / name).is_file()
                if not (is_public(name) or beside if quoted else vendor or name in {"stddef.h", "stdint.h"}):
                    self.report(path, number, line, "a public header needs <stddef.h> and <stdint.h> only")

    def layers(self):
        """A room includes what is below it (ALLOWED), and nothing else."""
        for folder in sorted(self.folders):
            for path in self.sources(f"src/{folder}"):
                room = room_of(str(path.relative_to(self.root / "src")))
                if room.startswith("common/") and room not in ALLOWED:
                    self.report(path, 1, room, "a room has to be in ALLOWED")
                    continue
                for number, line, quoted, name in self.includes(path):
                    if quoted:
                        beside = "/" not in name and (path.parent / name).is_file()
                        fits = beside or is_public(name) or (
                            "/" in name and ".." not in name and room_of(name) in allowed_rooms(room))
                    else:
                        fits = name.split("/")[0] not in self.folders and (folder == "opencl" or not name.startswith("CL/"))
                    if not fits:
                        self.report(path, number, line, f"src/{room} may not include this")

    def names(self):
        """registry.c alone names backends; dl.c alone opens libraries; dispatch.c alone calls through the table."""
        for path in self.sources("src"):
            folder, name = path.relative_to(self.root / "src").parts[0], path.name
            for number, line, match in self.matches(path, r"\bbi__(\w+?)_backend\b"):
                if match.group(1) in self.backends and folder != match.group(1) and \
                        (folder, name) != ("common", "registry.c"):
                    self.report(path, number, line, "only registry.c names backends")
            if (folder, name) != ("common", "dl.c"):
                for number, line, _ in self.matches(path, r"\b(dlopen|dlmopen)\b"):
                    self.report(path, number, line, "only dl.c opens libraries")
            if (folder, name) != ("common", "dispatch.c"):
                for number, line, _ in self.matches(path, r"\bbackend(?:\s*(?:->|\.)\s*\w+)+\s*\)?\s*\("):
                    self.report(path, number, line, "only dispatch.c calls through the table")
            if folder not in {"opencl", "kernels"}:
                for number, line, _ in self.matches(path, r"\b(cl_[a-z]\w*|CL_[A-Z]\w*|cl[A-Z][a-z]\w*)\b"):
                    self.report(path, number, line, "OpenCL's names stay in src/opencl")
            if folder != "cuda":
                for number, line, _ in self.matches(path, r"\b(bi__cu_\w+|CU[a-z]\w*|CUDA_[A-Z]\w*|cu[A-Z][a-z]\w*)\b"):
                    self.report(path, number, line, "CUDA's names stay in src/cuda")
        for path in self.sources("tools", "examples", "python"):
            if path.name == "check_child.c":  # opens the library that it checks
                continue
            for number, line, _ in self.matches(path, r"\b(dlopen|dlmopen)\b"):
                self.report(path, number, line, "only dl.c opens libraries")

    def run(self):
        self.outside()
        self.floors()
        self.headers()
        self.layers()
        self.names()
        return self.found


# A file of a copy of the sources, and a line that must not be in it.
BREAKS = [
    ("tools/bi/main.c", '#include "common/base/status.h"'),
    ("tools/bi/main.c", '#include "../../src/common/status.h"'),
    ("tools/bi/main.c", "#include <common/base/status.h>"),
    ("tools/bi/main.c", "#include <CL/cl.h>"),
    ("tools/bi/main.c", "void *f(void) { return dlopen(0, 1); }"),
    ("examples/choose_device.c", '#include "common/base/status.h"'),
    ("python/src/module.c", '#include "common/base/status.h"'),
    ("python/src/import/cai.c", '#include "values.h"'),
    ("python/src/import/cai.c", '#include "../lifetime.h"'),
    ("python/src/base/errors.c", '#include "object.h"'),
    ("python/src/base/dtype.h", '#include "import/import.h"'),
    ("python/src/object.c", '#include "import/import.h"'),
    ("python/src/object.c", '#include "export/export.h"'),
    ("python/src/object.c", '#include "operations/operations.h"'),
    ("python/src/object.h", '#include "type.h"'),
    ("python/src/import/cai.c", '#include "export/export.h"'),
    ("python/src/import/values.h", '#include "operations/operations.h"'),
    ("python/src/export/cai.c", '#include "import/import.h"'),
    ("python/src/export/cai.c", '#include "operations/operations.h"'),
    ("python/src/export/cai.c", '#include "type.h"'),
    ("python/src/operations/copies.c", '#include "properties.h"'),
    ("include/buffer_interface.h", "#include <stdio.h>"),
    ("include/buffer_interface/abi.h", "#include <CL/cl.h>"),
    ("include/buffer_interface/abi.h", "#include <Python.h>"),
    ("include/buffer_interface/abi.h", '#include "status.h"'),
    ("src/common/base/status.c", '#include "host/host.h"'),
    ("src/common/base/status.c", '#include "opencl/api.h"'),
    ("src/common/base/status.c", '#include "interop/place.h"'),
    ("src/common/backend/registry.c", '#include "host/host.h"'),
    ("src/common/base/status.c", '#include "../host/host.h"'),
    ("src/common/plan/plan.h", '  #  include "opencl/api.h"'),
    ("src/host/host.c", '#include "opencl/api.h"'),
    ("src/host/host.c", '#include "interop/place.h"'),
    ("src/host/host.c", "#include <CL/cl.h>"),
    ("src/opencl/new.c", '#include "host/host.h"'),
    ("src/interop/new.c", '#include "opencl/api.h"'),
    ("src/kernels/new.h", '#include "opencl/api.h"'),
    ("src/opencl/new.c", '#include "cuda/api.h"'),
    ("src/common/base/status.c", '#include "common/layout/layout.h"'),
    ("src/common/layout/layout.c", '#include "common/plan/plan.h"'),
    ("src/common/plan/plan.c", '#include "common/engine/engine.h"'),
    ("src/common/engine/engine.c", '#include "common/backend/backend.h"'),
    ("src/common/engine/engine.c", '#include "common/runtime/object.h"'),
    ("src/common/backend/dispatch.c", '#include "common/engine/engine.h"'),
    ("src/common/backend/dispatch.c", '#include "common/runtime/object.h"'),
    ("src/common/runtime/stream.c", '#include "common/view/view.h"'),
    ("src/common/view/view.c", '#include "common/copy/job.h"'),
    ("src/common/copy/copy.c", '#include "interop/place.h"'),
    ("src/interop/new.c", '#include "common/copy/job.h"'),
    ("src/kernels/new.h", '#include "common/engine/engine.h"'),
    ("src/host/host.c", '#include "common/runtime/object.h"'),
    ("src/opencl/new.c", '#include "common/view/view.h"'),
    ("src/common/attic/new.c", "common/attic"),
    ("src/common/plan/plan.c", "extern const struct bi__backend bi__host_backend;"),
    ("src/opencl/new.c", "extern const struct bi__backend bi__host_backend;"),
    ("src/interop/new.c", "extern const struct bi__backend bi__opencl_backend;"),
    ("src/common/plan/plan.c", "void *f(void) { return dlopen(0, 1); }"),
    ("src/opencl/new.c", "void *f(void) { return dlopen(0, 1); }"),
    ("src/common/plan/plan.c", "void f(struct c *c) { c->backend->free(c, 0); }"),
    ("src/common/plan/plan.c", "void f(struct c *c) { (*c->backend->free)(c, 0); }"),
    ("src/common/plan/plan.c", "void f(struct c *c) { c->backend->memory.free(c, 0); }"),
    ("src/common/plan/plan.c", "void f(struct c *c) { (*c->backend->memory.free)(c, 0); }"),
    ("src/interop/new.c", "int f(struct c *c) { return c->device.backend->count (0); }"),
    ("src/common/plan/plan.c", "typedef cl_mem handle;"),
    ("src/host/host.c", "int f(void) { return CL_SUCCESS; }"),
    ("src/common/plan/plan.c", "int f(void) { return clFinish(0); }"),
    ("src/common/plan/plan.c", "typedef CUstream handle;"),
    ("src/host/host.c", "int f(void) { return CUDA_SUCCESS; }"),
    ("src/opencl/new.c", "int f(void) { return cuCtxSynchronize(); }"),
    ("src/common/plan/plan.c", "bi__cu_stream stream;"),
]


def is_noticed(copy, name, line, before):
    """Appends the line to the file, which may be new, and takes it away again."""
    path = copy / name
    text = path.read_text() if path.is_file() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text or ''}\n{line}\n")
    found = Checker(copy).run()
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    return len(found) > before and any(line.strip() in report for report in found)


def broken(root):
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        copy = Path(work)
        for folder in ("include", "src", "tools", "examples", "python"):
            if (root / folder).is_dir():
                shutil.copytree(root / folder, copy / folder, ignore=shutil.ignore_patterns("*.npy"))
        for folder in ("host", "opencl", "interop", "kernels"):
            (copy / "src" / folder).mkdir(exist_ok=True)
        before = len(Checker(copy).run())
        for name, line in BREAKS:
            if not is_noticed(copy, name, line, before):
                print(f"not noticed in {name}: {line}")
                failures += 1
    print(f"{len(BREAKS) - failures} of {len(BREAKS)} broken rules were noticed")
    return failures


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--break":
        return 1 if broken(Path(sys.argv[2]).resolve()) else 0
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    checker = Checker(Path(sys.argv[1]).resolve())
    if not any(checker.sources("src")) or not any(checker.sources("include")):
        print("no sources here")
        return 2
    found = checker.run()
    print("\n".join(found) or "the rules hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
