"""Arrays of examples/adopt/pyopencl_exchange.py, for the checker and for test_adopt.py."""

import numpy as np
import pyopencl as cl
import pyopencl.array
from peers import compiled
from peers.fixtures import first_devices, new_queue

acquire = compiled.adopt_acquire()

import pyopencl_exchange  # noqa: E402


def install():
    """Makes pyopencl's Array a producer of the structure."""
    pyopencl_exchange.install(acquire)


NUMBERS = np.arange(12, dtype="f4").reshape(3, 4)


def pyopencl_arrays():
    """Arrays of pyopencl without pending work."""
    install()
    queue = new_queue(first_devices())
    array = cl.array.to_device(queue, NUMBERS)
    root = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 8192)
    return {
        "sliced": array[1:, ::2],
        "reversed": array[::-1],
        "sub-buffer": cl.array.Array(queue, (4, 4), "f8", data=root[4096:8192], offset=64),
        "no elements": cl.array.empty(queue, (0, 3), "f8"),
        "vectors": cl.array.zeros(queue, 4, cl.cltypes.float4),
        "structures": cl.array.zeros(queue, 4, np.dtype([("x", "<f4"), ("n", "<i2", (3,))], align=True)),
    }


def pyopencl_pending(gate=None):
    """An array of pyopencl; with `gate` its work is pending."""
    install()
    array = cl.array.to_device(new_queue(first_devices()), NUMBERS)
    if gate:
        gate(array.queue.int_ptr)
        array += 1
    return array
