"""Threads that begin at once, and switch as often as they can."""

import sys
import threading

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
