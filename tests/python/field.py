"""Factories and consumers of other libraries, for `python -m buffer_interface check field:NAME` (docs/field.md).

Each function imports its library, so that only one of them has to be installed.
"""

import numpy as np


def _readonly():
    array = np.arange(4)
    array.flags.writeable = False
    return array


def numpy_arrays():
    fields = np.zeros(3, [("a", "i4"), ("b", "u1"), ("c", "f8")])
    return {
        "plain": np.arange(6.0).reshape(2, 3),
        "strided": np.arange(24).reshape(4, 6)[::-2, ::3],
        "scalar": np.array(3),
        "empty": np.zeros((0, 3)),
        "bool": np.ones(3, "?"),
        "complex": np.ones(3, "D"),
        "half": np.ones(3, "e"),
        "long double": np.ones(2, "g"),
        "fields": fields,
        "one field": fields[["a"]],
        "text": np.array(["abc", "d"]),
        "bytes": np.array([b"abc", b"d"]),
        "void": np.zeros(3, "V5"),
        "read-only": _readonly(),
        "swapped": np.arange(3, dtype=">i4"),
        "dates": np.zeros(3, "M8[s]"),
        "broadcast": np.broadcast_to(np.arange(3), (2, 3)),
        "Fortran": np.ones((3, 4)).T,
        "number": np.float64(3),
        "record": fields[0],
    }


def jax_arrays():
    import jax.numpy as jnp

    types = {name: jnp.ones(3, name) for name in ("bool", "bfloat16", "float16", "complex64")}
    return {"plain": jnp.arange(6.0).reshape(2, 3), "empty": jnp.zeros((0, 3)), "scalar": jnp.float32(3), **types}


def torch_arrays():
    import torch

    types = {name: torch.zeros(3, dtype=getattr(torch, name)) for name in ("bool", "bfloat16", "half", "complex64", "float8_e4m3fn")}
    return {
        "plain": torch.arange(6.0).reshape(2, 3),
        "strided": torch.arange(24.0).reshape(4, 6)[::2, ::3],
        "empty": torch.zeros((0, 3)),
        "scalar": torch.tensor(3.0),
        "expanded": torch.ones(3).expand(2, 3),
        **types,
    }


def arrow_arrays():
    import pyarrow as pa

    return {
        "integers": pa.array([1, 2, 3]),
        "slice": pa.array([1, 2, 3, 4])[1:3],
        "empty": pa.array([], pa.int32()),
        "buffer": pa.py_buffer(b"abcdef"),
        "writable buffer": pa.allocate_buffer(16),
        "empty buffer": pa.py_buffer(b""),
        "tensor": pa.Tensor.from_numpy(np.arange(6).reshape(2, 3)),
        "strided tensor": pa.Tensor.from_numpy(np.arange(6).reshape(2, 3).T),
    }


def tvm_ffi_arrays():
    import tvm_ffi

    made = {"plain": np.arange(6.0).reshape(2, 3), "strided": np.arange(24.0).reshape(4, 6)[::2, ::3]}
    made |= {"empty": np.zeros((0, 3)), "scalar": np.array(3.0)}
    return {name: tvm_ffi.from_dlpack(array) for name, array in made.items()}


def mpi4py_arrays():
    from mpi4py import MPI

    return {
        "buffer": MPI.memory.frombuffer(bytearray(8)),
        "read-only": MPI.memory.frombuffer(b"abcdefgh", readonly=True),
        "allocated": MPI.memory.allocate(16),
        "empty": MPI.memory.allocate(0),
    }


def nanobind_arrays():
    from peers.compiled import nanobind_peer

    return {"plain": nanobind_peer().make(2, 3)}


def numba_cuda():
    """numba.cuda on the simulated driver (NUMBA_CUDA_DRIVER), which lacks two functions that Numba calls at its start."""
    import numba.cuda.cudadrv.driver as driver

    driver.Driver._initialize_extras = lambda self: None
    driver.driver.cuDeviceGetUuid = lambda uuid, device: None
    from numba import cuda

    return cuda


def numba_arrays():
    cuda = numba_cuda()
    return {
        "plain": cuda.to_device(np.arange(6.0).reshape(2, 3)),
        "strided": cuda.to_device(np.arange(24.0).reshape(4, 6))[::2, ::3],
        "empty": cuda.device_array((0, 3)),
        "scalar": cuda.to_device(np.array(3.0)),
        "fields": cuda.to_device(np.zeros(3, [("a", "i4"), ("b", "f8")])),
        "stream": cuda.to_device(np.arange(6.0), stream=cuda.stream()),
        "default stream": cuda.to_device(np.arange(6.0), stream=cuda.default_stream()),
        "managed": cuda.managed_array(3, "f4"),
        "mapped": cuda.mapped_array(3, "f4"),
    }


def numba_pending(gate=None):
    """Work waits behind the checker's gate."""
    cuda = numba_cuda()
    stream = cuda.stream()
    array = cuda.device_array(6, "u1", stream=stream)
    if gate:
        gate(int(stream), "cuda")
    cuda.cudadrv.driver.device_memset(array, 3, 6, stream=stream)
    return array


# Consumers


def numpy_from_dlpack(array):
    return np.from_dlpack(array)


def numpy_asarray(array):
    return np.asarray(array)


def torch_from_dlpack(array):
    import torch

    return torch.from_dlpack(array)


def jax_from_dlpack(array):
    import jax.numpy as jnp

    return np.asarray(jnp.from_dlpack(array))


def tvm_ffi_from_dlpack(array):
    import tvm_ffi

    return np.from_dlpack(tvm_ffi.from_dlpack(array))


def arrow_buffer(array):
    import pyarrow as pa

    return np.frombuffer(pa.py_buffer(array), "i4")


def mpi4py_send(array):
    """Sends the elements. They arrive in a row, so nothing is returned."""
    from mpi4py import MPI

    received = np.zeros(24, "i4")
    MPI.COMM_SELF.Sendrecv(array, 0, 0, received, 0, 0)
