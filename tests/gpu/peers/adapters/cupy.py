"""CuPy: version 3 with its current stream, DLPack of both kinds, pools, negative strides."""

import cupy

from adapters import CAI, DLPACK, NUMBERS, Peer


def types():
    """bfloat16 since it knows the type of ml_dtypes."""
    try:
        import ml_dtypes

        cupy.zeros(1, ml_dtypes.bfloat16)
    except (ImportError, TypeError, ValueError):
        return NUMBERS
    return (*NUMBERS, "bfloat16")


class CuPy(Peer):
    takes = {"asarray": cupy.asarray, "from_dlpack": cupy.from_dlpack}
    negative = True
    wrong_negative = (DLPACK,)  # CuPy 14 divides the strides as unsigned numbers

    def __init__(self):
        self.takes_dtypes = types()
        self.dtypes = {CAI: NUMBERS, DLPACK: self.takes_dtypes}

    def why_not(self):
        return None if cupy.cuda.is_available() else "CuPy sees no GPU"

    def array(self, values):
        array = cupy.asarray(values)
        cupy.cuda.Device().synchronize()
        return array

    def stream(self):
        return cupy.cuda.Stream(non_blocking=True)

    def handle(self, stream):
        return stream.ptr

    def on(self, stream):
        return stream

    def fill(self, array, value):
        array[...] = value

    def copied(self, array):
        return array.copy()

    def numpy(self, array):
        cupy.cuda.Device().synchronize()
        return array.get()

    def layout(self, array):
        return array.data.ptr, array.shape, array.strides


peer = CuPy()
