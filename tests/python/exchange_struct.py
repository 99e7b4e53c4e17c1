"""struct bi_exchange of abi.h, and the table of python.h, for ctypes."""

import ctypes


VERSION = 2
C_CONTIGUOUS, F_CONTIGUOUS, COPIED = 1 << 16, 1 << 17, 1 << 18
READY, READING, BORROW = 1, 1 << 16, 1 << 17  # wishes


class Exchange(ctypes.Structure):
    """struct bi_exchange."""

    _fields_ = [
        ("version", ctypes.c_uint32),
        ("struct_size", ctypes.c_uint32),
        ("release", ctypes.c_void_p),
        ("done", ctypes.c_void_p),
        ("owner", ctypes.c_void_p),
        ("descr", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("handle", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("context", ctypes.c_uint64),
        ("stream", ctypes.c_uint64),
        ("event", ctypes.c_uint64),
        ("flags", ctypes.c_uint32),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("item_size", ctypes.c_uint32),
        ("type_code", ctypes.c_uint8),
        ("type_bits", ctypes.c_uint8),
        ("type_lanes", ctypes.c_uint16),
        ("ndim", ctypes.c_uint8),
        ("handle_kind", ctypes.c_uint8),
        ("order_kind", ctypes.c_uint8),
        ("reserved", ctypes.c_uint8),
    ]

    @classmethod
    def empty(cls):
        """What a caller passes: its version and size."""
        return cls(version=VERSION, struct_size=ctypes.sizeof(cls))

    def let_go(self):
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.release)(ctypes.addressof(self))


RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(Exchange))
DONE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64)
FILL = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_uint32, ctypes.POINTER(Exchange))


class Table(ctypes.Structure):
    """struct bi_python_api."""

    _fields_ = [("version", ctypes.c_uint32), ("struct_size", ctypes.c_uint32), ("acquire", FILL)]
