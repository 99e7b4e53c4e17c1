#!/usr/bin/env python3
"""Every exported function occurs in a scenario of the fault suite.

    check_scenarios.py NM LIBRARY
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Exported functions that no scenario calls, each with the reason.
EXCEPTIONS = {}


def main():
    nm, library = sys.argv[1:]
    text = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    exported = {line.split()[-1] for line in text.splitlines() if re.search(r" T bi_", line)}
    called = set(re.findall(r"\bbi_\w+(?=\()", (HERE / "scenarios.c").read_text()))
    called |= set(re.findall(r"\bbi_\w+(?=\()", (HERE / "main.c").read_text()))
    missing = sorted(exported - called - set(EXCEPTIONS))
    for name in missing:
        print(f"{name} occurs in no scenario of tests/behaviour/fault/scenarios.c")
    for name in sorted(set(EXCEPTIONS) - exported):
        print(f"{name} is an exception, but is not exported")
        missing.append(name)
    print(f"{len(exported)} exported functions, {len(missing)} problems")
    return 1 if missing or not exported else 0


if __name__ == "__main__":
    sys.exit(main())
