"""
drop.py PROGRAM SPEC...: does a test notice each wait that is left out?

Runs each test of the ordering suite on the simulated CUDA driver once for every wait of a stream in it, and lets the
driver accept and forget that one wait (CUDA_SIM_DROP_WAIT). Something must fail: a value, or the simulator's eye for
work that is not ordered. What nobody notices is listed: the wait is not needed, or the test is blind.

DROP_SPACES="1 2" chooses the spaces of the program (one context, one that two contexts adopt, pinned host memory).
"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def run(command, **variables):
    environment = dict(os.environ, **{name: str(value) for name, value in variables.items()})
    return subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=200)


def waits_of(command, space):
    result = run(command, BI_TEST_SPACE=space, BI_TEST_DROP=1)
    found = re.findall(r"waits: (\S+) (\d+)", result.stdout + result.stderr)
    return [(name, int(count)) for name, count in found]


def is_noticed(command, space, test, n):
    try:
        result = run(command, BI_TEST_SPACE=space, BI_TEST_FILTER=test, CUDA_SIM_DROP_WAIT=n)
    except subprocess.TimeoutExpired:
        return True
    return result.returncode != 0


def main():
    command = sys.argv[1:]
    spaces = os.environ.get("DROP_SPACES", "1 2 3").split()
    only = os.environ.get("DROP_FILTER", "")
    runs = [(space, test, n) for space in spaces for test, count in waits_of(command, space)
            if only in test for n in range(1, count + 1)]
    with ThreadPoolExecutor(int(os.environ.get("DROP_JOBS", "1"))) as pool:
        noticed = list(pool.map(lambda one: is_noticed(command, *one), runs))
    survivors = [one for one, seen in zip(runs, noticed) if not seen]
    for space, test, n in survivors:
        print(f"nobody noticed: space {space}, {test}, wait {n}")
    print(f"drop: {len(runs)} waits left out, {len(survivors)} of them unnoticed")
    return 1 if survivors or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
