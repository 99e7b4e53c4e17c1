"""Arrays in host, OpenCL and CUDA memory of any library, without a copy.

The function `buffer_interface` imports an array of NumPy, pyopencl, CuPy, PyTorch, JAX, Numba and others: one that
supports DLPack, the CUDA Array Interface, the buffer protocol, NumPy's array interface or the BufferInterface. The
result, a `BufferInterface`, supports each of these protocols that fits its kind of memory.

    >>> import buffer_interface, numpy
    >>> view = buffer_interface.buffer_interface(numpy.arange(12).reshape(3, 4))
    >>> view[1:, ::2].T.tolist()
    [[4, 8], [6, 10]]

`from_numpy`, `zeros`, `full` and others make arrays on a device, which `devices` lists.

    >>> array = buffer_interface.from_numpy(view, device="opencl")
    >>> array[0] = 5
    >>> array.numpy()
    array([[ 5,  5,  5,  5],
           [ 4,  5,  6,  7],
           [ 8,  9, 10, 11]])
"""

import atexit as _atexit
import os as _os

from ._core import *  # noqa: F403
from ._core import __version__, _close_contexts
from ._functions import (
    arange,
    broadcast_to,
    expand_dims,
    flip,
    from_dlpack,
    from_numpy,
    full_like,
    moveaxis,
    ones,
    ones_like,
    ravel,
    shared_empty,
    squeeze,
    zeros_like,
)
from ._pyopencl import pyopencl_array


def get_include():
    """Returns the folder of the C headers: buffer_interface.h, buffer_interface/python.h and the others."""
    from . import _core  # an editable installation has the headers beside the compiled module, not beside this file

    return _os.path.join(_os.path.dirname(_core.__file__), "include")


# The list of names is in __init__.pyi.
__all__ = [name for name in dir() if not name.startswith("_")]

_atexit.register(_close_contexts)
