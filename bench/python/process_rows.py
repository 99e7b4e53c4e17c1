"""Rows that need a process of their own: the time of an import, and the memory of a view."""

import json
import os
import subprocess
import sys
from dataclasses import replace

from report import at_most
from timing import Figure
from verify import WrongResult, equal

GROUP = "exchange"
IMPORT_ROW = "Python: import buffer_interface, no driver opened"
MEMORY_ROW = "Python: memory of a live view, 4 dimensions"
DRIVERS = ("libcuda.so", "libOpenCL.so", "libpocl")

IMPORT = """
import sys, time
start = time.perf_counter()
import {module}
seconds = time.perf_counter() - start
maps = open("/proc/self/maps").read()
drivers = [name for name in {drivers} if name in maps]
import json
print(json.dumps([seconds, drivers, "numpy" in sys.modules]))
"""

# With PYTHONMALLOC=malloc the figure of mallinfo2 includes Python's objects and the library's.
MEMORY = """
import ctypes, resource, sys
import numpy as np
import buffer_interface as bi

class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

mallinfo2 = ctypes.CDLL(None).mallinfo2
mallinfo2.restype = Info

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

def per_view(x, count=100_000):
    keep = [None] * count
    before, resident_before = mallinfo2().uordblks, resident()
    for i in range(count):
        keep[i] = x[1:]
    return (mallinfo2().uordblks - before) / count, (resident() - resident_before) / count, keep[-1]

x = np.zeros((3, 4, 5, 6), "f4")
array = bi.buffer_interface(x) if {ours} else x
live, growth, last = per_view(array)
assert np.asarray(last).ctypes.data == x[1:].ctypes.data and last.shape == (2, 4, 5, 6)
print([live, growth, sys.getsizeof(last)])
"""


def run(report):
    if report.wants(IMPORT_ROW):
        imports(report)
    if report.wants(MEMORY_ROW):
        memory(report)


def child(code, **environment):
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise WrongResult(f"a child process failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def imports(report):
    runners = {"ours": importing("buffer_interface"), "import numpy": importing("numpy")}
    pace = replace(report.pace, turn=0, rounds=15)
    figures, look = report.compare(runners, pace=pace, scale=1e3, unit="ms")
    report.add(GROUP, IMPORT_ROW, figures, look, at_most(10, "ms"), bounds=("import numpy",))


def importing(name):
    def runner(n):
        return sum(import_once(name) for _ in range(n))
    return runner


def import_once(name):
    seconds, drivers, numpy = child(IMPORT.format(module=name, drivers=DRIVERS))
    equal(f"drivers opened by import {name}", drivers, [])
    equal(f"NumPy loaded by import {name}", numpy, name == "numpy")
    return seconds


def memory(report):
    ours, growth, object_size = child(MEMORY.format(ours=True), PYTHONMALLOC="malloc")
    numpy, numpy_growth, _ = child(MEMORY.format(ours=False), PYTHONMALLOC="malloc")
    report.add(GROUP, MEMORY_ROW, {"ours": exact(ours), "NumPy": exact(numpy),
                                   "of that the Python object": exact(object_size)}, None, at_most(256, "bytes"),
               bounds=("of that the Python object",))
    report.add(GROUP, "Python: growth of the process by a view", {"ours": exact(growth), "NumPy": exact(numpy_growth)})


def exact(count):
    """The list of the views adds less than a byte for each."""
    return Figure(*[float(round(count))] * 3, "bytes")
