#!/usr/bin/env python3
"""Each relative link of the documentation leads to a file, and to a heading of it. Each name bi_… or BI_… between
backquotes occurs in the sources. Each function of a table with a column of files occurs in one of the files. Each row of
docs/ordering.md that a page or a source cites is there.

    names.py SOURCE_DIR
"""

import re
import sys
from pathlib import Path

FOLDERS = ("bench", "cmake", "examples", "include", "python", "scripts", "src", "tests", "tools")
GONE = {"BI_WRAP_ROOM"}  # in the list of removed tricks
SUFFIXES = {"", ".c", ".h", ".inc", ".py", ".txt", ".cmake", ".toml"}


def headings(page):
    """The anchors that GitHub makes of the headings."""
    for heading in re.findall(r"^#+ (.*)", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S), re.M):
        yield re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")


def bad_links(page, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        if not re.match(r"https?:", target) and (
                not path.exists() or (anchor and path.suffix == ".md" and anchor not in headings(path))):
            yield f"link {target}"


def bad_citations(root, text):
    page = (root / "docs/ordering.md").read_text()
    rows = set(re.findall(r"^\| (\d+) \|", page, re.M) + re.findall(r"\*\*(\d+\.\d+)\*\*", page))
    text = re.sub(r"\s*\n\s*\*?\s*", " ", text)
    for cited in re.findall(r"ordering\.md\)?,? ((?:(?:,|and|to|rows?|\d+(?:\.\d+)?) ?)+)", text):
        for row in re.findall(r"\d+(?:\.\d+)?", cited):
            if row not in rows:
                yield f"docs/ordering.md has no row {row}"


def bad_functions(root, text):
    for row in re.findall(r"^\|.*\| `[\w/`;, .]+\.c`[^|]*\|$", text, re.M):
        cells = row.strip("| ").split(" | ")
        files = [path for name in re.findall(r"`([\w/]+\.[ch])`", cells[-1])
                 for folder in ("src/common", "src", "include", "") for path in [root / folder / name] if path.exists()]
        code = "".join(path.read_text() for path in files)
        for name in re.findall(r"`(bi\w+|\w+_\w+)`", cells[1] if len(cells) == 3 else ""):
            if not re.search(rf"\b{name}\b", code):
                yield f"{name} is in none of {cells[-1]}"


def main():
    root = Path(sys.argv[1])
    sources = [path for folder in FOLDERS for path in (root / folder).rglob("*") if path.is_file() and path.suffix in SUFFIXES]
    code = {path: path.read_text(errors="replace") for path in [root / "CMakeLists.txt", *sources]}
    known = {name for text in code.values() for name in re.findall(r"\bbi_\w+|\bBI_\w+", text)} | GONE
    pages = [page for folder in (".", "docs", "tests", "tests/gpu", "examples/*", "python") for page in root.glob(f"{folder}/*.md")]
    wrong = 0
    for path, text in code.items():
        for fault in bad_citations(root, text):
            print(f"{path.relative_to(root)}: {fault}")
            wrong += 1
    for page in sorted(pages):
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
        names = {name for quoted in re.findall(r"`([^`]+)`", text) for name in re.findall(r"\b(?:bi|BI)_\w*[a-zA-Z0-9]\b", quoted)}
        faults = [*bad_links(page, text), *bad_functions(root, text), *bad_citations(root, text)]
        if page.name != "NEWS.md":  # it has the names of earlier states too
            faults += [f"{name} is no name of the sources" for name in sorted(names)
                       if name not in known and not any(other.startswith(name + "_") for other in known)]
        for fault in faults:
            print(f"{page.relative_to(root)}: {fault}")
        wrong += len(faults)
    print(f"{len(pages)} pages, {wrong} faults")
    return 1 if wrong or len(pages) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
