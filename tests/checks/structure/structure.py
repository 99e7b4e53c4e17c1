#!/usr/bin/env python3
"""The structure of the library in figures, and the circles in it.

    structure.py SOURCE_DIR            prints the table; exits with 1 if a limit below is broken
    structure.py --break SOURCE_DIR    each limit is noticed when a copy of the sources breaks it
    structure.py --words SOURCE_DIR    every private word and its place

A module is a source file together with the header of its name. A circle is a set of modules that reach each other. The
includes are read as text; the calls are those that the linker sees, so the sources are compiled, without optimisation.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MOST_FILES = 30
MOST_MEMBERS = 25
MOST_PRIVATE_WORDS = 25

# The only circle that is allowed: objects of the runtime own each other (docs/architecture.md, "Rooms").
OWNERSHIP = "common/runtime/"

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)

# Words of our own that stand where the field has a word. A pattern, and why it is exact.
PRIVATE_WORDS = {
    "home (of a memory)": r"\bhomes?\b(?! stream| director| folder)",
    "tail": r"\btails?\b",
    "host wait": r"\bhost waits?\b",
    "shown, reveal": r"\b(is|was|were|are|be|been|never|ever) shown\b|\breveals?\b",
    "let go": r"\blet(s|ting)? go\b|\bgo of\b",
    "reap": r"\breap(s|ed|ing)?\b",
    "lent, lend": r"\b(lent|lends?|lending)\b",
    "kept (context)": r"\bkept context|\bcontext .{0,20}\bis kept\b",
    "room, lodged": r"\b(in|has|have|takes?|the) room\b|\blodged\b",
    "near": r"\bas near\b|\bnear (memory|pointer|address)",
    "at once": r"\bat once\b",
    "told, asked": r"\b(is|are|was|were) (told|asked)\b",
    "legs": r"\blegs?\b",
    "turned, stands still": r"\bturn(s|ed)\b|\bstands? still\b",
    "past the caches": r"\bpast the caches\b",
    "whoever": r"\bwhoever\b",
    "he, his": r"\b(he|his|him)\b",
}


def sources(root, *suffixes):
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in suffixes and "generated" not in path.parts:
            yield path


def module_of(path, root):
    return str(path.relative_to(root / "src").with_suffix(""))


def include_edges(root):
    edges = {}
    for path in sources(root, ".c", ".h"):
        module = module_of(path, root)
        edges.setdefault(module, set())
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.M):
            other = str(Path(name).with_suffix(""))
            if (root / "src" / name).is_file() and other != module:
                edges[module].add(other)
    return edges


def compiled(root, work, known, changed):
    """Each module with the symbols that its object defines and uses; `known` has those of modules not in `changed`."""
    jobs, found = [], dict(known)
    for number, path in enumerate(sources(root, ".c")):
        if known and module_of(path, root) not in changed:
            continue
        target = work / f"{number}.o"
        command = ["cc", "-std=c11", "-O0", "-w", f"-I{root}/include", f"-I{root}/src", "-c", path, "-o", target]
        jobs.append((module_of(path, root), target, subprocess.Popen(command, stderr=subprocess.PIPE)))
        if len(jobs) > 1:
            jobs[-2][2].wait()
    for module, target, job in jobs:
        errors = job.communicate()[1].decode()
        if job.returncode:
            sys.exit(f"src/{module}.c does not compile:\n{errors[:2000]}")
        defines, uses = set(), set()
        for line in subprocess.run(["nm", target], check=True, capture_output=True, text=True).stdout.splitlines():
            kind, name = line.split()[-2:]
            if kind == "U":
                uses.add(name)
            elif kind.isupper():
                defines.add(name)
        found[module] = (defines, uses)
    return found


def symbols(root, known=(), changed=()):
    with tempfile.TemporaryDirectory() as work:
        return compiled(root, Path(work), known, changed)


def call_edges(found):
    owner = {name: module for module, (defines, _) in found.items() for name in defines}
    return {module: {owner[name] for name in uses if name in owner} - {module}
            for module, (_, uses) in found.items()}


def circles(edges):
    """Tarjan's strongly connected components of more than one module."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            component = set(stack[stack.index(node):])
            del stack[stack.index(node):]
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return sorted(found, key=len, reverse=True)


def fullest_folder(root):
    counts = {}
    for top in ("src", "python/src"):
        for path in (root / top).rglob("*"):
            if path.is_file() and "generated" not in path.parts and path.suffix in {".c", ".h", ".inc", ".cu", ".cl"}:
                counts[path.parent] = counts.get(path.parent, 0) + 1
    folder = max(counts, key=counts.get)
    return counts[folder], str(folder.relative_to(root))


def members_of(body):
    """Members of a struct's body; a nested struct with a name is one of them."""
    depth, count = 0, 0
    for char in body:
        depth += {"{": 1, "}": -1}.get(char, 0)
        count += char == ";" and depth == 0
    return count


