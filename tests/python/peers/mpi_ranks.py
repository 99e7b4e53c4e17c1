"""Several ranks send, receive and reduce arrays of the package: mpiexec -n 3 python mpi_ranks.py DEVICE.

MPI takes dense host memory as it is. A strided array, or one of a device, is packed by copy() and to("host").
"""

import sys

import numpy as np
from mpi4py import MPI

import buffer_interface as bi

comm = MPI.COMM_WORLD
device = sys.argv[1]
following, previous = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


def numbers(rank):
    return np.arange(24, dtype="f4").reshape(4, 6) + 100 * rank


def packed(array):
    """The elements as a dense array in host memory."""
    return array.copy().to("host")


mine = bi.from_numpy(numbers(comm.rank), device=device)
received = bi.empty((4, 6), "f4", device="host")
comm.Sendrecv(packed(mine), following, 0, received, previous, 0)
np.testing.assert_array_equal(received.numpy(), numbers(previous))

request = comm.Isend(packed(mine), following)
comm.Recv(received, previous)
request.Wait()
np.testing.assert_array_equal(received.numpy(), numbers(previous))

part, column = mine[::2, ::-1], bi.empty((2, 6), "f4", device="host")
comm.Sendrecv(packed(part), following, 0, column, previous, 0)
mine[::2, ::-1] = column
expected = numbers(comm.rank)
expected[::2, ::-1] = numbers(previous)[::2, ::-1]
np.testing.assert_array_equal(mine.numpy(), expected)

total = bi.empty((4, 6), "f4", device="host")
comm.Allreduce(packed(bi.from_numpy(numbers(comm.rank), device=device)), total, MPI.SUM)
np.testing.assert_array_equal(total.numpy(), sum(numbers(rank) for rank in range(comm.size)))

everything = bi.empty((comm.size, 4, 6), "f4", device="host")
comm.Allgather(packed(bi.from_numpy(numbers(comm.rank), device=device)), everything)
np.testing.assert_array_equal(everything.numpy(), [numbers(rank) for rank in range(comm.size)])

comm.Scatter(everything if comm.rank == 0 else None, received, 0)
np.testing.assert_array_equal(received.numpy(), numbers(comm.rank))

comm.Bcast(received, 0)
mine[...] = received
np.testing.assert_array_equal(mine.numpy(), numbers(0))

pickled = comm.sendrecv(part, following, 0, None, previous)
assert pickled.device_spec == mine.device_spec and pickled.tolist() == part.tolist()

print(f"rank {comm.rank} of {comm.size}: passed", flush=True)
