"""Arrays in host, OpenCL and CUDA memory of any library, without a copy."""

from collections.abc import Iterable, Iterator
from types import EllipsisType, TracebackType
from typing import Any, ClassVar, Final, Literal, SupportsIndex, TypeAlias, final

import numpy as np
from _typeshed import structseq
from numpy.typing import DTypeLike, NDArray
from typing_extensions import CapsuleType

__version__: str

__all__ = [
    "BufferInterface",
    "Device",
    "DriverError",
    "Handle",
    "InvalidArrayError",
    "Mapping",
    "UnsupportedError",
    "UnsupportedTypeError",
    "arange",
    "asarray",
    "broadcast_to",
    "buffer_interface",
    "copyto",
    "devices",
    "empty",
    "empty_like",
    "expand_dims",
    "flip",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "get_include",
    "join",
    "moveaxis",
    "ones",
    "ones_like",
    "pyopencl_array",
    "ravel",
    "set_threads",
    "shared_empty",
    "shares_memory",
    "squeeze",
    "threads",
    "trim",
    "zeros",
    "zeros_like",
]

# An object that supports DLPack, the CUDA Array Interface, the buffer protocol, NumPy's array interface or the BufferInterface.
_Array: TypeAlias = Any
# CUDA: 1, 2, a handle, or a stream object of another library. OpenCL: an object with `int_ptr`.
_Stream: TypeAlias = Any
_Device: TypeAlias = str | SupportsIndex | tuple[int, int] | Device | BufferInterface
_Shape: TypeAlias = SupportsIndex | Iterable[SupportsIndex]
_IndexItem: TypeAlias = SupportsIndex | slice | EllipsisType | None
_Index: TypeAlias = _IndexItem | tuple[_IndexItem, ...] | str
# "draft": the method __buffer_interface__(), or the attributes of the specification, section 2.
_Protocol: TypeAlias = Literal[
    "native",
    "draft",
    "pyopencl",
    "cuda_array_interface",
    "dlpack",
    "buffer",
    "array_interface",
    "array_struct",
]

# Import

def buffer_interface(
    obj: _Array,
    /,
    *,
    stream: _Stream | None = None,
    producer_stream: _Stream | None = None,
    sync: bool = True,
    writable: bool | None = None,
    mask: Literal["refuse", "keep"] = "refuse",
    check: bool = True,
    trust: bool = False,
    protocol: _Protocol | None = None,
    copy: bool = False,
) -> BufferInterface:
    """Returns an array of host, OpenCL or CUDA memory as a BufferInterface, without a copy.

    Work enqueued on `stream` from now on waits for the producer's work. At the end of a `with` block the producer's later
    work waits for the work on `stream`. producer_stream is the stream of the producer's work. sync=False: the library orders
    nothing. check=False: the driver does not check pointers.
    """

def asarray(
    obj: _Array, *, dtype: DTypeLike | None = None, device: _Device | None = None, copy: bool | None = None
) -> BufferInterface:
    """Returns any array as a BufferInterface. It is copied if it is not on `device`, or if copy is True."""

def from_dlpack(x: _Array, /, *, device: _Device | None = None, copy: bool | None = None) -> BufferInterface:
    """Returns an array of a library with DLPack, on `device` if it is given."""

# Arrays

