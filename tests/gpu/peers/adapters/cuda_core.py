"""cuda.core: buffers of bytes through DLPack, whose stream argument they take no notice of; StridedMemoryView."""

import contextlib

import numpy as np
from cuda.core import Device
from cuda.core.utils import StridedMemoryView

from adapters import DLPACK, NUMBERS, Peer


class CudaCore(Peer):
    gives = (DLPACK,)
    dtypes = {DLPACK: ("|i1",)}
    streamless = (DLPACK,)
    takes_dtypes = (*NUMBERS, "bfloat16")
    negative = True
    strided = False  # its buffers have no layout
    empty = False
    ndim = 1

    def __init__(self):
        self._stream = None
        self.takes = {
            "any interface": self._take(StridedMemoryView.from_any_interface),
            "DLPack": self._take(StridedMemoryView.from_dlpack),
            "CUDA Array Interface": self._take(StridedMemoryView.from_cuda_array_interface),
        }

    def _take(self, function):
        return lambda view: function(view, stream_ptr=self.handle(self._stream) if self._stream else -1)

    def why_not(self):
        try:
            Device(0).set_current()
        except Exception as error:  # whatever its driver bindings raise
            return f"cuda.core sees no GPU: {error}"
        return None

    def array(self, values):
        Device(0).set_current()
        buffer = Device(0).allocate(values.nbytes, stream=Device(0).default_stream)
        Device(0).sync()
        self.driver.upload(int(buffer.handle), values.tobytes())
        return buffer

    def stream(self):
        Device(0).set_current()
        return Device(0).create_stream()

    def handle(self, stream):
        return int(stream.handle)

    @contextlib.contextmanager
    def on(self, stream):
        before, self._stream = self._stream, stream
        yield
        self._stream = before

    def fill(self, array, value):
        if isinstance(array, StridedMemoryView):
            address, nbytes = array.ptr, int(np.prod(array.shape)) * array.dtype.itemsize
        else:
            address, nbytes = int(array.handle), array.size
        self.driver.fill(address, value.tobytes()[0], nbytes, self.handle(self._stream))

    def numpy(self, array):
        if not isinstance(array, StridedMemoryView):
            return np.frombuffer(self.driver.download(int(array.handle), array.size), "i1")
        address, shape, strides = self.layout(array)
        below = sum(min(0, stride * (extent - 1)) for extent, stride in zip(shape, strides))
        above = sum(max(0, stride * (extent - 1)) for extent, stride in zip(shape, strides)) + array.dtype.itemsize
        data = self.driver.download(address + below, above - below)
        return np.ndarray(shape, array.dtype, data, -below, strides)

    def layout(self, array):
        if not isinstance(array, StridedMemoryView):
            return int(array.handle), (array.size,), (1,)
        strides = array.strides and tuple(stride * array.dtype.itemsize for stride in array.strides)
        return array.ptr, tuple(array.shape), strides or np.empty(array.shape, array.dtype).strides


peer = CudaCore()
