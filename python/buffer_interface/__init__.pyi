"""Arrays of host, OpenCL and CUDA memory, whoever made them, without a copy."""

from collections.abc import Iterable
from types import EllipsisType, TracebackType
from typing import Any, Final, Literal, NoReturn, SupportsIndex, TypeAlias, final

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
    "asarray",
    "buffer_interface",
    "copyto",
    "devices",
    "empty",
    "empty_like",
    "from_numpy",
    "full",
    "get_include",
    "join",
    "pyopencl_array",
    "set_threads",
    "shares_memory",
    "threads",
    "trim",
    "zeros",
]

# Whatever speaks DLPack, the CUDA Array Interface, the buffer protocol, NumPy's array interface or the BufferInterface.
_Array: TypeAlias = Any
# CUDA: 1, 2, a handle, or a stream object of another library. OpenCL: an object with `int_ptr`.
_Stream: TypeAlias = Any
_Device: TypeAlias = str | int | tuple[int, int] | Device | BufferInterface
_Shape: TypeAlias = SupportsIndex | Iterable[SupportsIndex]
_IndexItem: TypeAlias = SupportsIndex | slice | EllipsisType | None
_Index: TypeAlias = _IndexItem | tuple[_IndexItem, ...] | str
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

class InvalidArrayError(BufferError, ValueError):
    """What a producer says of an array cannot be, or the array was released."""

class UnsupportedError(BufferError, NotImplementedError):
    """The array cannot be given, or taken, in this way."""

class DriverError(RuntimeError):
    """A device or its driver failed."""

    vendor: int
    """The driver's own code, 0 without one."""

@final
class Device(structseq[Any], tuple[str, str, str, str, str, int | None, tuple[str, ...], bool, str, str, int, int]):
    """A device, or a backend that cannot be used. devices() makes them; a tuple whose items have names, as os.stat_result."""

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
        """Device string that opens exactly this one: 'opencl:0:1', 'cuda:1'."""
    @property
    def name(self) -> str: ...
    @property
    def backend(self) -> str:
        """'host', 'opencl' or 'cuda'."""
    @property
    def platform(self) -> str:
        """Name of the platform; '' where the backend has none."""
    @property
    def kind(self) -> str:
        """'host', 'cpu', 'gpu', 'accelerator' or 'other'."""
    @property
    def memory(self) -> int | None:
        """Bytes, or None if not known."""
    @property
    def capabilities(self) -> tuple[str, ...]:
        """Of 'async', 'unified', 'out-of-order', 'profiling', 'svm', 'native-copy', 'external-memory'."""
    @property
    def usable(self) -> bool:
        """False: `reason` says why; then only spec and backend are filled."""
    @property
    def reason(self) -> str: ...
    @property
    def version(self) -> str:
        """What the driver says of itself."""
    @property
    def platform_number(self) -> int:
        """Number of the OpenCL platform, else 0."""
    @property
    def ordinal(self) -> int:
        """Number of the device on its platform."""

@final
class Handle:
    """Handle of the memory behind an array. Keeps the memory alive."""

    @property
    def int_ptr(self) -> int:
        """The cl_mem; AttributeError for addresses."""
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...

