"""Numba: version 3 with the stream that an array is bound to; no DLPack of its own."""

from numba import cuda

from adapters import CAI, NUMBERS, Peer


@cuda.jit
def fill_kernel(array, value):
    i = cuda.grid(1)
    if i < array.size:
        array[i] = value


class Numba(Peer):
    gives = (CAI,)
    dtypes = {CAI: NUMBERS}
    takes = {"as_cuda_array": cuda.as_cuda_array}
    negative = True

    def __init__(self):
        self._stream = 0

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

    def on(self, stream):
        return Working(self, stream)

    def fill(self, array, value):
        fill_kernel[(array.size + 63) // 64, 64, self._stream](array, value)

    def numpy(self, array):
        cuda.synchronize()
        return array.copy_to_host()

    def layout(self, array):
        return array.__cuda_array_interface__["data"][0], array.shape, array.strides


class Working:
    """Numba has no current stream: a kernel is told its stream."""

    def __init__(self, peer, stream):
        self.peer, self.stream = peer, stream

    def __enter__(self):
        self.before, self.peer._stream = self.peer._stream, self.stream

    def __exit__(self, *error):
        self.peer._stream = self.before


peer = Numba()
