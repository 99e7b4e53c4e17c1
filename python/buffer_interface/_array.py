"""Methods of BufferInterface that use NumPy or Python's own types.

The methods of the type call these functions. NumPy is imported where a function needs it. No function here computes
with elements: each of them describes, copies or converts.
"""

import builtins
import operator
import sys
from collections.abc import Sequence

from ._core import InvalidArrayError, UnsupportedError, UnsupportedTypeError, _has_protocol, _is_complete, _mark, buffer_interface

# A repr shows all of at most THRESHOLD elements, and of a larger array the first and last EDGE elements of each axis.
THRESHOLD = 1000
EDGE = 3

CUDA_HOST = 3  # DLPack's device type of pinned memory


def element_type(array):
    """Returns the dtype argument for elements of this type: the list of fields, which may be empty, or the typestr."""
    return array.typestr if array.descr is None else array.descr


def _is_host(array):
    return array.backend == "host"


def _numpy_module(purpose):
    try:
        import numpy
    except ImportError as error:
        raise ImportError(f"{purpose} needs NumPy, which is not installed: pip install numpy") from error
    return numpy


def ndarray(array, dtype=None, *, copy=None):
    """Returns host memory as a numpy.ndarray. TypeError for other memory: NumPy would make an array of objects."""
    if array.mask is not None:
        raise UnsupportedError("the array is masked, and this protocol would lose its mask [H5]")
    if not _is_host(array) and array.__dlpack_device__()[0] != CUDA_HOST:
        raise TypeError(
            f"memory of {array.device_spec} is not copied to the host implicitly: use numpy(), map() or to('host') [H3]"
        )
    module = _numpy_module("__array__()")
    made = _ndarray_of(module, array)
    if (dtype is None or made.dtype == module.dtype(dtype)) and not copy:
        return made
    if copy is not None and not copy:
        raise ValueError(f"dtype {dtype!r} needs a copy, and copy is False")
    return module.array(made, dtype)


ndarray.__qualname__ = "__array__"  # which error messages name


def check_bit_fields(kind):
    """Raises UnsupportedTypeError for a class of ctypes with bit fields, also in the structures that it contains."""
    ctypes = sys.modules.get("ctypes")
    while ctypes and issubclass(kind, ctypes.Array):
        kind = kind._type_
    if not ctypes or not issubclass(kind, (ctypes.Structure, ctypes.Union)):
        return
    for base in kind.__mro__:
        for name, inner, *bits in vars(base).get("_fields_", ()):
            if bits:
                raise UnsupportedTypeError(
                    f"field {name!r} of a structure of ctypes is a bit field: numpy.frombuffer(x, 'u1') reads the bytes"
                )
            check_bit_fields(inner)


def check_fields(dtype):
    """Raises UnsupportedTypeError for a field of another package's type, such as bfloat16, which NumPy's descr misnames."""
    for name in dtype.names:
        field = dtype[name].base
        if field.names is not None:
            check_fields(field)
        elif field.isbuiltin == 2:
            raise UnsupportedTypeError(
                f"field {name!r} of a structure has the type {field.name}, which this library supports in no structure"
            )


def _ndarray_of(module, array):
    """Returns the array without a copy.

    Elements of a type without a typestr, or with fields, are passed as raw bytes. The buffer protocol and
    __array_interface__ have no name for a type without a typestr. The structured types that NumPy reads from these
    protocols lack titles, and may have fields for the gaps.
    """
    if array.typestr[0] in "<>|" and (array.descr is None or array.itemsize == 0):
        return module.asarray(array)
    dtype = array.dtype
    return module.asarray(array.view(f"|V{array.itemsize}")).view(dtype)


def numpy(array):
    _numpy_module("numpy()")
    return ndarray(array if _is_host(array) else array.to("host"))


def tolist(array):
    return numpy(array).tolist()


def tobytes(array):
    """Strided host memory is copied first, because bytes() needs dense elements."""
    return b"" if array.nbytes == 0 else bytes(memoryview(_bytes_of(array)))


def _bytes_of(array):
    """Returns the elements in C order as a dense array of uint8 in host memory, without a copy where possible."""
    host = array if _is_host(array) else array.to("host")
    if not _is_dense(host):
        host = host.copy()
    return host.reshape(-1).view("u1")


def _is_dense(array):
    expected = array.itemsize
    for extent, stride in zip(array.shape[::-1], array.strides[::-1]):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


# Comparisons, iteration, formatting


def _refuse_device(array, operation, instead):
    if not _is_host(array):
        raise UnsupportedError(
            f"{operation} of memory of {array.device_spec} would copy it to the host: write {instead}, "
            "or use a library that computes on the device"
        )


