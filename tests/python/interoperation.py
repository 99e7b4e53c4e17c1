"""Combines every producer with every consumer: the library, and the programs of examples/independent in C and in Python.

    interoperation.py [--output PAGE.md]

Prints docs/interoperation.md, or ends with an exception at the first pair that fails. Pending work waits for a gate,
which is opened after the consumer has returned, so a consumer that waits hangs; the caller sets a limit.
"""

import argparse
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import pyopencl as cl
import pyopencl.array

import buffer_interface
import dlpack_structs as dl
from exchange_struct import FILL, VERSION, Exchange, Table

ROOT = pathlib.Path(__file__).parent.parent.parent
INDEPENDENT = ROOT / "examples/independent"
sys.path.insert(0, str(INDEPENDENT))

import consumer as stranger  # noqa: E402
import producer as maker  # noqa: E402

# With PoCL 7 the system's loader takes no object that is older than its own first call (docs/opencl.md).
ctypes.CDLL("libOpenCL.so.1").clGetPlatformIDs(0, None, ctypes.byref(ctypes.c_uint32()))

FLAGS = "-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -Wno-deprecated-declarations -O1 -shared -fPIC".split()
VALUE = 9.0


def compile_c(folder, name):
    """The program in C, compiled where abi.h is the only header of ours."""
    headers = folder / "buffer_interface"
    headers.mkdir(exist_ok=True)
    (headers / "abi.h").write_bytes((ROOT / "include/buffer_interface/abi.h").read_bytes())
    path = folder / f"{name}.so"
    command = [os.environ.get("CC", "cc"), *FLAGS, f"-I{folder}", "-o", path, INDEPENDENT / f"{name}.c"]
    subprocess.run([*command, "-l:libOpenCL.so.1"], check=True)
    return ctypes.CDLL(str(path))


class InLibrary:
    """An array of NumPy or pyopencl, imported by the library."""

    has_method = True

    def __init__(self, name):
        self.is_cl, is_pending, shape, strides, first, flags = maker.KINDS[name]
        self.gate, self.host = None, np.zeros(maker.MOST, "f4")
        self.view = np.ndarray(shape, "f4", self.host, first, strides)
        self.view[...] = np.arange(1, self.view.size + 1).reshape(shape)
        if self.is_cl:
            self.open_cl(is_pending, first)
        elif flags & maker.READONLY:
            self.view.flags.writeable = False
        self.object = buffer_interface.buffer_interface(self.array if self.is_cl else self.view)

    def open_cl(self, is_pending, first):
        context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
        self.queue = cl.CommandQueue(context)
        memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, self.host.nbytes)
        shape, strides = self.view.shape, self.view.strides
        self.array = pyopencl.array.Array(self.queue, shape, "f4", data=memory, offset=first, strides=strides)
        if is_pending:
            self.gate = cl.UserEvent(context)
            cl.enqueue_barrier(self.queue, wait_for=[self.gate])
        for number, value in enumerate(self.host):
            cl.enqueue_fill_buffer(self.queue, memory, value, 4 * number, 4)
        if not is_pending:
            self.queue.finish()

    def open(self):
        if self.gate:
            self.gate.set_status(cl.command_execution_status.COMPLETE)

    def read(self):
        if self.is_cl:
            cl.enqueue_copy(self.queue, self.host, self.array.base_data)
        return float(self.view.sum())

    def close(self):
        self.object.release()


def in_c(library):
    """The class of the arrays of producer.c, which has the capsule."""

    @FILL
    def acquire(array, wishes, out):
        return library.producer_acquire(array.made, out)

    class InC:
        has_method = False
        table = Table(VERSION, ctypes.sizeof(Table), acquire)
        __buffer_interface_c__ = dl.plain_capsule(ctypes.addressof(table), b"buffer_interface.c_api")

        def __init__(self, name):
            self.made, self.object = ctypes.c_void_p(), self
            assert library.producer_make(name.encode(), ctypes.byref(self.made)) == 0
            self.releases = library.producer_releases()

        def open(self):
            library.producer_open(self.made)

        def read(self):
            return library.producer_read(self.made)

        def close(self):
            assert library.producer_releases() == self.releases + 1, "released once"
            library.producer_free(self.made)

    library.producer_read.restype = ctypes.c_double
    return InC


