"""Fixtures of the tests of peers; a test file imports those that it uses."""

import pyopencl
import pytest

from peers import compiled


def new_queue(devices):
    """A queue of pyopencl in a context of its own.

    On Intel's CPU driver, a queue does not keep its context alive. pyopencl's object keeps the context that was read.
    """
    context = pyopencl.Context(devices)
    queue = pyopencl.CommandQueue(context)
    assert queue.context == context
    return queue


def first_devices():
    """The first device, in a list."""
    for platform in pyopencl.get_platforms():
        devices = platform.get_devices()
        if devices:
            return devices[:1]
    pytest.fail("pyopencl sees no device. Install a driver (Debian: pocl-opencl-icd).")


@pytest.fixture(scope="module")
def opencl_queue():
    """A queue of pyopencl in a context of its own, on the first device."""
    queue = new_queue(first_devices())
    yield queue
    queue.finish()


@pytest.fixture(scope="session")
def nanobind_peer():
    return compiled.nanobind_peer()


class Gate:
    """Keeps what is enqueued behind it on a queue from running until open() is called."""

    def __init__(self, queue):
        self.event = pyopencl.UserEvent(queue.context)
        pyopencl.enqueue_barrier(queue, wait_for=[self.event])

    def open(self):
        self.event.set_status(pyopencl.command_execution_status.COMPLETE)

    @property
    def is_open(self):
        return self.event.command_execution_status == pyopencl.command_execution_status.COMPLETE


@pytest.fixture
def gate(opencl_queue):
    """A function that closes a gate on the queue; all are open at the end."""
    gates = []

    def close(queue=opencl_queue):
        gates.append(Gate(queue))
        return gates[-1]

    yield close
    for closed in gates:
        if not closed.is_open:
            closed.open()
    opencl_queue.finish()
