"""
mpi4py: our objects are sent and received as they are, in one process, and between ranks (peers/mpi_ranks.py). mpi4py tries the buffer protocol, DLPack and the
CUDA Array Interface in that order, and takes what an object says of its memory as an address that it may read.
"""

import pathlib
import subprocess
import sys

import numpy as np
import pyopencl
import pytest
from mpi4py import MPI

from buffer_interface import buffer_interface, empty
from peers.fixtures import opencl_queue  # noqa: F401

comm = MPI.COMM_SELF
FOLDER = pathlib.Path(__file__).parent / "peers"
MPIEXEC = pathlib.Path(sys.executable).parent / "mpiexec"


def exchange(send, receive):
    comm.Sendrecv(send, 0, 0, receive, 0, 0)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "f4", "f8", "c16", "bool"])
def test_send_and_receive(dtype):
    source, target = buffer_interface(np.arange(7).astype(dtype)), empty(7, dtype, device="host")
    exchange(source, target)
    np.testing.assert_array_equal(np.asarray(target), np.asarray(source))


def test_a_part_of_an_array():
    source, target = buffer_interface(np.arange(10, dtype="f8")), buffer_interface(np.zeros((3, 4)))
    exchange(source[2:6], target[1])
    assert np.asarray(target).tolist() == [[0] * 4, [2, 3, 4, 5], [0] * 4]


def test_collective_operations():
    source, target = buffer_interface(np.arange(5, dtype="f8")), empty(5, "f8", device="host")
    comm.Allreduce(source, target, MPI.SUM)
    comm.Bcast(target, 0)
    np.testing.assert_array_equal(np.asarray(target), np.arange(5))


def test_strided_arrays_are_refused():
    with pytest.raises((BufferError, ValueError)):
        comm.Send(buffer_interface(np.arange(10))[::2], 0)


def test_read_only_arrays_are_sent_but_not_received_into():
    source = buffer_interface(bytes(range(8)))
    target = empty(8, "u1", device="host")
    exchange(source, target)
    assert bytes(target) == bytes(range(8))
    with pytest.raises(BufferError):
        comm.Sendrecv(target, 0, 0, source, 0, 0)


def test_persistent_request_keeps_the_memory():
    source, target = buffer_interface(np.arange(5)), empty(5, "i8", device="host")
    receive, send = comm.Recv_init(target, 0, 1), comm.Send_init(source, 0, 1)
    before = np.asarray(target)
    source.release()
    target.release()
    MPI.Prequest.Startall([receive, send])
    MPI.Request.Waitall([receive, send])
    receive.Free()
    send.Free()
    assert before.tolist() == [0, 1, 2, 3, 4]


def test_D11_a_cl_mem_never_reaches_mpi_as_an_address(opencl_queue):
    memory = pyopencl.Buffer(opencl_queue.context, pyopencl.mem_flags.READ_WRITE, 64)
    with pytest.raises((BufferError, TypeError, NotImplementedError)):
        comm.Send(buffer_interface(memory), 0)


class Managed:
    """Memory that CPU and device share; this MPI, which knows no CUDA, can read it."""

    def __init__(self, cuda):
        self.pointer = cuda.alloc(24, "managed")

    @property
    def __cuda_array_interface__(self):
        return {"shape": (6,), "typestr": "<f4", "data": (self.pointer, False), "version": 3, "stream": None}


def test_cuda_memory_goes_as_its_address(cuda):
    source, target = buffer_interface(Managed(cuda)), buffer_interface(Managed(cuda))
    source[...] = np.arange(6, dtype="f4")
    source.synchronize()
    exchange(source, target)
    assert np.asarray(target.to("host")).tolist() == [0, 1, 2, 3, 4, 5]


def test_message_specifications():
    source, target = buffer_interface(np.arange(8, dtype="i4")), buffer_interface(np.zeros(8, "i4"))
    exchange([source, 3, MPI.INT32_T], [target, 4, MPI.INT32_T])
    assert np.asarray(target).tolist() == [0, 1, 2, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("ranks, device", [(2, "opencl"), (3, "host"), (4, "opencl")])
def test_ranks_exchange_arrays(ranks, device):
    """The command mpiexec is that of the package mpich."""
    command = [MPIEXEC, "-n", str(ranks), sys.executable, FOLDER / "mpi_ranks.py", device]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(f"of {ranks}: passed") == ranks