def structs(root):
    """(members, name) of each struct of the library, the nested ones too."""
    for path in sources(root, ".c", ".h"):
        text = COMMENT.sub(" ", path.read_text())
        for match in re.finditer(r"\bstruct\s*(\w*)\s*\{", text):
            depth, end = 1, match.end()
            while depth:
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            name = match.group(1) or "part " + re.match(r"\s*(\w*)", text[end:]).group(1)
            yield members_of(text[match.end():end - 1]), f"{name} ({module_of(path, root)})"


def prose(root):
    """(place, text) of the comments of the code and of the documents."""
    for top in ("src", "python/src", "include", "tools"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in {".c", ".h", ".inc", ".cu"} and "generated" not in path.parts:
                yield path.relative_to(root), " ".join(
                    re.sub(r"\s*\n\s*\*?\s*", " ", comment) for comment in COMMENT.findall(path.read_text()))
    made = {"performance.md", "mutations.md", "conformance-table.md", "gpu-results.md"}
    for path in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]:
        if path.name not in made:
            yield path.relative_to(root), " ".join(path.read_text().split())


def private_words(root):
    counts, places = {}, []
    for place, text in prose(root):
        for word, pattern in PRIVATE_WORDS.items():
            for match in re.finditer(pattern, text, re.I):
                counts[word] = counts.get(word, 0) + 1
                places.append(f"{place}: {word}: …{text[max(0, match.start() - 40):match.end() + 30]}…")
    return counts, places


def lines(root):
    return sum(len(path.read_text().splitlines()) for path in sources(root, ".c", ".h", ".inc", ".cu"))


def is_allowed(circle):
    return all(module.startswith(OWNERSHIP) for module in circle)


def examine(root, found):
    """The table as lines, and what breaks a limit. `found` are the symbols of the modules."""
    table, broken = [], []
    files, folder = fullest_folder(root)
    table.append(f"files in the fullest folder: {files} ({folder})")
    if files > MOST_FILES:
        broken.append(f"{folder} has {files} files, more than {MOST_FILES}")
    for what, edges in (("includes", include_edges(root)), ("calls", call_edges(found))):
        closed = circles(edges)
        table.append(f"circles of {what}: {len(closed)}")
        for circle in closed:
            table.append(f"    {len(circle)}: {' '.join(circle)}")
            if what == "includes" or not is_allowed(circle):
                broken.append(f"a circle of {what}: {' '.join(circle)}")
    members, name = max(structs(root))
    table.append(f"members of the largest struct: {members}, {name}")
    if members > MOST_MEMBERS:
        broken.append(f"struct {name} has {members} members, more than {MOST_MEMBERS}")
    header = (root / "include/buffer_interface.h").read_text()
    table.append(f"public functions in the main header: {len(re.findall(r'^BI_API', header, re.M))}")
    table.append(f"lines of src without generated files: {lines(root)}")
    counts, _ = private_words(root)
    table.append(f"private words: {sum(counts.values())}")
    if sum(counts.values()) > MOST_PRIVATE_WORDS:
        broken.append(f"{sum(counts.values())} private words, more than {MOST_PRIVATE_WORDS} (--words lists them)")
    table += [f"    {word}: {count}" for word, count in sorted(counts.items())]
    return table, broken


# A file of a copy of the sources, and lines that break a limit.
BREAKS = [
    ("src/common/base/dl.c", '#include "common/base/fork.h"\n', "src/common/base/fork.c",
     '#include "common/base/dl.h"\n'),
    ("src/common/base/dl.c", "int bi__test_b(void); int bi__test_a(void); int bi__test_a(void) { return bi__test_b(); }\n",
     "src/common/base/fork.c", "int bi__test_a(void); int bi__test_b(void); int bi__test_b(void) { return bi__test_a(); }\n"),
    ("src/common/base/clock.h", "struct bi__many { " + "".join(f"int a{i}; " for i in range(MOST_MEMBERS + 1)) + "};\n", None, None),
    ("src/common/base/dl.c", "/* " + "Whoever is told lets go at once. " * 10 + "*/\n", None, None),
]


def prove(root):
    missed, known = 0, symbols(root)
    before = examine(root, known)[1]
    for first, line, second, other in BREAKS:
        with tempfile.TemporaryDirectory() as work:
            copy = Path(work)
            for folder in ("src", "include", "python", "docs", "tools"):
                shutil.copytree(root / folder, copy / folder)
            for name in ("README.md", "CONTRIBUTING.md"):
                shutil.copy(root / name, copy)
            for name, text in ((first, line), (second, other)):
                if name:
                    with (copy / name).open("a") as file:
                        file.write(text)
            changed = {module_of(copy / name, copy) for name in (first, second) if name}
            if not set(examine(copy, symbols(copy, known, changed))[1]) - set(before):
                print(f"not noticed in {first}: {line}")
                missed += 1
    print(f"{len(BREAKS) - missed} of {len(BREAKS)} broken limits were noticed")
    return missed


def main():
    arguments = [word for word in sys.argv[1:] if not word.startswith("--")]
    if len(arguments) != 1:
        print(__doc__)
        return 2
    root = Path(arguments[0]).resolve()
    if "--break" in sys.argv:
        return 1 if prove(root) else 0
    if "--words" in sys.argv:
        print("\n".join(private_words(root)[1]))
        return 0
    table, broken = examine(root, symbols(root))
    print("\n".join(table + broken))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
