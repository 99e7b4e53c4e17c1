"""Dask's distributed: arrays go from worker to worker by pickle protocol 5, and nothing is copied that need not be.

distributed has no serialiser for the type, so it takes the pickle. These tests count what is sent and what is copied.
"""

import distributed
import numpy as np
import pytest
from dask.sizeof import sizeof
from distributed.protocol import deserialize, serialize

import buffer_interface as bi

EXPECTED = np.arange(1 << 16, dtype="f8").reshape(256, 256)


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as made:
        with made.get_client() as client:
            yield client


def contents(frames):
    """The frames with elements. The first frame is the description of the array."""
    assert len(frames) == 2 and len(frames[0]) < 200
    return bi.buffer_interface(frames[1])


def test_host_memory_is_sent_and_received_without_a_copy():
    array = bi.from_numpy(EXPECTED, device="host")
    header, frames = serialize(array)
    assert bi.shares_memory(contents(frames), array) and contents(frames).nbytes == array.nbytes
    received = [bytearray(frame) for frame in frames]
    made = deserialize(header, received)
    assert bi.shares_memory(made, received[1]) and not made.readonly
    np.testing.assert_array_equal(made.numpy(), EXPECTED)


@pytest.mark.parametrize("device", ["host", "opencl"])
def test_only_the_elements_of_a_view_are_sent(device):
    array = bi.from_numpy(EXPECTED, device=device)[::2, ::-4]
    header, frames = serialize(array)
    assert contents(frames).nbytes == array.nbytes == EXPECTED.nbytes // 8
    made = deserialize(header, frames)
    assert made.device_spec == array.device_spec
    np.testing.assert_array_equal(made.numpy(), EXPECTED[::2, ::-4])


def test_dask_knows_the_size_of_an_array():
    for device in ("host", "opencl"):
        assert 0 <= sizeof(bi.empty((1000, 1000), device=device)) - 8_000_000 < 1000


def add_one(array):
    return bi.from_numpy(array.numpy() + 1, device=array)


def received_bytes(dask_worker):
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


@pytest.mark.parametrize("device", ["host", "opencl"])
def test_a_block_goes_to_another_process_once(cluster, device):
    first, second = cluster.scheduler_info()["workers"]
    before = cluster.run(received_bytes)
    block = cluster.submit(bi.from_numpy, EXPECTED, device=device, workers=first, pure=False)
    result = cluster.submit(add_one, block, workers=second, pure=False)
    np.testing.assert_array_equal(result.result().numpy(), EXPECTED + 1)
    after = cluster.run(received_bytes)
    assert after[first] == before[first] and 0 <= after[second] - before[second] - EXPECTED.nbytes < 1000
