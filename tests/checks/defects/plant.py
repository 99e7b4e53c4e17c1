#!/usr/bin/env python3
"""Plants defects into a copy of the project, one at a time, and sees whether the suites for reliability notice.

    plant.py [--only WORDS] [--folder FOLDER]
    plant.py --check

defects.toml has the defects: a file, a text that occurs in it once, the text that replaces it, and the tests that must
fail then, each of them. --only takes the defects whose name contains the words. The copy and its build are in FOLDER
(build/defects), which is kept, so that a second run is faster. Ends with 1 if a test does not notice its defect.
--check looks only whether each text occurs once.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
SECONDS = 300  # for one test
PROGRAMS = {"fault": "fault", "sweep": "sweep", "random_programs": "random_programs", "process": "process unload copies"}


def stripped(text):
    """Texts of several lines begin behind the quotes."""
    return text.removeprefix("\n")


def occurrences(folder, defect):
    path = folder / defect["file"]
    return path.read_text(encoding="utf-8").count(stripped(defect["find"])) if path.exists() else 0


def check(defects):
    bad = [defect for defect in defects if occurrences(ROOT, defect) != 1]
    for defect in bad:
        print(f"{defect['name']}: {occurrences(ROOT, defect)} times in {defect['file']}")
    return len(bad)


def targets(tests):
    names = {word for test in tests for word in PROGRAMS[re.match(r"[a-z_]+", test).group()].split()}
    return sorted(names | {"bufferinterface", "bi_opencl_layer", "cuda_sim"})


def copy_tree(folder):
    """The files that git knows, if they differ. Files that are gone are removed."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = {name for name in done.stdout.split("\n") if name and (ROOT / name).is_file()}
    for name in names:
        to = folder / name
        if not to.exists() or to.read_bytes() != (ROOT / name).read_bytes():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to)
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        name = path.relative_to(folder)
        if name.parts[0] != "build" and str(name) not in names:
            path.unlink()


def run(command, folder):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def build(folder, tests):
    """Returns what the compiler said, or an empty text."""
    if not (folder / "build/default/CMakeCache.txt").exists():
        done = run(["cmake", "--preset", "default", "-DBI_LTO=OFF", "-DBI_BENCH=OFF", "-DBI_WERROR=OFF"], folder)
        if done.returncode:
            return done.stdout + done.stderr
    done = run(["cmake", "--build", "--preset", "default", "-j2", "--target", *targets(tests)], folder)
    return (done.stdout + done.stderr)[-2000:] if done.returncode else ""


def fails(folder, test):
    command = ["ctest", "--preset", "default", "--timeout", str(SECONDS), "-R", f"^{re.escape(test)}$"]
    done = run(command, folder)
    if "No tests were found" in done.stdout + done.stderr:
        sys.exit(f"there is no test {test}")
    return done.returncode != 0


def try_one(folder, defect):
    """Returns the tests that did not notice, or what the compiler said."""
    path = folder / defect["file"]
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace(stripped(defect["find"]), stripped(defect["replace"])), encoding="utf-8")
    try:
        error = build(folder, defect["tests"])
        return [error] if error else [test for test in defect["tests"] if not fails(folder, test)]
    finally:
        path.write_text(before, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="words in the name")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/defects")
    parser.add_argument("--check", action="store_true", help="build nothing")
    arguments = parser.parse_args()
    with open(HERE / "defects.toml", "rb") as file:
        defects = tomllib.load(file)["defect"]
    if check(defects):
        return 1
    if arguments.check:
        return 0
    chosen = [defect for defect in defects if arguments.only in defect["name"]]
    tests = sorted({test for defect in chosen for test in defect["tests"]})
    copy_tree(arguments.folder)
    error = build(arguments.folder, tests)
    wrong = [] if error else [test for test in tests if fails(arguments.folder, test)]
    if error or wrong or not chosen:
        sys.exit(f"without a defect: {error}{' '.join(wrong)}")
    survivors = 0
    for defect in chosen:
        start = time.monotonic()
        missed = try_one(arguments.folder, defect)
        survivors += bool(missed)
        sentence = "not noticed by " + " ".join(missed) if missed else "noticed by " + " ".join(defect["tests"])
        print(f"{defect['name']}: {sentence} ({time.monotonic() - start:.0f} s)", flush=True)
    print(f"{len(chosen)} defects, {survivors} not noticed by all of their tests")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
