#!/usr/bin/env python3
"""The presets that scripts/test does not build are configured, and have what scripts/fuzz runs.

Each preset must be configured without an error and have the targets of its build preset. Each regular expression that
scripts/fuzz gives to the preset `long` must match a test.

    presets.py SOURCE_DIR FOLDER CLANG
"""
import json
import re
import subprocess
import sys
from pathlib import Path

PRESETS = ("debug", "quick", "fuzz", "long")


def run(*command, folder):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout}")
    return done.stdout


def configure(source, preset, build, clang):
    with_clang = [f"-DCMAKE_C_COMPILER={clang}"] if preset == "fuzz" else []
    run("cmake", "--preset", preset, "-B", build, *with_clang, folder=source)


def missing_targets(presets, preset, build):
    """Returns the targets of the build preset that the build does not have."""
    wanted = next(p for p in presets["buildPresets"] if p["name"] == preset).get("targets", [])
    present = set(re.findall(r"^\.\.\. (\S+)", run("cmake", "--build", build, "--target", "help", folder=build), re.M))
    return [target for target in wanted if target not in present]


def expressions_without_test(source, build):
    """Returns the regular expressions of scripts/fuzz that match no test of the build."""
    listed = json.loads(run("ctest", "--show-only=json-v1", folder=build))
    names = [test["name"] for test in listed["tests"]]
    expressions = re.findall(r"\blong '([^']+)'", (source / "scripts/fuzz").read_text())
    if not expressions:
        sys.exit("scripts/fuzz has no line with: long 'expression'")
    return [expression for expression in expressions if not any(re.search(expression, name) for name in names)]


def main():
    source, folder, clang = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    presets = json.loads((source / "CMakePresets.json").read_text())
    failed = []
    for preset in PRESETS:
        build = folder / preset
        configure(source, preset, build, clang)
        failed += [f"preset {preset} has no target {target}" for target in missing_targets(presets, preset, build)]
    failed += [f"no test of the preset long matches {expression}, which scripts/fuzz runs"
               for expression in expressions_without_test(source, folder / "long")]
    print("\n".join(failed) or f"presets: {', '.join(PRESETS)} are configured and have what scripts/fuzz runs")
    sys.exit(bool(failed))


main()