class InPython(maker.Array):
    has_method = True

    def __init__(self, name):
        super().__init__(name)
        self.object, self.before = self, maker.Array.releases

    def close(self):
        assert maker.Array.releases <= self.before + 1 and not maker.exported, "released once"
        self.object = None


class ByLibrary:
    def __init__(self, array, protocol=None):
        # The end of the block waits for work on memory whose producer named no stream [B35].
        with buffer_interface.buffer_interface(array, protocol=protocol) as view:
            if view.readonly:
                raise BufferError("read-only")
            self.copy = view.copy()
            view.fill(VALUE)

    def finish(self):
        return float(self.copy.numpy().sum())


def by_c(library):
    class ByC:
        def __init__(self, array):
            x = stranger.acquire(array)
            why = library.consumer_start(ctypes.byref(x), ctypes.c_float(VALUE))
            assert not x.release
            if why:
                raise BufferError(why.decode())

        def finish(self):
            return library.consumer_finish()

    library.consumer_start.restype, library.consumer_finish.restype = ctypes.c_char_p, ctypes.c_double
    return ByC


def meet(producer, consumer, name):
    """One pair and one case. Returns the words of the table."""
    array = producer(name)
    count = int(np.prod(maker.KINDS[name][2]))
    try:
        work = consumer(array.object)
    except BufferError:
        assert name == "host, read-only", "refused"
        array.open()
        assert array.read() == count * (count + 1) / 2
        array.close()
        return "refused"
    assert name != "host, read-only", "a read-only array was written"
    array.open()
    assert array.read() == VALUE * count, "the elements of the consumer"
    assert work.finish() == count * (count + 1) / 2, "the elements of the producer"
    array.close()
    return "ok"


def rows(folder):
    producers = {"the library": InLibrary, "`producer.c`": in_c(compile_c(folder, "producer")), "`producer.py`": InPython}
    consumers = {
        "the library": (ByLibrary, False),
        "the library, by `__buffer_interface__`": (lambda array: ByLibrary(array, "draft"), True),
        "`consumer.c`": (by_c(compile_c(folder, "consumer")), False),
        "`consumer.py`": (lambda array: stranger.Consumer(stranger.acquire(array), VALUE), False),
        "`consumer.py`, by `__buffer_interface__`": (lambda array: stranger.Consumer(stranger.describe(array), VALUE), True),
    }
    for produced, producer in producers.items():
        for consumed, (consumer, needs_method) in consumers.items():
            if producer.has_method or not needs_method:
                try:
                    yield produced, consumed, [meet(producer, consumer, name) for name in maker.KINDS]
                except Exception as error:
                    raise AssertionError(f"{produced} to {consumed}") from error


HEAD = """# Interoperation

`tests/python/interoperation.py` makes this page. Every producer is combined with every consumer: the library, and
the programs of [`examples/independent`](../examples/independent/README.md), which share no code with it. A producer in
C has no Python object, so no consumer uses it by `__buffer_interface__`. The consumer reads all elements and replaces
them. The producer then reads the new elements. Pending work waits for an event that the test completes after the
consumer has handed the memory back, so nothing waits for a device. `ok`: both sides read the right elements, and the
memory was released once. A read-only array is refused by consumers that write.
"""


def write_page(out):
    names = list(maker.KINDS)
    print(HEAD, file=out)
    print("| producer | consumer |", " | ".join(names), "|", file=out)
    print("|---" * (len(names) + 2) + "|", file=out)
    with tempfile.TemporaryDirectory() as folder:
        for produced, consumed, results in rows(pathlib.Path(folder)):
            print(f"| {produced} | {consumed} |", " | ".join(results), "|", file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as out:
            write_page(out)
    else:
        write_page(sys.stdout)


if __name__ == "__main__":
    main()