def _has_elements_to_compare(array, other):
    """Returns true for what NumPy compares element by element: a number, a sequence, an array, and a text if the elements
    are texts or bytes."""
    if isinstance(other, (str, bytes)):
        return array.typestr[1] in "SUV"
    if isinstance(other, Sequence) or _has_protocol(other) or hasattr(other, "shape"):
        return True
    return any(hasattr(type(other), name) for name in ("__float__", "__index__", "__complex__", "__array__"))


def compare(array, other, is_equal):
    if not _is_host(array) and not _has_elements_to_compare(array, other):
        return NotImplemented
    if isinstance(other, type(array)):
        _refuse_device(other, "a comparison", "a.numpy() == b.numpy()")
        other = other.numpy()
    _refuse_device(array, "a comparison", "a.numpy() == b")
    return (operator.eq if is_equal else operator.ne)(numpy(array), other)


def contains(array, value):
    _refuse_device(array, "`in`", "x in a.numpy()")
    return value in numpy(array)


def iterate(array):
    """Iterates over copies of the elements of a one-dimensional array, else over views along the first axis."""
    if array.ndim == 0:
        raise TypeError("an array without axes cannot be iterated over: use item()")
    if array.ndim == 1:
        return iter(tolist(array))
    return (array[i] for i in range(len(array)))


def reversed(array):
    """Iterates backwards over what iterate() gives. The default would give views of single elements."""
    return iterate(array[::-1] if array.ndim else array)


def format(array, spec):
    """The text of an element, as NumPy makes it. Without a format the text is str(array)."""
    if not spec or array.ndim:
        return object.__format__(array, spec)
    return builtins.format(array.item(), spec)


# NumPy's part in elements and mappings


def pack_element(dtype, value):
    """Returns the bytes of an element. The element is the only field of an array, so that a tuple is one value."""
    module = _numpy_module("this element type")
    box = module.zeros((), [("value", dtype)])
    try:
        box["value"] = value
    except TypeError:  # ml_dtypes converts no Decimal, no Fraction and no integer of more than 64 bits
        if dtype.isbuiltin != 2 or isinstance(value, (str, bytes, module.generic)):
            raise
        try:
            box["value"] = float(value)
        except OverflowError:
            raise OverflowError(f"a value of type {type(value).__name__} is too large for {dtype.name}") from None
    return box.tobytes()


def unpack_element(dtype, contents):
    return _numpy_module("this element type").ndarray((), [("value", dtype)], contents)["value"].tolist()


def mapped_numpy(mapping):
    """Returns the NumPy array of a mapping, made from a memoryview.

    If the buffer of a mapping fails, NumPy would call its __array__, which calls this function again.
    """
    memory = memoryview(mapping)
    module = _numpy_module("numpy()")
    array = module.asarray(memory)
    if memory.ndim == len(mapping.shape):
        return array
    # The buffer has one more axis, for the bytes of an element. NumPy makes no view of elements of 0 bytes.
    dtype = mapping.dtype
    if dtype.subdtype:  # of several lanes: NumPy has one more axis for them too
        return array.view(dtype.subdtype[0])
    return array.view(dtype)[..., 0] if dtype.itemsize else module.empty(mapping.shape, dtype)


def mapped_array(mapping, *args, **words):
    """Returns mapped_numpy(mapping), converted or copied by the rules of the installed NumPy."""
    return mapped_numpy(mapping).__array__(*args, **words)


# Copies and pickles


def deepcopy(array, memo):
    copied = array.copy()
    memo[id(array)] = copied
    return copied


def reduce(array, protocol):
    if array.mask is not None:
        raise UnsupportedError("the array is masked: pickle the array without its mask, and .mask, one by one")
    dtype = element_type(array)
    device = "host" if _is_host(array) else array.device_spec
    contents = b"" if array.nbytes == 0 else _bytes_of(array)
    if array.nbytes and protocol >= 5:
        from pickle import PickleBuffer  # imported here, because it takes longer than the whole package

        contents = PickleBuffer(contents)
    elif array.nbytes:
        contents = bytearray(memoryview(contents))
    return rebuild, (contents, array.shape, dtype, device)


def rebuild(contents, shape, dtype, device):
    """Makes an array of what reduce() returned. Uses `contents` without a copy if the array was in host memory."""
    flat = buffer_interface(contents)
    if flat.ndim != 1 or flat.itemsize != 1:
        raise InvalidArrayError(f"the pickled contents have type {flat.typestr} and shape {flat.shape}, not bytes")
    array = flat.view(dtype).reshape(shape) if flat.nbytes else _rebuild_empty(shape, dtype)
    return array if device == "host" else array.to(device)


def _rebuild_empty(shape, dtype):
    from ._core import empty

    return empty(shape, dtype, device="host")


# Views


def ravel(array):
    return (array if _is_dense(array) else array.copy()).reshape(-1)


