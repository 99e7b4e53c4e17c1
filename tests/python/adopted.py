"""Arrays of the producers of examples/adopt, for the checker and for test_adopt.py."""

import ctypes
import pathlib
import sys

import numpy as np
import pyopencl as cl
import pyopencl.array

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parent.parent.parent / "examples" / "adopt"))

import pyopencl_exchange  # noqa: E402
from peers import compiled  # noqa: E402
from peers.fixtures import first_devices, new_queue  # noqa: E402


def install():
    """Makes pyopencl's Array a producer of the structure."""
    include = pathlib.Path(pyopencl_exchange.__file__).parent.parent.parent / "include"
    command = compiled.extension_command("c", "-std=c11", "-fvisibility=default", f"-I{include}")
    library = compiled.build(pathlib.Path(pyopencl_exchange.__file__).parent / "acquire.c", ".so", command)
    pyopencl_exchange.install(ctypes.cast(ctypes.PyDLL(str(library)).adopt_acquire, ctypes.c_void_p).value)


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