@final
class Mapping:
    """The bytes of an array for the CPU. Speaks the buffer protocol until it is closed."""

    @property
    def closed(self) -> bool: ...
    @property
    def mode(self) -> str:
        """'r', 'w' or 'rw'."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements. Where the buffer protocol cannot name it, a buffer is one of bytes, with an axis more."""
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    def numpy(self) -> NDArray[Any]:
        """The mapped elements as an array of `dtype`, without a copy."""
    def __array__(self, dtype: DTypeLike | None = None, *, copy: bool | None = None) -> NDArray[Any]: ...
    def close(self) -> None:
        """Ends the mapping. BufferError, and the array stays mapped, while a buffer of it is in use."""
    def __enter__(self) -> Mapping: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class BufferInterface:
    """An n-dimensional array in host, OpenCL or CUDA memory that somebody made. buffer_interface() gives one."""

    __buffer_interface_c__: CapsuleType
    __dlpack_c_exchange_api__: CapsuleType
    __c_dlpack_exchange_api__: CapsuleType

    # What it is
    @property
    def buffer(self) -> Handle:
        """The handle: `.int_ptr` is the cl_mem (OpenCL); int() the cl_mem, or the address of the first element."""
    @property
    def offset(self) -> int:
        """Bytes from the start of the cl_mem to the first element; 0 elsewhere."""
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes; may be negative or 0."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """Imports NumPy, and ml_dtypes for the types that only it has."""
    @property
    def typestr(self) -> str:
        """'<f4'; a name where the array interface has no text: 'bfloat16'."""
    @property
    def descr(self) -> list[Any] | None:
        """Fields of a structured type as the array interface lists them."""
    @property
    def itemsize(self) -> int: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int:
        """Bytes of as many dense elements."""
    @property
    def readonly(self) -> bool: ...
    @property
    def backend(self) -> str:
        """'host', 'opencl' or 'cuda'."""
    @property
    def device(self) -> int | tuple[int, int] | None:
        """OpenCL: (platform, ordinal), with -1 for what is not known; CUDA: ordinal; host: None."""
    @property
    def device_name(self) -> str: ...
    @property
    def device_spec(self) -> str:
        """Device string, as `device=` takes it."""
    @property
    def context(self) -> int | None:
        """cl_context or CUcontext; None on the host."""
    @property
    def cl_context(self) -> int:
        """AttributeError for memory that is not OpenCL's."""
    @property
    def cl_command_queue(self) -> int:
        """The queue on which the memory is ready; AttributeError for memory that is not OpenCL's."""
    @property
    def stream(self) -> int | None:
        """The stream on which pending work is; None if nothing is pending."""
    @property
    def host_pointer(self) -> int | None:
        """Address of the first element if the CPU can use the memory as it stands. Does not wait."""
    @property
    def mask(self) -> BufferInterface | None: ...
    @property
    def released(self) -> bool: ...

    # Lifetime and order
    def release(self) -> None:
        """Lets the memory go, once. Exports that were handed out keep it. Ends the cycle of a producer that keeps its own
        BufferInterface, which the garbage collector cannot see."""
    def __enter__(self) -> BufferInterface: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...
    def acquire(self, stream: _Stream, /) -> None:
        """Work enqueued on the stream from now on comes after all work on the memory."""
    def hand_back(self, stream: _Stream, /) -> None:
        """Later work on the memory comes after all that is now on the stream."""
    def join(self, *streams: _Stream) -> None:
        """Later work on the memory comes after what is now on each of the streams."""
    def synchronize(self) -> None:
        """Waits until all work on the memory is done."""

    # Other views of the memory
    @property
    def T(self) -> BufferInterface: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> NoReturn:
        """Always a TypeError, as for int() and float(): item() gives the one element."""
    def __getitem__(self, key: _Index, /) -> BufferInterface: ...
    def __setitem__(self, key: _Index, value: _Array, /) -> None:
        """As copyto(). Host memory that a device is to write is complete after synchronize(), or when the `with` block
        of the array ends."""
    def __delitem__(self, key: _Index, /) -> None:
        """Always a TypeError."""
    def transpose(self, *axes: _Shape | None) -> BufferInterface: ...
    def reshape(self, *shape: _Shape) -> BufferInterface:
        """ValueError if only a copy could do it."""
    def view(self, dtype: DTypeLike, /) -> BufferInterface:
        """The same bytes as another type."""
    def broadcast_to(self, shape: _Shape, /) -> BufferInterface:
        """Read-only."""

    # Values
    def copy(self, *, stream: _Stream | None = None) -> BufferInterface:
        """A dense C-order copy on the same device, enqueued."""
    def to(self, device: _Device, *, stream: _Stream | None = None) -> BufferInterface:
        """The array on another device: a dense copy, or the array itself if it is there."""
    def fill(self, value: Any, *, stream: _Stream | None = None) -> None:
        """Every element becomes the value, as the element type holds it.

        A Python value is packed into one element: a float loses its fraction in an integer type, is rounded or becomes
        inf in a smaller float type, a longer text is cut off. An integer that does not fit is OverflowError.
        """
    def item(self, *index: _Shape) -> Any:
        """One element as a Python object; waits for the work on the memory."""
    def map(self, mode: Literal["r", "w", "rw"] = "r") -> Mapping:
        """The bytes for the CPU, for a `with` block: 'r' to read, 'w' to write all, 'rw' both."""

    # Exports
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3; AttributeError for memory that is not CUDA's."""
    def cuda_array_interface(
        self, version: int = 3, *, sync: bool = True, synchronize: bool = False, bfloat16_as_void: bool = False
    ) -> dict[str, Any]:
        """The dictionary in one of its versions."""
    @property
    def __array_interface__(self) -> dict[str, Any]:
        """AttributeError for memory that is not the host's."""
    @property
    def __array_struct__(self) -> CapsuleType:
        """AttributeError for memory that is not the host's."""
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
    """Any array of host, OpenCL or CUDA memory as a BufferInterface, without a copy.

    stream is acquired, and leaving a `with` block hands it back. producer_stream is where the producer works, whatever it
    says. sync=False: nobody waits for anybody. check=False: pointers are not looked up in the driver.
    """