@final
class BufferInterface:
    """An n-dimensional array in host, OpenCL or CUDA memory of any library. buffer_interface() imports one."""

    __buffer_interface_c__: CapsuleType
    buffer_interface_version: int
    __dlpack_c_exchange_api__: CapsuleType
    __c_dlpack_exchange_api__: CapsuleType

    # Properties
    @property
    def buffer(self) -> Handle:
        """The handle: .int_ptr is the cl_mem of OpenCL memory; int() is the cl_mem, or the address of the first element."""
    @property
    def offset(self) -> int:
        """Bytes from the start of the cl_mem to the first element; 0 for other memory."""
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis. May be negative or 0."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type. Imports NumPy, and ml_dtypes for types that only it has."""
    @property
    def typestr(self) -> str:
        """The typestr of the element type, such as '<f4', or its name if it has no typestr: 'bfloat16'."""
    @property
    def descr(self) -> list[Any] | None:
        """The fields of a structured type as the array interface lists them; None for a simple type."""
    @property
    def itemsize(self) -> int: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int:
        """Bytes of all elements, without the gaps between them."""
    @property
    def readonly(self) -> bool: ...
    @property
    def backend(self) -> str:
        """'host', 'opencl' or 'cuda'."""
    @property
    def device(self) -> int | tuple[int, int] | None:
        """CUDA: the ordinal. OpenCL: (platform, ordinal), -1 if not known. Host: None."""
    @property
    def device_name(self) -> str: ...
    @property
    def device_spec(self) -> str:
        """Device string of the device, which the argument `device` accepts."""
    @property
    def context(self) -> int | None:
        """The cl_context or CUcontext; None for host memory."""
    @property
    def cl_context(self) -> int:
        """AttributeError for other memory than OpenCL's."""
    @property
    def cl_command_queue(self) -> int:
        """The queue on which the memory is ready. AttributeError for other memory than OpenCL's."""
    @property
    def stream(self) -> int | None:
        """The stream of pending work: a cl_command_queue, or CUDA's 1 or a handle. None for host memory, or if
        no work is pending. Always None if __buffer_interface__(1) made this object."""
    @property
    def host_pointer(self) -> int | None:
        """Address of the first element if the CPU can use the memory in place. Does not wait for pending work."""
    @property
    def mask(self) -> BufferInterface | None: ...
    @property
    def released(self) -> bool: ...

    def __buffer_interface__(self, flags: int = 0, /) -> BufferInterface:
        """Returns the array itself, or another object of the memory if `stream` of this one does not fit `flags`. `flags`
        are BI_ACQUIRE_ bits of abi.h: 1 waits until the memory and the mask are ready, and both then name no stream."""

    # Contents
    def numpy(self) -> NDArray[Any]:
        """Returns the elements after pending work: host memory without a copy, memory of a device as a copy."""
    def get(self) -> NDArray[Any]:
        """The same as numpy(), by the name of CuPy and pyopencl."""
    def tolist(self) -> Any: ...
    def tobytes(self) -> bytes: ...
    async def ready(self) -> None:
        """Ends when the work that is pending now is complete. asyncio goes on meanwhile."""
    def to_device(self, device: _Device, /, *, stream: _Stream | None = None) -> BufferInterface:
        """The same as to(), by the name of the Array API standard."""
    def __copy__(self) -> BufferInterface: ...
    def __deepcopy__(self, memo: dict[int, Any], /) -> BufferInterface: ...
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]: ...
    def _repr_html_(self) -> str: ...

    # Lifetime and order
    def release(self) -> None:
        """Hands an acquired stream back and releases the memory. Exports that hold a reference keep the memory.

        A producer that keeps the BufferInterface of itself forms a cycle that the garbage collector cannot see. release()
        ends the cycle.
        """
    def __enter__(self) -> BufferInterface: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...
    def acquire(self, stream: _Stream, /) -> None:
        """Work enqueued on the stream from now on waits for the work that is pending on the memory."""
    def hand_back(self, stream: _Stream, /) -> None:
        """Later work on the memory waits for the work that is now on the stream."""
    def join(self, *streams: _Stream) -> None:
        """Calls hand_back() for each of the streams."""
    def synchronize(self) -> None:
        """Waits until all work on the memory is complete. DriverError if some of it failed."""

    # Other views of the memory
    @property
    def T(self) -> BufferInterface: ...
    @property
    def mT(self) -> BufferInterface:
        """A view with the last two axes swapped."""
    def ravel(self) -> BufferInterface:
        """Returns the elements along one axis in C order: a view if they are dense, else a copy."""
    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> BufferInterface:
        """Returns a view without the axes of one element, or without those that `axis` names."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]:
        """Iterates over Python objects, copies of the elements, with one axis; with more over views along the first."""
    def __reversed__(self) -> Iterator[Any]:
        """Iterates backwards over what iteration gives."""
    def __format__(self, spec: str, /) -> str:
        """Formats the element of an array without axes. An array with axes: str() if spec is empty, otherwise TypeError."""
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __contains__(self, value: object, /) -> bool:
        """Compares host memory by NumPy. UnsupportedError for memory of a device."""
    def __eq__(self, other: object, /) -> NDArray[np.bool_]:  # type: ignore[override]
        """Compares host memory element by element, by NumPy. UnsupportedError for memory of a device."""
    def __ne__(self, other: object, /) -> NDArray[np.bool_]: ...  # type: ignore[override]
    def __bool__(self) -> bool:
        """The truth of the only element. TypeError for an array with another number of elements."""
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...
    def __getitem__(self, key: _Index, /) -> BufferInterface:
        """Always a view, also for one element: `a[0], a[1] = a[1], a[0]` gives both the same element. item() copies one."""
    def __setitem__(self, key: _Index, value: _Array, /) -> None:
        """Copies as copyto() does. If a device writes to host memory, the copy is complete after synchronize(), or at the
        end of the array's `with` block."""
    def __delitem__(self, key: _Index, /) -> None:
        """Always a TypeError."""
    def transpose(self, *axes: _Shape | None) -> BufferInterface: ...
    def reshape(self, *shape: _Shape) -> BufferInterface:
        """Returns a view with another shape. ValueError if only a copy could have the shape."""
    def view(self, dtype: DTypeLike) -> BufferInterface:
        """Returns a view of the same bytes with another element type."""
    def broadcast_to(self, shape: _Shape, /) -> BufferInterface:
        """Returns a read-only view that repeats the array."""

    # Values
    def copy(self, *, stream: _Stream | None = None) -> BufferInterface:
        """Enqueues a dense copy in C order on the same device and returns it."""
    def to(self, device: _Device, *, stream: _Stream | None = None) -> BufferInterface:
        """Returns the array on another device: a dense copy, or the array itself if it is on the device already."""
    def fill(self, value: Any, *, stream: _Stream | None = None) -> None:
        """Enqueues a fill: every element becomes the value.

        The value is converted to the element type: a float loses its fraction in an integer type, is rounded or becomes
        inf in a smaller float type, and a text that is too long is truncated. OverflowError for an integer that does not fit.
        """
    def item(self, *index: _Shape) -> Any:
        """Returns one element as a Python object, after the work that is pending on the memory."""
    def map(self, mode: Literal["r", "w", "rw"] = "r") -> Mapping:
        """Returns the elements in memory that the CPU can use: 'r' reads, 'w' writes every element, 'rw' does both.

        An array that was made from the mapping keeps it after the `with` block: delete the array in the block.
        """

    # Exports
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3. AttributeError for memory that is not CUDA's."""
    def cuda_array_interface(
        self, version: int = 3, *, sync: bool = True, synchronize: bool = False, bfloat16_as_void: bool = False
    ) -> dict[str, Any]:
        """Returns the dictionary in version 0 to 3. UnsupportedError for memory that is not CUDA's."""
    @property
    def __array_interface__(self) -> dict[str, Any]:
        """AttributeError for memory that is not the host's."""
    @property
    def __array_struct__(self) -> CapsuleType:
        """AttributeError for memory that is not the host's, and for texts of kind 'U'."""
    def __array__(self, dtype: DTypeLike | None = None, *, copy: bool | None = None) -> NDArray[Any]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Handle:
    """The handle of an array's memory. It keeps the memory alive. int() returns the cl_mem, or the address of the first element."""

    @property
    def int_ptr(self) -> int:
        """The cl_mem. AttributeError for an address."""
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...

