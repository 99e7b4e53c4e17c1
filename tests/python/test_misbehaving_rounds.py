"""
Each refusal again, 10,000 times: references, allocated blocks and the driver's objects are what they were, and each
deleter of a tensor that was taken was called once for each time. test_misbehaving.py says which threads the cases come
from, and looks at the messages.
"""

import gc
import sys

import pytest

from buffer_interface import buffer_interface
from peers import dlpack
from test_misbehaving import Cai

ROUNDS = 10_000

# What a dictionary of __cuda_array_interface__ says wrong.
DICTIONARIES = {
    "stream 0": {"stream": 0},
    "stream of another type": {"stream": "1"},
    "another version": {"version": 4},
    "no pointer": {"data": (0, False)},
    "unknown pointer": {"data": (4096, False)},
    "beyond the end": {"shape": (17,)},
    "data that is no pair": {"data": 4096},
    "a mask": {"mask": Cai(typestr="|b1")},
    "a type that cannot be": {"typestr": "<f3"},
    "the other byte order": {"typestr": ">f4"},
    "objects": {"typestr": "|O8"},
    "a type that is no text": {"typestr": 4},
    "a descr that does not add up": {"typestr": "|V12", "descr": [("x", "<f4")]},
    "strides that are no tuple": {"strides": [4]},
    "too many strides": {"strides": (4, 4)},
    "a negative extent": {"shape": (-1,)},
    "extents that do not fit": {"shape": (2**62, 2**62)},
    "strides that do not fit": {"strides": (2**62,)},
    "no shape": {"shape": None},
}

# What a tensor of DLPack says wrong: arguments and members of dlpack.Tensor.
TENSORS = {
    "a version that nobody knows": ((), {"version": (2, 0)}),
    "flags that nobody knows": ((), {"version": (1, 0), "flags": 1 << 40}),
    "no shape": ((None,), {"ndim": 1}),
    "negative dimensions": ((), {"ndim": -1}),
    "too many dimensions": ((), {"ndim": 65}),
    "a negative extent": (((2, -3),), {}),
    "extents that do not fit": (((2**62, 2**62),), {}),
    "no pointer": ((), {"data": 0}),
    "a type that nobody knows": ((), {"dtype": (99, 32, 1)}),
    "no lanes": ((), {"dtype": (dlpack.FLOAT, 32, 0)}),
    "a device that no backend has": ((), {"device": (77, 0)}),
    "a number for a cl_mem": ((), {"device": (dlpack.OPENCL, 0)}),
}


def refuse(producer):
    try:
        buffer_interface(producer)
    except (BufferError, TypeError, ValueError, KeyError, OverflowError):
        return
    raise AssertionError("it was taken")


def blocks_of(rounds, producer):
    before = sys.getallocatedblocks()
    for _ in range(rounds):
        refuse(producer)
    gc.collect()
    return sys.getallocatedblocks() - before


def rounds_of(producer):
    """What would leak would do so in each fifth of the rounds."""
    refuse(producer)
    before = sys.getrefcount(producer)
    growth = [blocks_of(ROUNDS // 5, producer) for _ in range(5)]
    assert min(growth) < ROUNDS // 1000
    assert sys.getrefcount(producer) == before


@pytest.mark.parametrize("members", DICTIONARIES.values(), ids=DICTIONARIES)
def test_dictionaries(cuda, members):
    producer = Cai(**{"data": (cuda.alloc(64), False), **members})
    refuse(producer)
    before = cuda.counts()
    rounds_of(producer)
    after = cuda.counts()
    for name in ("live_memory", "live_streams", "live_events", "live_modules", "reports", "host_waits"):
        assert getattr(after, name) == getattr(before, name), name


class Producer:
    """Hands the same tensor over again and again."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.producer().__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.producer().__dlpack_device__()


@pytest.mark.parametrize("args, members", TENSORS.values(), ids=TENSORS)
def test_tensors(args, members):
    tensor = dlpack.Tensor(*args, **members)
    producer = Producer(tensor)
    refuse(producer)
    is_taken = tensor.deleted
    assert is_taken in (0, 1)
    rounds_of(producer)
    assert tensor.deleted == is_taken * (ROUNDS + 2)
