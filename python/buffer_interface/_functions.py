"""Functions of the module that combine others. Most have the names of the Array API standard."""

from . import _array
from ._core import asarray, buffer_interface, empty, empty_like, full, zeros


def ones(shape, dtype="float64", *, device="auto", stream=None):
    """Returns a dense array in C order whose elements are 1. The arguments are those of zeros()."""
    return full(shape, 1, dtype, device=device, stream=stream)


def zeros_like(x, /, *, device=None):
    """Returns empty_like(x) with every byte set to 0."""
    array = asarray(x)
    return zeros(array.shape, _array.element_type(array), device=array if device is None else device)


def full_like(x, /, value, *, device=None):
    """Returns empty_like(x) with every element set to the value, as fill() converts it."""
    array = empty_like(x, device=device)
    array.fill(value)
    return array


def ones_like(x, /, *, device=None):
    """Returns empty_like(x) whose elements are 1."""
    return full_like(x, 1, device=device)


def from_numpy(array, *, device="auto"):
    """Returns a dense copy of any array on a device. Host memory has been read when this returns.

    >>> array = buffer_interface.from_numpy(numpy.arange(3), device='opencl')
    >>> array.backend, array.tolist()
    ('opencl', [0, 1, 2])
    """
    return asarray(array, device="auto" if device is None else device, copy=True)


def arange(start, stop=None, step=1, dtype=None, *, device="auto"):
    """Returns the numbers from `start` to below `stop` with the distance `step`, as numpy.arange() makes them.

    arange(n) starts at 0. Needs NumPy.

    >>> buffer_interface.arange(2, 8, 3, device="host").tolist()
    [2, 5]
    """
    numbers = _array._numpy_module("arange()")
    if start is None:
        raise TypeError("arange() needs a number, not None")
    start, stop = (0, start) if stop is None else (start, stop)
    if dtype is not None:
        dtype = empty((), dtype, device="host").dtype  # NumPy finds the types of ml_dtypes only after ml_dtypes is imported
    try:
        array = numbers.arange(start, stop, step, dtype=dtype)
    except ZeroDivisionError:
        raise ValueError("step is 0: it has to be another number, below 0 for numbers that fall") from None
    return from_numpy(array, device=device)


def shared_empty(shape, dtype="float64"):
    """Returns a dense array in C order in host memory that several processes can use. Its elements are 0.

    An argument or result of multiprocessing (Process, Pool, Queue, ProcessPoolExecutor) is the same memory in the other
    process, also if it is a view of the array. Any other pickle is a copy. The library orders nothing between processes:
    use the locks of multiprocessing, or wait for the other process.

    The memory has no name, and the kernel frees it when no process uses it any more. A process that has sent an array
    must live until it is received. MemoryError if the array is larger than the memory of the machine, or than the
    process may map (ulimit -v, ulimit -f). OSError with errno EMFILE if the process may open no more files (ulimit -n):
    the memory of an array uses one file descriptor, and before Python 3.13 two.

    >>> array = buffer_interface.shared_empty((2, 3), "f4")
    >>> array[0] = 7
    >>> array.tolist()
    [[7.0, 7.0, 7.0], [0.0, 0.0, 0.0]]
    """
    from . import _shared

    return _shared.shared_empty(shape, dtype)


def from_dlpack(x, /, *, device=None, copy=None):
    """Returns an array of a library with DLPack, on `device` if it is given. `device` and `copy` are as in asarray()."""
    array = buffer_interface(x, protocol="dlpack")
    return asarray(array, device=device, copy=copy)


def broadcast_to(x, /, shape):
    """Returns a read-only view that repeats the array to a larger shape. ValueError if the shapes do not fit.

    >>> buffer_interface.broadcast_to(numpy.arange(3), (2, 3)).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    return asarray(x).broadcast_to(shape)


def expand_dims(x, /, axis=0):
    """Returns a view with new axes of one element at the positions `axis` of the result, an int or a tuple of int."""
    return _array.expand_dims(asarray(x), axis)


def flip(x, /, axis=None):
    """Returns a view with the elements in reverse order along `axis`: an int, a tuple of int, or None for all axes."""
    return _array.flip(asarray(x), axis)


def moveaxis(x, source, destination, /):
    """Returns a view in which the axes `source` are at the positions `destination`, each an int or a tuple of int."""
    return _array.moveaxis(asarray(x), source, destination)


def ravel(x, /):
    """Returns the elements along one axis in C order: a view if they are dense, else a copy."""
    return asarray(x).ravel()


def squeeze(x, /, axis=None):
    """Returns a view without the axes of one element, or without those that `axis` names, an int or a tuple of int."""
    return asarray(x).squeeze(axis)
