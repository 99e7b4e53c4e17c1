"""MPI: heat on a plate whose columns are divided among ranks. The ranks exchange the columns at their borders.

    pip install mpi4py mpich pyopencl
    mpiexec -n 4 python -m mpi4py halo_mpi.py       an exception of one rank ends all

Each rank's part is on an OpenCL device, and pyopencl computes there. A column is a strided view. Its copy to the host is
dense, and MPI takes it as it is. Pass --device host to work without OpenCL.
"""

import argparse

import numpy as np
from mpi4py import MPI

import buffer_interface as bi

SIZE, STEPS = 64, 20
SOURCE = """
kernel void heat(global const double *old, global double *new, int columns)
{
    int row = get_global_id(0) + 1, column = get_global_id(1) + 1, i = row * columns + column;
    new[i] = 0.25 * (old[i - columns] + old[i + columns] + old[i - 1] + old[i + 1]);
}
"""


def plate():
    numbers = np.zeros((SIZE, SIZE + 2))
    numbers[0] = 100
    return numbers


def step_on_host(old, new):
    new[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:])


def step_of(part):
    """Returns a function that computes one step where the part is."""
    if part.backend == "host":
        return lambda old, new: step_on_host(old.numpy(), new.numpy())
    import pyopencl

    context = pyopencl.Context.from_int_ptr(part.context)
    queue = pyopencl.CommandQueue(context)
    kernel = pyopencl.Program(context, SOURCE).build().heat

    def step(old, new):
        source, target = bi.pyopencl_array(old, queue), bi.pyopencl_array(new, queue)
        rows, columns = old.shape
        kernel(queue, (rows - 2, columns - 2), None, source.base_data, target.base_data, np.int32(columns))
        old.hand_back(queue)
        new.hand_back(queue)

    return step


def exchange(part, comm):
    """Sends the outermost columns of this rank to its neighbours, and receives their columns into the border."""
    for inner, border, to, source in ((1, -1, -1, 1), (-2, 0, 1, -1)):
        to, source = (rank if 0 <= rank < comm.size else MPI.PROC_NULL for rank in (comm.rank + to, comm.rank + source))
        column = part[:, inner].copy().to("host")
        received = part[:, border].copy().to("host")
        comm.Sendrecv(column, to, 0, received, source, 0)
        part[:, border] = received


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="opencl")
    device = parser.parse_args().device
    comm = MPI.COMM_WORLD
    if SIZE % comm.size:
        if comm.rank == 0:
            parser.error(f"{comm.size} ranks do not divide {SIZE} columns")
        parser.exit(2)
    width = SIZE // comm.size
    first = comm.rank * width
    old = bi.from_numpy(plate()[:, first : first + width + 2], device=device)
    new = old.copy()
    step = step_of(old)
    for _ in range(STEPS):
        exchange(old, comm)
        step(old, new)
        old, new = new, old
    mine = old[:, 1:-1].copy().to("host")
    parts = bi.empty((comm.size, SIZE, width), device="host")
    comm.Gather(mine, parts, 0)
    if comm.rank == 0:
        check(np.concatenate(parts.numpy(), axis=1))
        print(f"{comm.size} ranks on {device}: as in one process")


def check(computed):
    old, new = plate(), plate()
    for _ in range(STEPS):
        step_on_host(old, new)
        old, new = new, old
    np.testing.assert_array_equal(computed, old[:, 1:-1])


if __name__ == "__main__":
    main()