@final
class Mapping:
    """The elements of an array in memory that the CPU can use. Supports the buffer protocol until close()."""

    @property
    def closed(self) -> bool:
        """True when the array is no longer mapped."""
    @property
    def mode(self) -> str:
        """'r', 'w' or 'rw'."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type. For a type that the buffer protocol cannot name, buffers have elements of one byte and one more axis."""
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    def numpy(self) -> NDArray[Any]:
        """Returns the mapped elements as an array of `dtype`, without a copy."""
    def __array__(self, dtype: DTypeLike | None = None, *, copy: bool | None = None) -> NDArray[Any]: ...
    def close(self) -> None:
        """Ends the mapping. BufferError, and the array stays mapped, while a buffer of the mapping is in use. Does not wait
        for another thread that closes the mapping."""
    def __enter__(self) -> Mapping: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

# New arrays

def empty(
    shape: _Shape, dtype: DTypeLike = "float64", *, device: _Device | None = "auto", stream: _Stream | None = None
) -> BufferInterface:
    """Returns a dense array in C order whose elements are undefined."""

def zeros(
    shape: _Shape, dtype: DTypeLike = "float64", *, device: _Device | None = "auto", stream: _Stream | None = None
) -> BufferInterface:
    """Like empty(), with every byte set to 0."""

