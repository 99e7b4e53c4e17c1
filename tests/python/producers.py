"""Producers of arrays in CUDA memory that behave as the array libraries do, written in Python over the raw driver.

Each class says whose behaviour it is and how it differs: which version of the CUDA Array Interface, whether a stream is
named, how `__dlpack__` takes its arguments. All of them work on a stream of their own and return while the work is
pending, as the libraries do; `fill` enqueues it. None waits for anything that its model does not wait for.
"""

import math

import dlpack_structs as dl
from cuda_sim import LEGACY, PER_THREAD

CODES = {"b": dl.BOOL, "i": dl.INT, "u": dl.UINT, "f": dl.FLOAT, "c": dl.COMPLEX}


def c_strides(shape, itemsize):
    """Bytes from one element to the next, in C order."""
    strides = [itemsize] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return tuple(strides)


class DeviceArray:
    """An array of bytes on the device, and the stream that its owner works on."""

    def __init__(self, cuda, shape=(64,), typestr="|u1", *, stream=None, strides=None, kind="plain"):
        self.cuda = cuda
        self.shape = tuple(shape)
        self.typestr = typestr
        self.itemsize = int(typestr[2:])
        self.nbytes = math.prod(self.shape) * self.itemsize
        self.strides = c_strides(self.shape, self.itemsize) if strides is None else tuple(strides)
        self.pointer = cuda.alloc(max(self.nbytes, 1), kind)
        self.stream = cuda.stream() if stream is None else stream
        self.reads = 0

    @property
    def is_contiguous(self):
        return self.strides == c_strides(self.shape, self.itemsize)

    @property
    def data(self):
        return self.pointer if self.nbytes else 0

    def fill(self, value):
        """Enqueues work on the array's stream, and does not wait."""
        self.cuda.fill(self.pointer, value, self.nbytes, self.stream)

    def bytes(self):
        return self.cuda.download(self.pointer, self.nbytes)

    def free(self):
        self.cuda.free(self.pointer)

    def _members(self):
        return {
            "shape": self.shape,
            "typestr": self.typestr,
            "data": (self.data, False),
            "strides": None if self.is_contiguous else self.strides,
        }


class DLPackArray(DeviceArray):
    """The device side of __dlpack__: order the consumer's stream behind ours, then hand out a tensor."""

    def __dlpack_device__(self):
        return (dl.CUDA, self.cuda.ordinal)

    def _order(self, stream):
        if stream != self.stream:
            self.cuda.follow(stream, self.stream)

    def _tensor(self, versioned, flags=0):
        strides = tuple(stride // self.itemsize for stride in self.strides)
        dtype = (CODES[self.typestr[1]], self.itemsize * 8, 1)
        tensor = dl.Tensor(
            self.data,
            self.shape,
            strides,
            dtype,
            self.__dlpack_device__(),
            versioned=versioned,
            flags=flags,
            owner=self,
        )
        return self._capsule(tensor)

    def _capsule(self, tensor):
        return tensor.capsule()


class CuPyLike(DLPackArray):
    """Version 3 with the current stream, 1 for the default one; __dlpack__ with and without versions."""

    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        return {**self._members(), "descr": [("", self.typestr)], "version": 3, "stream": self.stream}

    def __dlpack__(self, stream=None, max_version=None, dl_device=None, copy=None):
        self.asked = dict(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        self.device_at_export = self.cuda.current_device()
        if stream is None:
            stream = LEGACY
        if stream == 0:
            raise ValueError("stream 0 says two things")
        if stream != -1:
            self._order(stream)
        return self._tensor(max_version is not None and max_version[0] >= 1)


class TorchLike(DLPackArray):
    """Version 2, which has no stream. __dlpack__ does not synchronise by default, knows no per-thread default stream, and
    wants its device to be the current one."""

    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        return {**self._members(), "version": 2}

    def __dlpack__(self, *, stream=-1, max_version=None, dl_device=None, copy=None):
        self.asked = dict(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        self.device_at_export = self.cuda.current_device()
        if stream is not None and type(stream) is not int:
            raise TypeError("stream must be int or None")
        if self.device_at_export != self.cuda.ordinal:
            raise BufferError("the tensor is on another device than the current one")
        if stream == PER_THREAD:
            raise BufferError("per-thread default stream is not supported")
        if stream != -1:
            self._order(stream or LEGACY)
        return self._tensor(max_version is not None and max_version[0] >= 1)


class OldTorchLike(TorchLike):
    """Before 2.9: no keyword but stream, tensors without version."""

    def __dlpack__(self, stream=-1):
        return TorchLike.__dlpack__(self, stream=stream)


class NumbaLike(DeviceArray):
    """Version 3; strides always given; a stream only if the array was made with one."""

    bound = True

    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        return {
            **self._members(),
            "strides": self.strides,
            "version": 3,
            "stream": self.stream if self.bound else None,
        }


class JaxLike(DLPackArray):
    """Version 2, read-only; __dlpack__ has its keywords but takes no notice of max_version."""

    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        return {**self._members(), "data": (self.data, True), "version": 2}

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.asked = dict(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        if stream != -1:
            self._order(stream or LEGACY)
        return self._tensor(versioned=True, flags=dl.READONLY)


class Mapping0:
    """The dictionary-like value of version 0: no dict, but it has keys and items."""

    def __init__(self, members):
        self._members = members

    def keys(self):
        return self._members.keys()

    def __len__(self):
        return len(self._members)

    def __iter__(self):
        return iter(self._members)

    def __getitem__(self, key):
        return self._members[key]


class Version0(DeviceArray):
    """No version, no strides where they are in C order."""

    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        members = self._members()
        if members["strides"] is None:
            del members["strides"]
        return Mapping0(members)


class Version1(DeviceArray):
    """Strides always, and a mask that is None."""

    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        return {**self._members(), "strides": self.strides, "mask": None, "version": 1}


class Naming(DeviceArray):
    """Version 3 with whatever `named` is as stream: None, 1, 2 or a handle. The work is on `stream`."""

    named = None

    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        return {**self._members(), "version": 3, "stream": self.named}


class Given:
    """Whatever is given as the dictionary."""

    def __init__(self, value):
        self.value = value

    @property
    def __cuda_array_interface__(self):
        return self.value
