"""
DLPack producers made by hand: every member of a tensor can be set to what no good producer would say.

A Tensor counts the calls of its deleter without an interpreter (peers/foreign.c), so it can be let go on any thread and
after Python has ended. It is never freed: nobody tells Python when its last user is gone.
"""

import ctypes

from dlpack_structs import BFLOAT, BOOL, COMPLEX, COPIED, CPU, CUDA, FLOAT, INT, OPENCL, PADDED, READONLY, UINT
from dlpack_structs import CUDA_HOST as PINNED
from dlpack_structs import Device, Managed, ManagedVersioned, Type
from peers import compiled

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_name = ctypes.pythonapi.PyCapsule_GetName
capsule_name.restype = ctypes.c_char_p
capsule_name.argtypes = [ctypes.py_object]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = ctypes.c_void_p
capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]

# PyCapsule_New keeps the address of the name, so these live as long as the process.
NAMES = {False: b"dltensor", True: b"dltensor_versioned"}


def numbers(values):
    return None if values is None else (ctypes.c_int64 * len(values))(*values)


KEPT = []


class Tensor:
    """A tensor and its memory. `producer` gives objects with __dlpack__ that hand it over."""

    def __init__(
        self,
        shape=(6,),
        strides=(1,),
        *,
        data=None,
        device=(CPU, 0),
        dtype=(FLOAT, 32, 1),
        byte_offset=0,
        version=(1, 0),
        flags=0,
        ndim=None,
        deleter=True
    ):
        KEPT.append(self)
        self.memory = (ctypes.c_float * 64)(*range(64))
        self.count = ctypes.c_long(0)
        self.shape, self.strides = numbers(shape), numbers(strides)
        self.device, self.versioned = device, version is not None
        self.struct = ManagedVersioned() if version else Managed()
        self.struct.manager_ctx = ctypes.addressof(self.count)
        if deleter:
            self.struct.deleter = self.deleter()
        if version:
            (self.struct.major, self.struct.minor), self.struct.flags = version, flags
        tensor = self.struct.tensor
        tensor.data = ctypes.addressof(self.memory) if data is None else data
        tensor.device, tensor.dtype, tensor.byte_offset = Device(*device), Type(*dtype), byte_offset
        tensor.ndim = len(shape or ()) if ndim is None else ndim
        if shape is not None:
            tensor.shape = self.shape
        if strides is not None:
            tensor.strides = self.strides

    def deleter(self):
        library = compiled.foreign()
        function = library.peer_delete_versioned if self.versioned else library.peer_delete
        return ctypes.cast(function, ctypes.c_void_p).value

    @property
    def deleted(self):
        """How often the deleter was called."""
        return self.count.value

    def capsule(self):
        """Without a destructor: what nobody takes is not counted as deleted."""
        return new_capsule(ctypes.addressof(self.struct), NAMES[self.versioned], None)

    def producer(self, **replacements):
        return Producer(self, **replacements)


class Producer:
    """An object with __dlpack__; every import gets a capsule of the same tensor."""

    def __init__(self, tensor, capsule=None, device=None):
        self.tensor, self.given, self.device = tensor, capsule, device
        self.calls = []

    def __dlpack__(self, **keywords):
        self.calls.append(keywords)
        return self.tensor.capsule() if self.given is None else self.given

    def __dlpack_device__(self):
        return self.tensor.device if self.device is None else self.device


rename_capsule = ctypes.pythonapi.PyCapsule_SetName
rename_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]
USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}


def take(capsule):
    """Consumes a capsule: its struct, whose deleter the caller calls."""
    name = capsule_name(capsule)
    kind = ManagedVersioned if name == NAMES[True] else Managed
    block = kind.from_address(capsule_pointer(capsule, name))
    rename_capsule(capsule, USED[name])
    return block


def address(block):
    return ctypes.addressof(block)
