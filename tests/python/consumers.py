"""Consumers of arrays in CUDA memory that behave as the array libraries do, written in Python over the raw driver.

Each reads the protocol as its model does and then works on a stream of its own without ever waiting on the host: what
it reads and writes is ordered by the protocol alone, or it is a race, which the simulated driver reports.
"""

import dlpack_structs as dl


def reach(shape, strides, itemsize):
    """The bytes that elements can reach: (first, end) from element [0, ..., 0]."""
    if 0 in shape:
        return 0, 0
    spans = [stride * (extent - 1) for extent, stride in zip(shape, strides)]
    return sum(min(span, 0) for span in spans), sum(max(span, 0) for span in spans) + itemsize


def c_strides(shape, itemsize):
    strides, step = [], itemsize
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(extent, 1)
    return tuple(strides)


class CaiConsumer:
    """CuPy and Numba: stream waits for the stream that is named; what the producer named then waits for us."""

    def __init__(self, cuda, stream=None):
        self.cuda = cuda
        self.stream = cuda.stream() if stream is None else stream

    def take(self, array):
        self.dict = array.__cuda_array_interface__
        self.array = array
        self.named = self.dict.get("stream")
        if self.named is not None and self.named != self.stream:
            self.cuda.follow(self.stream, self.named)
        self.shape = self.dict["shape"]
        itemsize = int(self.dict["typestr"][2:])
        strides = self.dict["strides"] or c_strides(self.shape, itemsize)
        first, end = reach(self.shape, strides, itemsize)
        self.pointer, self.nbytes = self.dict["data"][0] + first, end - first
        return self

    def fill(self, value):
        self.cuda.fill(self.pointer, value, self.nbytes, self.stream)

    def copied(self):
        """The bytes, read on our stream into memory of ours. Waits for our stream only."""
        return _copied(self)

    def hand_back(self):
        """Work that the producer enqueues from now on comes after ours."""
        if self.named is not None and self.named != self.stream:
            self.cuda.follow(self.named, self.stream)


class StreamlessConsumer(CaiConsumer):
    """PyTorch: takes no notice of the stream that is named."""

    def take(self, array):
        super().take(array=_WithoutStream(array))
        return self


class _WithoutStream:
    def __init__(self, array):
        self._array = array

    @property
    def __cuda_array_interface__(self):
        return {key: value for key, value in self._array.__cuda_array_interface__.items() if key != "stream"}


class DLPackConsumer:
    """from_dlpack(): asks for the device, passes its stream, and takes what comes."""

    def __init__(self, cuda, stream=None):
        self.cuda = cuda
        self.stream = cuda.stream() if stream is None else stream

    def take(self, array, **keywords):
        self.device = array.__dlpack_device__()
        keywords = {"stream": self.stream, "max_version": (1, 3), **keywords}
        self.taken = dl.take(array.__dlpack__(**keywords))
        tensor = self.taken.tensor
        itemsize = (tensor.dtype.bits * tensor.dtype.lanes + 7) // 8
        self.shape = tensor.shape_tuple() or ()
        strides = [stride * itemsize for stride in tensor.strides_tuple() or ()]
        first, end = reach(self.shape, strides, itemsize)
        self.pointer, self.nbytes = (tensor.data or 0) + tensor.byte_offset + first, end - first
        return self

    def fill(self, value):
        self.cuda.fill(self.pointer, value, self.nbytes, self.stream)

    def copied(self):
        return _copied(self)

    def delete(self):
        self.taken.delete()


def _copied(consumer):
    to = consumer.cuda.alloc(consumer.nbytes)
    consumer.cuda.copy(to, consumer.pointer, consumer.nbytes, consumer.stream)
    consumer.cuda.synchronize_stream(consumer.stream)
    return consumer.cuda.download(to, consumer.nbytes)