def ones(
    shape: _Shape, dtype: DTypeLike = "float64", *, device: _Device | None = "auto", stream: _Stream | None = None
) -> BufferInterface:
    """Returns a dense array in C order whose elements are 1."""

def full(
    shape: _Shape, value: Any, dtype: DTypeLike | None = None, *, device: _Device | None = "auto", stream: _Stream | None = None
) -> BufferInterface:
    """Like empty(), with every element set to the value as fill() converts it: full(2, 1.7, "i4") holds 1.

    Without a dtype the type is NumPy's for the value.
    """

def arange(
    start: float, stop: float | None = None, step: float = 1, dtype: DTypeLike | None = None, *, device: _Device | None = "auto"
) -> BufferInterface:
    """Returns the numbers from `start` to below `stop` with the distance `step`. arange(n) starts at 0. Needs NumPy."""

def empty_like(x: _Array, *, device: _Device | None = None) -> BufferInterface:
    """Returns a dense array in C order with the shape and element type of the array `x`, on its device or on `device`."""

def zeros_like(x: _Array, /, *, device: _Device | None = None) -> BufferInterface:
    """Returns empty_like(x) with every byte set to 0."""

def ones_like(x: _Array, /, *, device: _Device | None = None) -> BufferInterface:
    """Returns empty_like(x) whose elements are 1."""

def full_like(x: _Array, /, value: Any, *, device: _Device | None = None) -> BufferInterface:
    """Returns empty_like(x) with every element set to the value, as fill() converts it."""

def from_numpy(array: _Array, *, device: _Device | None = "auto") -> BufferInterface:
    """Returns a dense copy of any array on a device."""

def shared_empty(shape: _Shape, dtype: DTypeLike = "float64") -> BufferInterface:
    """Returns a dense array in C order in host memory that several processes can use. Its elements are 0.

    multiprocessing passes the array, and views of it, as the same memory. Any other pickle is a copy.
    """

# Copies and views

def copyto(dst: _Array, src: Any, *, stream: _Stream | None = None) -> None:
    """Copies dst[...] = src between any arrays on any devices; src is broadcast, or a scalar.

    TypeError if the element types differ: bytes are copied, not converted. A scalar is converted as fill() does.
    """

def broadcast_to(x: _Array, /, shape: _Shape) -> BufferInterface:
    """Returns a read-only view that repeats the array to a larger shape."""

def expand_dims(x: _Array, /, axis: int | tuple[int, ...] = 0) -> BufferInterface:
    """Returns a view with new axes of one element at the positions `axis` of the result."""

def flip(x: _Array, /, axis: int | tuple[int, ...] | None = None) -> BufferInterface:
    """Returns a view with the elements in reverse order along `axis`, or along all axes."""