def _axis_in(axis, ndim):
    try:
        axis = operator.index(axis)
    except TypeError:
        raise TypeError(f"axis is of type {type(axis).__name__}, not an int or a tuple of them") from None
    if not -ndim <= axis < ndim:
        shown = axis if abs(axis) < 10**99 else "of too many digits"  # Python prints at most 4300 digits
        raise IndexError(f"axis {shown} of an array with {ndim} axes")
    return axis % ndim


def _axes_in(axes, ndim):
    axes = axes if isinstance(axes, (tuple, list)) else (axes,)
    found = [_axis_in(axis, ndim) for axis in axes]
    if len(set(found)) != len(found):
        raise ValueError(f"axes {tuple(axes)} name an axis twice")
    return found


def squeeze(array, axis=None):
    shape = array.shape
    axes = [i for i, extent in enumerate(shape) if extent == 1] if axis is None else _axes_in(axis, array.ndim)
    for i in axes:
        if shape[i] != 1:
            raise ValueError(f"axis {i} has {shape[i]} elements: only axes of one element can be removed")
    return array[tuple(0 if i in axes else slice(None) for i in range(array.ndim))]


def expand_dims(array, axis=0):
    """Returns a view with new axes of one element at the positions `axis` of the result, an int or a tuple of int."""
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    new = _axes_in(axes, array.ndim + len(axes))
    return array[tuple(None if i in new else slice(None) for i in range(array.ndim + len(new)))]


def flip(array, axis=None):
    """Returns a view with the elements in reverse order along `axis`: an int, a tuple of int, or None for all axes."""
    axes = range(array.ndim) if axis is None else _axes_in(axis, array.ndim)
    return array[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(array.ndim))]


def moveaxis(array, source, destination):
    """Returns a view in which the axes `source` are at the positions `destination`, each an int or a tuple of int."""
    sources, destinations = _axes_in(source, array.ndim), _axes_in(destination, array.ndim)
    if len(sources) != len(destinations):
        raise ValueError(f"source has {len(sources)} axes, destination has {len(destinations)}")
    order = [i for i in range(array.ndim) if i not in sources]
    for place, axis in sorted(zip(destinations, sources)):
        order.insert(place, axis)
    return array.transpose(*order) if order else array


def swap_last_axes(array):
    if array.ndim < 2:
        raise ValueError(f"mT needs at least two axes, the array has {array.ndim}")
    return moveaxis(array, -1, -2)


def to_device(array, device, stream=None):
    return array.to(device, stream=stream)


# Waiting


# The seconds between two queries of the driver double up to LONGEST_SLEEP. A short wait becomes at most about twice
# as long by that.
SHORTEST_SLEEP = 2e-5
LONGEST_SLEEP = 5e-3


async def ready(array):
    """Returns when the work on the array is complete. Other tasks of asyncio run meanwhile.

    For device memory, queries an event at intervals; no thread waits. For host memory, a thread of the event loop's
    executor waits.
    """
    import asyncio

    for part in (array, array.mask):
        if part is None:
            continue
        if _is_host(part):
            await asyncio.get_running_loop().run_in_executor(None, part.synchronize)
            continue
        mark, seconds = _mark(part), SHORTEST_SLEEP
        while not _is_complete(mark):
            await asyncio.sleep(seconds)
            seconds = min(2 * seconds, LONGEST_SLEEP)


# Text


def _edges(array):
    """Returns a NumPy array that prints as the whole array does, and whether it is cut. Copies only what is printed."""
    module = _numpy_module("repr()")
    if array.size <= THRESHOLD:
        return numpy(array), False
    shape = tuple(min(extent, 2 * EDGE + 1) for extent in array.shape)
    shown = module.zeros(shape, dtype=array.dtype)
    for corner in _corners(array.shape):
        source = tuple(part for part, _ in corner)
        target = tuple(part for _, part in corner)
        shown[target] = numpy(array[source])
    return shown, True


def _corners(shape):
    """Yields tuples with a pair for each axis: the slice of the array, and the slice of the array that is printed."""
    import itertools

    axes = []
    for extent in shape:
        if extent <= 2 * EDGE + 1:
            axes.append([(slice(None), slice(None))])
        else:
            axes.append([(slice(None, EDGE), slice(None, EDGE)), (slice(extent - EDGE, None), slice(EDGE + 1, None))])
    return itertools.product(*axes)


def contents_text(array):
    """Returns the elements as text. Returns '' if NumPy or a type of it is missing, a copy fails, or there is a mask."""
    try:
        if array.mask is not None:
            return ""
        shown, is_cut = _edges(array)
        return _numpy_module("repr()").array2string(shown, threshold=0 if is_cut else THRESHOLD, edgeitems=EDGE)
    except (ImportError, TypeError, ValueError, BufferError, RuntimeError, MemoryError):
        return ""


def html(array):
    from . import _html

    return _html.page(array)
