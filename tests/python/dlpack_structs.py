"""DLPack 1.3 in ctypes: the structs, and capsules made and consumed as C libraries do it.

`Tensor` is a producer's side: one block that counts how often its deleter was called. A second call raises KeyError in
the deleter, which fails the test that runs (conftest.py). `take` is a consumer's side.
"""

import ctypes
import weakref

CPU, CUDA, CUDA_HOST, OPENCL, CUDA_MANAGED = 1, 2, 3, 4, 13
READONLY, COPIED, PADDED = 1, 2, 4
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6

UNVERSIONED, VERSIONED = b"dltensor", b"dltensor_versioned"
USED = {UNVERSIONED: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}

DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Device(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]

    def shape_tuple(self):
        return tuple(self.shape[: self.ndim]) if self.shape else None

    def strides_tuple(self):
        return tuple(self.strides[: self.ndim]) if self.strides else None


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


def _python(name, result, *arguments):
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


_new = _python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_name = _python("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
_pointer = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_set_name = _python("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_set_destructor = _python("PyCapsule_SetDestructor", ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
# In a destructor the object is dying, so it is passed on as a bare address.
_dying_is = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_dying_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def capsule_name(capsule):
    return _name(capsule)


def capsule_pointer(capsule):
    return _pointer(capsule, _name(capsule))


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _destroy(capsule):
    for name, kind in ((UNVERSIONED, Managed), (VERSIONED, ManagedVersioned)):
        if _dying_is(capsule, name):
            block = kind.from_address(_dying_pointer(capsule, name))
            call_deleter(block)


def rename_capsule(capsule, name):
    """`name` is the address of a text that lives on."""
    ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(("PyCapsule_SetName", ctypes.pythonapi))(
        capsule, name
    )


def new_capsule(pointer, name):
    """A capsule that calls the deleter of what it holds if nobody has consumed it. `name` must live on. Its destructor is
    Python code, which must not run while an exception is set: where that may be use plain_capsule."""
    return _new(pointer, name, ctypes.cast(_destroy, ctypes.c_void_p))


def plain_capsule(pointer, name):
    """A capsule without a destructor."""
    return _new(pointer, name, None)


def call_deleter(block):
    if block.deleter:
        DELETER(block.deleter)(ctypes.addressof(block))


class Tensor:
    """A tensor for others. It keeps `owner` until its deleter is called."""

    _live = {}
    _known = weakref.WeakValueDictionary()  # also those whose deleter has been called

    def __init__(self, data, shape, strides, dtype, device, *, versioned=True, flags=0, byte_offset=0, owner=None):
        self.deleted = 0
        self.owner = owner
        self._shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self._strides = None if strides is None else (ctypes.c_int64 * max(len(strides), 1))(*strides)
        self.block = ManagedVersioned(major=1, minor=3, flags=flags) if versioned else Managed()
        self.name = VERSIONED if versioned else UNVERSIONED
        tensor = self.tensor
        tensor.data, tensor.device, tensor.dtype = data or None, Device(*device), Type(*dtype)
        tensor.ndim, tensor.byte_offset = len(shape), byte_offset
        if shape:
            tensor.shape = self._shape
        if shape and strides is not None:
            tensor.strides = self._strides
        self.block.deleter = ctypes.cast(_delete, ctypes.c_void_p)
        Tensor._live[self.address] = Tensor._known[self.address] = self

    @property
    def tensor(self):
        return self.block.tensor

    @property
    def address(self):
        return ctypes.addressof(self.block)

    def capsule(self):
        return new_capsule(self.address, self.name)


@DELETER
def _delete(address):
    tensor = Tensor._known[address]
    tensor.deleted += 1
    tensor.owner = None
    del Tensor._live[address]


def live_tensors():
    """Tensors whose deleter has not been called."""
    return list(Tensor._live.values())


class Taken:
    """What a consumer has of a capsule: the struct, which delete() lets go."""

    def __init__(self, block, versioned):
        self.block = block
        self.versioned = versioned

    @property
    def tensor(self):
        return self.block.tensor

    @property
    def flags(self):
        return self.block.flags if self.versioned else 0

    def delete(self):
        if self.block is not None:
            block, self.block = self.block, None
            call_deleter(block)


def take(capsule):
    """Consumes a capsule of either kind."""
    name = _name(capsule)
    if name not in USED:
        raise BufferError(f"a capsule named {name!r}")
    kind = ManagedVersioned if name == VERSIONED else Managed
    block = kind.from_address(_pointer(capsule, name))
    _set_name(capsule, USED[name])
    return Taken(block, name == VERSIONED)


def borrow(capsule):
    """The struct in a capsule that stays as it is."""
    kind = ManagedVersioned if _name(capsule) == VERSIONED else Managed
    return kind.from_address(capsule_pointer(capsule))