def moveaxis(
    x: _Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /
) -> BufferInterface:
    """Returns a view in which the axes `source` are at the positions `destination`."""

def ravel(x: _Array, /) -> BufferInterface:
    """Returns the elements along one axis in C order: a view if they are dense, else a copy."""

def squeeze(x: _Array, /, axis: int | tuple[int, ...] | None = None) -> BufferInterface:
    """Returns a view without the axes of one element, or without those that `axis` names."""

def shares_memory(a: _Array, b: _Array) -> bool:
    """Returns True if an element of one array shares a byte with an element of the other.

    Also returns True if the search exceeds 2**20 steps. Slices of dense arrays below 1 TiB never reach it.
    """

# Devices and streams

def devices() -> list[Device]:
    """Returns the usable devices, the best first, then those that cannot be used, with the reason."""

@final
class Device(structseq[Any], tuple[str, str, str, str, str, int | None, tuple[str, ...], bool, str, str, int, int]):
    """A device, or a backend that cannot be used. A named tuple that devices() returns."""

    __match_args__: Final = (
        "spec",
        "name",
        "backend",
        "platform",
        "kind",
        "memory",
        "capabilities",
        "usable",
        "reason",
        "version",
        "platform_number",
        "ordinal",
    )

    @property
    def spec(self) -> str:
        """Device string of this device: 'opencl:0:1', 'cuda:1'."""
    @property
    def name(self) -> str: ...
    @property
    def backend(self) -> str:
        """'host', 'opencl' or 'cuda'."""
    @property
    def platform(self) -> str:
        """Name of the platform, or '' if the backend has none."""
    @property
    def kind(self) -> str:
        """'host', 'cpu', 'gpu', 'accelerator' or 'other'."""
    @property
    def memory(self) -> int | None:
        """Bytes of memory, or None if not known."""
    @property
    def capabilities(self) -> tuple[str, ...]:
        """Some of 'async', 'unified', 'out-of-order', 'profiling', 'svm', 'native-copy', 'external-memory'."""
    @property
    def usable(self) -> bool:
        """False if the device cannot be used: then only spec, backend and reason are set."""
    @property
    def reason(self) -> str:
        """Why the device cannot be used, or ''."""
    @property
    def version(self) -> str:
        """Version that the driver reports."""
    @property
    def platform_number(self) -> int:
        """Number of the OpenCL platform, or 0."""
    @property
    def ordinal(self) -> int:
        """Number of the device on its platform."""

def join(streams: Iterable[_Stream], into: _Stream, device: _Device) -> None:
    """Work enqueued on `into` from now on waits for the work that is now on each of the streams."""

def trim() -> None:
    """Returns unused memory to the drivers and closes unused adopted contexts."""

def threads() -> int:
    """Returns how many threads share a large copy on the CPU."""

def set_threads(count: int, /) -> None:
    """Sets how many threads share a large copy on the CPU, from the next copy on: 1 to 64, or 0 for the default.

    The default is the environment variable BI_THREADS, else the CPUs of this process up to 8.
    """

# Other programs

def pyopencl_array(array: _Array, queue: Any) -> Any:
    """Returns a pyopencl.array.Array over an array in OpenCL memory, without a copy."""

def get_include() -> str:
    """Returns the folder of the C headers: buffer_interface.h, buffer_interface/python.h and the others."""

# Exceptions

class InvalidArrayError(BufferError, ValueError):
    """The description of an array by its producer is wrong, or the array was released."""

class UnsupportedError(BufferError, NotImplementedError):
    """The array cannot be imported or exported in this way."""

class UnsupportedTypeError(InvalidArrayError, UnsupportedError, TypeError):
    """The library, or a protocol, does not have the element type."""

class DriverError(RuntimeError):
    """A device or its driver failed."""

    vendor: int
    """The driver's own code, or 0 if there is none."""
