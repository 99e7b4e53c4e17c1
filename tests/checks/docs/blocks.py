#!/usr/bin/env python3
"""Compiles and runs the C programs in the documentation, and runs its `$ bi` lines; `bi show` draws what stands there.
No `bi` line prints a note that the page lacks.

    blocks.py SOURCE_DIR CC LIBRARY BI [SANITIZERS]
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


def run(command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    return result.returncode, result.stdout


def main():
    root, cc, library, bi, *sanitizers = sys.argv[1:]
    root, library = Path(root), Path(library)
    ran = failed = 0
    with tempfile.TemporaryDirectory() as work:
        os.symlink(root / "examples", Path(work) / "examples")
        environment = dict(os.environ, PATH=f"{Path(bi).parent}:{os.environ['PATH']}")
        for page in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]:
            for language, text in BLOCK.findall(page.read_text()):
                steps, drawn, printed = [], {}, {}
                if language == "c" and "#ifndef BUFFER_INTERFACE_CHECK_H" in text:
                    ran += 1
                    if text != (root / "include/buffer_interface/check.h").read_text():
                        failed += 1
                        print(f"FAILED: {page.relative_to(root)}: the printed check is not check.h")
                if language == "c" and "int main(" in text:
                    (Path(work) / "block.c").write_text(text)
                    flags = [f"-fsanitize={names}" for names in sanitizers]
                    steps = [[cc, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *flags, f"-I{root}/include",
                              "block.c", str(library), f"-Wl,-rpath,{library.parent}", "-o", "block"], ["./block"]]
                elif language == "console":
                    parts = re.split(r"^\$ ", text, flags=re.M)[1:]
                    commands = [part.partition("\n") for part in parts if part.startswith("bi ")]
                    steps = [["sh", "-c", command] for command, _, _ in commands]
                    printed = {command: output for command, _, output in commands}
                    drawn = {command: output for command, output in printed.items() if command.startswith("bi show")}
                for step in steps:
                    code, output = run(step, cwd=work, env=environment)
                    ran += 1
                    if step[-1] in drawn and output.rstrip() != drawn[step[-1]].rstrip():
                        code, output = "draws something else", output
                    if "bi: note: " in output and "bi: note: " not in printed.get(step[-1], ""):
                        code = "prints a note that the page lacks"
                    if code:
                        failed += 1
                        print(f"FAILED ({code}): {page.relative_to(root)}: {' '.join(step)}\n{output}")
    print(f"{ran - failed} of {ran} steps passed")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
