"""The structures of the protocols for ctypes, and the functions of Python that reach them."""

import ctypes
from ctypes import POINTER, c_char, c_char_p, c_int, c_int32, c_int64, c_ssize_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p


class Exchange(ctypes.Structure):
    """struct bi_exchange of abi.h."""

    _fields_ = [
        ("version", c_uint32),
        ("struct_size", c_uint32),
        ("release", c_void_p),
        ("done", c_void_p),
        ("owner", c_void_p),
        ("descr", c_void_p),
        ("shape", c_void_p),
        ("strides", c_void_p),
        *((name, c_uint64) for name in "handle offset size context stream event".split()),
        ("flags", c_uint32),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("item_size", c_uint32),
        ("type_code", c_uint8),
        ("type_bits", c_uint8),
        ("type_lanes", c_uint16),
        ("ndim", c_uint8),
        ("handle_kind", c_uint8),
        ("order_kind", c_uint8),
        ("reserved", c_uint8),
    ]


VERSION, EXCHANGE_SIZE, SIZE_MAX = 2, ctypes.sizeof(Exchange), 4096
READONLY, C_CONTIGUOUS, F_CONTIGUOUS = 1, 1 << 16, 1 << 17
READY, READING, BORROW = 1, 1 << 16, 1 << 17
RELEASE = ctypes.CFUNCTYPE(None, c_void_p)
DONE = ctypes.CFUNCTYPE(c_int, c_void_p, c_uint32, c_uint64, c_uint64)
ACQUIRE = ctypes.PYFUNCTYPE(c_int, ctypes.py_object, c_uint32, c_void_p)


class Table(ctypes.Structure):
    """struct bi_python_api of python.h."""

    _fields_ = [("version", c_uint32), ("struct_size", c_uint32), ("acquire", c_void_p)]


class PyBuffer(ctypes.Structure):
    """Py_buffer."""

    _fields_ = [
        ("buf", c_void_p),
        ("obj", c_void_p),
        ("len", c_ssize_t),
        ("itemsize", c_ssize_t),
        ("readonly", c_int),
        ("ndim", c_int),
        ("format", c_char_p),
        ("shape", POINTER(c_ssize_t)),
        ("strides", POINTER(c_ssize_t)),
        ("suboffsets", POINTER(c_ssize_t)),
        ("internal", c_void_p),
    ]


class ArrayStruct(ctypes.Structure):
    """PyArrayInterface of NumPy."""

    _fields_ = [
        ("two", c_int),
        ("nd", c_int),
        ("typekind", c_char),
        ("itemsize", c_int),
        ("flags", c_int),
        ("shape", POINTER(c_ssize_t)),
        ("strides", POINTER(c_ssize_t)),
        ("data", c_void_p),
        ("descr", c_void_p),
    ]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p)]
    major, minor, flags = 0, 0, 0


class ManagedVersioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", DLTensor),
    ]


DELETER = ctypes.CFUNCTYPE(None, c_void_p)


class DLTable(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("previous", c_void_p),
        ("allocate", c_void_p),
        ("from_object", c_void_p),
        ("to_object", c_void_p),
        ("describe_object", c_void_p),
        ("current_work_stream", c_void_p),
    ]


def _function(name, result, *arguments):
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


get_buffer = _function("PyObject_GetBuffer", c_int, ctypes.py_object, c_void_p, c_int)
release_buffer = _function("PyBuffer_Release", None, c_void_p)
new_capsule = _function("PyCapsule_New", ctypes.py_object, c_void_p, c_char_p, c_void_p)
capsule_name = _function("PyCapsule_GetName", c_char_p, ctypes.py_object)
set_capsule_name = _function("PyCapsule_SetName", c_int, ctypes.py_object, c_char_p)
_capsule_pointer = _function("PyCapsule_GetPointer", c_void_p, ctypes.py_object, c_char_p)
# In a destructor the capsule is passed by its address, because a new reference would revive it.
dying_is_valid = _function("PyCapsule_IsValid", c_int, c_void_p, c_char_p)
dying_pointer = _function("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)
CapsuleType = type(new_capsule(1, None, None))


def capsule_pointer(capsule):
    return _capsule_pointer(capsule, capsule_name(capsule))


def numbers(pointer, count):
    """Returns the numbers at a typed pointer, or the int64 at an address; () for NULL."""
    if not pointer or count <= 0:
        return ()
    return tuple((c_int64 * count).from_address(pointer) if isinstance(pointer, int) else pointer[:count])
