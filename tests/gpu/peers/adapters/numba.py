"""Numba: version 3 with the stream that an array is bound to; no DLPack of its own."""

import numpy

numpy.row_stack = getattr(numpy, "row_stack", numpy.vstack)  # numba-cuda needs it, and NumPy 2.5 does not have it
from numba import cuda  # noqa: E402

from adapters import CAI, NUMBERS, TellingPeer  # noqa: E402


@cuda.jit
def fill_kernel(array, value):
    i = cuda.grid(1)
    if i < array.size:
        array[i // array.shape[1], i % array.shape[1]] = value


@cuda.jit
def copy_kernel(to, array):
    i = cuda.grid(1)
    if i < array.size:
        to[i // array.shape[1], i % array.shape[1]] = array[i // array.shape[1], i % array.shape[1]]


class Numba(TellingPeer):
    gives = (CAI,)
    dtypes = {CAI: NUMBERS}
    takes = {"as_cuda_array": cuda.as_cuda_array}
    negative = True
    _stream = 0

    def why_not(self):
        return None if cuda.is_available() else "Numba sees no GPU"

    def array(self, values):
        array = cuda.to_device(values)
        cuda.synchronize()
        return array

    def stream(self):
        return cuda.stream()

    def handle(self, stream):
        return int(getattr(stream.handle, "value", stream.handle))

    def bound(self, values, stream):
        array = cuda.to_device(values, stream=stream)
        stream.synchronize()
        return array

    def fill(self, array, value):
        fill_kernel[(array.size + 63) // 64, 64, self._stream](array, value)

    def copied(self, array):
        to = cuda.device_array(array.shape, array.dtype)
        copy_kernel[(array.size + 63) // 64, 64, self._stream](to, array)
        return to

    def numpy(self, array):
        if min(array.strides, default=0) < 0:
            array = self.copied(array)  # it has no copy of these to the host
        cuda.synchronize()
        return array.copy_to_host()

    def layout(self, array):
        return array.__cuda_array_interface__["data"][0], array.shape, array.strides


peer = Numba()
