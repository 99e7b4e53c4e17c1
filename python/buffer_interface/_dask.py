"""The size of an array for Dask, which loads this module by the entry point dask.sizeof."""

from ._core import BufferInterface


def register_sizeof(sizeof):
    @sizeof.register(BufferInterface)
    def bytes_of(array):
        return array.nbytes + object.__sizeof__(array)
