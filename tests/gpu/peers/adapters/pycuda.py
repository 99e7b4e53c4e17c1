"""PyCUDA: the CUDA Array Interface without a stream; it takes memory by its address."""

import pycuda.autoprimaryctx  # noqa: F401: makes the primary context current
import pycuda.driver
from pycuda import gpuarray

from adapters import CAI, NUMBERS, TellingPeer


def by_address(view):
    return gpuarray.GPUArray(view.shape, view.dtype, base=view, gpudata=int(view.buffer), strides=view.strides)


class PyCuda(TellingPeer):
    gives = (CAI,)
    dtypes = {CAI: NUMBERS}
    streamless = (CAI,)
    takes = {"by address": by_address}
    heedless = ("by address",)
    strided = False
    empty = False

    def array(self, values):
        array = gpuarray.to_gpu(values)
        pycuda.driver.Context.synchronize()
        return array

    def stream(self):
        return pycuda.driver.Stream()

    def handle(self, stream):
        return stream.handle

    def fill(self, array, value):
        array.fill(value, stream=self._stream)

    def copied(self, array):
        to = gpuarray.empty(array.shape, array.dtype)
        pycuda.driver.memcpy_dtod_async(to.gpudata, array.gpudata, array.nbytes, self._stream)
        return to

    def numpy(self, array):
        pycuda.driver.Context.synchronize()
        return array.get()

    def layout(self, array):
        return int(array.gpudata), array.shape, array.strides


peer = PyCuda()
