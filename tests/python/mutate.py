"""Breaks the library in one line for each rule, and sees whether a test of that rule notices.

    mutate.py [--output TABLE.md] [--only RULE,RULE...] [--keep FOLDER]
    mutate.py --check

mutations.toml has the mutations: a file, a text that occurs in it once, what stands there instead, and the rules
whose tests must turn red. The tree is copied, so nothing here is changed. The extension is built without optimisation,
object by object, in the copy; a mutation costs one compilation, one link, and the tests whose names bear the rule.
Ends with 1 if a mutation survives, does not apply or does not compile, or if a rule has none. --check looks only
whether each text occurs once, docs/mutations.md has a row for it, and every rule has a mutation.

Environment: CC, and what the tests want (BI_TEST_CUDA_SIM, see conftest.py).
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib

from conformance import load_rules

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
COPIED = ["include", "src", "python", "tests/python", "examples/independent", "examples/python_extension", "docs"]
FLAGS = ["-std=c11", "-O0", "-g0", "-w", "-fPIC", "-fvisibility=hidden", "-D_POSIX_C_SOURCE=200809L"]
SECONDS = 120  # for the tests of one mutation


class Tree:
    """A copy of the project in which the extension is built."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.objects = self.folder / "objects"
        self.package = self.folder / "package/buffer_interface"
        self.output = ""  # of the tests, the last time
        for name in COPIED:
            if (ROOT / name).exists():
                shutil.copytree(ROOT / name, self.folder / name, dirs_exist_ok=True)
        self.objects.mkdir(exist_ok=True)
        shutil.copytree(self.folder / "python/buffer_interface", self.package, dirs_exist_ok=True)

    def sources(self):
        return sorted(self.folder.glob("src/*/*.c")) + sorted(self.folder.glob("src/*/*/*.c")) + sorted(self.folder.glob("python/src/**/*.c"))

    def object_of(self, source):
        return self.objects / (str(source.relative_to(self.folder)).replace("/", "_") + ".o")

    def compile(self, source):
        command = [os.environ.get("CC", "cc"), *FLAGS, "-I", self.folder / "include", "-I", self.folder / "src", "-I", self.folder / "python/src"]
        command += ["-isystem", sysconfig.get_path("include"), "-c", source, "-o", self.object_of(source)]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stderr if done.returncode else ""

    def build_all(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            errors = [error for error in pool.map(self.compile, self.sources()) if error]
        return "\n".join(errors) or self.link()

    def link(self):
        out = self.package / ("_core" + sysconfig.get_config_var("EXT_SUFFIX"))
        command = [os.environ.get("CC", "cc"), "-shared", "-o", out]
        command += [*map(self.object_of, self.sources()), "-pthread", "-ldl"]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stderr if done.returncode else ""

    def rebuild(self, name):
        """After a change of one file. A header changes everything; a file of Python is copied."""
        path = self.folder / name
        if path.suffix == ".c":
            return self.compile(path) or self.link()
        if path.suffix == ".py":
            shutil.copy(path, self.package / path.name)
            return ""
        return self.rebuild_for_header(path)

    def rebuild_for_header(self, path):
        """Only the sources that include the header, if no other header does."""
        line = re.compile(rf'#include [<"][^<"]*\b{re.escape(path.name)}[>"]')
        if any(line.search(header.read_text(encoding="utf-8")) for header in self.folder.rglob("*.h")):
            return self.build_all()
        users = [source for source in self.sources() if line.search(source.read_text(encoding="utf-8"))]
        return "\n".join(filter(None, map(self.compile, users))) or self.link()

    def files_of(self, rules):
        """Only these are read: to import all of them costs more than to run the tests of a rule."""
        files = sorted((self.folder / "tests/python").glob("test_*.py"))
        return [file.name for file in files if any(f"_{rule}_" in file.read_text(encoding="utf-8") for rule in rules)]

    def test(self, rules, extra=()):
        """Runs the tests of some rules. Returns (state, name of the first that failed, how many failed)."""
        environment = dict(os.environ, PYTHONPATH=str(self.package.parent), PYTHONDONTWRITEBYTECODE="1")
        environment.setdefault("BI_TEST_CUDA_SIM", str(ROOT / "build/default/tests/simulators/cuda_sim/libcuda.so.1"))
        files = self.files_of(rules)
        if not files:
            return "no tests", "", 0
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", "-rfE", *extra, *files]
        command += ["-k", " or ".join(f"_{rule}_" for rule in rules)]
        try:
            done = subprocess.run(
                command,
                cwd=self.folder / "tests/python",
                env=environment,
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return "timeout", "", 0
        self.output = done.stdout + done.stderr
        failed = re.findall(r"^(?:FAILED|ERROR) \S+::(\w+)", done.stdout, re.MULTILINE)
        if done.returncode < 0:
            return f"signal {-done.returncode}", "", 0
        if done.returncode == 5:
            return "no tests", "", 0
        return ("failed" if done.returncode else "passed"), (failed or ["?"])[0], len(failed)


def apply(tree, mutation):
    """Returns what stood there, or None: the text does not occur exactly once."""
    path = tree.folder / mutation["file"]
    before = path.read_text(encoding="utf-8")
    if before.count(mutation["find"]) != 1:
        return None
    path.write_text(before.replace(mutation["find"], mutation["replace"]), encoding="utf-8")
    return before


def restore(tree, mutation, before):
    (tree.folder / mutation["file"]).write_text(before, encoding="utf-8")
    tree.rebuild(mutation["file"])


def try_one(tree, mutation):
    """Returns (killed, sentence)."""
    before = apply(tree, mutation)
    if before is None:
        return False, "does not apply: the text does not occur exactly once"
    try:
        error = tree.rebuild(mutation["file"])
        if error:
            return False, "does not compile: " + error.splitlines()[0]
        state, first, count = tree.test(mutation["rules"], ["-x"])
    finally:
        restore(tree, mutation, before)
    if state in ("passed", "no tests"):
        return False, "SURVIVED" if state == "passed" else "no tests"
    return True, f"`{first}`" if state == "failed" else state


def short(text):
    return " ".join(text.split()).replace("|", "\\|")


def describe(mutation):
    """Returns the row of a mutation in the table, without the test that noticed it."""
    rules, find, replace = " ".join(mutation["rules"]), short(mutation["find"]), short(mutation["replace"])
    return f"| {rules} | `{mutation['file']}` | `{find}` | `{replace}`"


def write_table(rows, out):
    print("# Mutations\n", file=out)
    print(
        "`tests/python/mutate.py` makes this page. For every rule of [conformance.md](conformance.md) it breaks one line of the\n"
        "library and lists a test of that rule that fails then.\n",
        file=out,
    )
    print("| rules | file | line | replaced by | noticed by |\n|---|---|---|---|---|", file=out)
    for mutation, sentence in rows:
        print(f"{describe(mutation)} | {sentence} |", file=out)


def run(tree, mutations):
    rows, survivors = [], 0
    for mutation in mutations:
        start = time.monotonic()
        killed, sentence = try_one(tree, mutation)
        survivors += not killed
        rows.append((mutation, sentence))
        mark = "killed" if killed else "******"
        seconds = time.monotonic() - start
        print(f"{mark} {' '.join(mutation['rules']):8} {mutation['file']:36} {sentence} ({seconds:.1f} s)", flush=True)
    return rows, survivors


def check(mutations):
    bad = 0
    page = (ROOT / "docs/mutations.md").read_text(encoding="utf-8")
    for mutation in mutations:
        path = ROOT / mutation["file"]
        count = path.read_text(encoding="utf-8").count(mutation["find"]) if path.exists() else 0
        if count != 1:
            bad += 1
            print(f"{' '.join(mutation['rules'])}: {count} times in {mutation['file']}: {short(mutation['find'])}")
        if describe(mutation) not in page:
            bad += 1
            print(f"{' '.join(mutation['rules'])}: docs/mutations.md quotes other lines; run mutate.py for this rule")
    return bad


def without_mutation(mutations):
    return sorted(set(load_rules()[0]) - {rule for mutation in mutations for rule in mutation["rules"]})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--only", default="", help="rules, separated by commas")
    parser.add_argument("--keep", help="folder for the copy, which stays there")
    parser.add_argument("--check", action="store_true", help="build nothing")
    arguments = parser.parse_args()
    with open(HERE / "mutations.toml", "rb") as file:
        mutations = tomllib.load(file)["mutation"]
    without = without_mutation(mutations)
    if arguments.check:
        return 1 if check(mutations) or without else 0
    wanted = set(filter(None, arguments.only.split(",")))
    chosen = [mutation for mutation in mutations if not wanted or wanted & set(mutation["rules"])]
    with tempfile.TemporaryDirectory() as temporary:
        tree = Tree(arguments.keep or temporary)
        error = tree.build_all()
        if error:
            sys.exit("the tree does not build:\n" + error)
        state, first, count = tree.test(sorted({rule for mutation in chosen for rule in mutation["rules"]}))
        if state != "passed":
            sys.exit(f"{tree.output}\nwithout any mutation: {state}, {count} tests, first {first}")
        rows, survivors = run(tree, chosen)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as out:
            write_table(rows, out)
    print(f"{len(rows)} mutations, {survivors} not noticed; rules without one: {' '.join(without) or 'none'}")
    return 1 if survivors or (without and not wanted) else 0


if __name__ == "__main__":
    sys.exit(main())
