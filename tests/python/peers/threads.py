"""Threads that begin at once, and switch as often as they can; and whether a thread waits."""

import sys
import threading
import time
from pathlib import Path

import pytest

THREADS = 8


@pytest.fixture(autouse=True)
def frequent_switches():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def together(function, count=THREADS):
    """Calls function(number) on `count` threads that begin at once; the first exception of any is raised."""
    barrier, failed = threading.Barrier(count), []

    def run(number):
        barrier.wait()
        try:
            function(number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def time_of_sleeper(thread):
    """The processor time that a sleeping thread has used, or None."""
    try:
        text = Path(f"/proc/self/task/{thread.native_id}/stat").read_text()
    except FileNotFoundError:
        pytest.fail("the thread ended, and was to wait")
    fields = text.rpartition(")")[2].split()
    return fields[11:13] if fields[0] == "S" else None


def until_blocked(thread):
    """Returns when the thread has slept for a while. It does not wait for the GIL, which is free between two looks."""
    looks, before = 0, None
    while looks < 10:
        time.sleep(0.01)
        now = time_of_sleeper(thread)
        looks = looks + 1 if now and now == before else 0
        before = now
