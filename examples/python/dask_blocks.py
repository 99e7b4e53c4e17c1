"""Dask: blocks that live on OpenCL devices of two worker processes. The result is that of NumPy.

    pip install 'dask[distributed]' pyopencl
    python dask_blocks.py

A block goes from worker to worker by pickle protocol 5. Host memory is sent without a copy. Memory of a device is copied
to the host, and to the device with the same device string in the other process. Pass --device host to work without OpenCL.
"""

import argparse
import functools

import dask.array
import distributed
import numpy as np

import buffer_interface as bi


def to_device(block, device):
    return bi.from_numpy(block, device=device)


def doubled(block):
    """pyopencl computes on the device. The memory of its result becomes the next block."""
    if block.backend == "host":
        return bi.from_numpy(block.numpy() * 2, device="host")
    return bi.buffer_interface(bi.pyopencl_array(block, queue_in(block.context)) * 2)


@functools.cache
def queue_in(context):
    """pyopencl compiles once for each context object that it has."""
    import pyopencl

    return pyopencl.CommandQueue(pyopencl.Context.from_int_ptr(context))


def to_numpy(block):
    return block.numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="opencl")
    device = parser.parse_args().device
    numbers = np.arange(512 * 512, dtype="f4").reshape(512, 512)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with cluster.get_client():
            blocks = dask.array.from_array(numbers, chunks=128)
            on_devices = blocks.map_blocks(to_device, device, dtype="f4", meta=np.empty((0, 0), "f4"))
            results = on_devices.map_blocks(doubled, dtype="f4", meta=np.empty((0, 0), "f4"))
            computed = results.map_blocks(to_numpy, dtype="f4").compute()
    np.testing.assert_array_equal(computed, numbers * 2)
    print(f"{blocks.npartitions} blocks on {device}: as in NumPy")


if __name__ == "__main__":
    main()
