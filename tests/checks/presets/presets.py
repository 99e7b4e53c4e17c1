#!/usr/bin/env python3
"""Configures the presets that CI does not build.

Each must have the targets of its build preset. Each test that scripts/fuzz runs with the preset `long` must exist.

    presets.py SOURCE_DIR FOLDER CMAKE CLANG
"""
import json
import re
import subprocess
import sys
from pathlib import Path


def run(*command, folder):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout}")
    return done.stdout


def not_in_ci(source, presets):
    """Returns the presets that scripts/test does not build without an argument."""
    line = re.search(r"set -- ((?:[a-z-]+ )+[a-z-]+)", (source / "scripts/test").read_text())
    if not line:
        sys.exit("scripts/test has no line with: set -- preset ...")
    named = [preset["name"] for preset in presets["configurePresets"] if not preset.get("hidden")]
    return [name for name in named if name not in line[1].split()]


def configure(source, preset, build, cmake, clang):
    with_clang = [f"-DCMAKE_C_COMPILER={clang}"] if preset == "fuzz" else []
    run(cmake, "--fresh", "--preset", preset, "-G", "Unix Makefiles", "-B", build, *with_clang, folder=source)


def missing_targets(presets, preset, build, cmake):
    """Returns the targets of the build preset that the build does not have."""
    wanted = next(p for p in presets["buildPresets"] if p["name"] == preset).get("targets", [])
    present = set(re.findall(r"^\.\.\. (\S+)", run(cmake, "--build", build, "--target", "help", folder=build), re.M))
    return [target for target in wanted if target not in present]


def alternatives(expression):
    """'^(a|b)-c' -> ['^a-c', '^b-c']: each must match a test. Only one group is expanded."""
    group = re.search(r"\(([^()]*)\)", expression)
    if not group:
        return [expression]
    return [expression[:group.start()] + word + expression[group.end():] for word in group[1].split("|")]


def expressions_without_test(script, build):
    """Returns the expressions of scripts/fuzz that match no test of the build."""
    listed = json.loads(run("ctest", "--show-only=json-v1", folder=build))
    names = [test["name"] for test in listed["tests"]]
    expressions = re.findall(r"\blong ['\"]([^'\"]+)['\"]", script)
    if not expressions:
        sys.exit("scripts/fuzz has no line with: long 'expression'")
    return [each for expression in expressions for each in alternatives(expression)
            if not any(re.search(each, name) for name in names)]


def main():
    source, folder, cmake, clang = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    presets = json.loads((source / "CMakePresets.json").read_text())
    script = (source / "scripts/fuzz").read_text()
    names, failed = not_in_ci(source, presets), []
    for preset in names:
        build = folder / preset
        configure(source, preset, build, cmake, clang)
        failed += [f"preset {preset} has no target {target}"
                   for target in missing_targets(presets, preset, build, cmake)]
    failed += [f"no test of the preset long matches {expression}, which scripts/fuzz runs"
               for expression in expressions_without_test(script, folder / "long")]
    print("\n".join(failed) or f"presets: {', '.join(names)} have their targets, and the tests that scripts/fuzz runs")
    sys.exit(bool(failed))


main()