def devices() -> list[Device]:
    """All devices, the best first, then backends and devices that cannot be used, with the reason."""

def empty(
    shape: _Shape, dtype: DTypeLike, *, device: _Device | None = "auto", stream: _Stream | None = None
) -> BufferInterface:
    """A dense C-order array whose elements are not set."""

def zeros(
    shape: _Shape, dtype: DTypeLike, *, device: _Device | None = "auto", stream: _Stream | None = None
) -> BufferInterface:
    """Every byte is 0."""

def full(
    shape: _Shape, value: Any, dtype: DTypeLike, *, device: _Device | None = "auto", stream: _Stream | None = None
) -> BufferInterface:
    """Every element is the value, packed as fill() does: full(2, 1.7, "i4") holds 1."""

def empty_like(x: _Array, *, device: _Device | None = None) -> BufferInterface:
    """A dense array with the shape and type of any array, on its device or another."""

def from_numpy(array: _Array, *, device: _Device | None = "auto") -> BufferInterface:
    """A dense copy of any array on a device."""

def copyto(dst: _Array, src: Any, *, stream: _Stream | None = None) -> None:
    """dst[...] = src between any arrays of any devices; src is broadcast, or a scalar.

    Arrays are of the same type, since no array is converted; a scalar is packed as fill() does.
    """

def asarray(
    obj: _Array, *, dtype: DTypeLike | None = None, device: _Device | None = None, copy: bool | None = None
) -> BufferInterface:
    """Any array as a BufferInterface, copied if it is elsewhere than on `device`, or if copy is True."""

def shares_memory(a: _Array, b: _Array) -> bool:
    """True if an element of one array shares a byte with one of the other. Exact."""

def join(streams: Iterable[_Stream], into: _Stream, device: _Device) -> None:
    """What is enqueued on `into` from now on comes after what is now on each of the streams."""

def trim() -> None:
    """Gives memory and contexts that nothing uses back to the drivers."""

def threads() -> int:
    """How many threads share a large copy on the processor."""

def set_threads(count: int, /) -> None:
    """How many threads share a large copy on the processor, from the next copy on: 1..64, or 0 for the default.

    The default is what the environment variable BI_THREADS says, else as many as this process may use, at most 8.
    """

def pyopencl_array(array: _Array, queue: Any) -> Any:
    """A pyopencl.array.Array over an array in OpenCL memory, without a copy."""

def get_include() -> str:
    """Folder of the C headers: buffer_interface.h, buffer_interface/python.h and the others."""
