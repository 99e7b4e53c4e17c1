"""struct bi_exchange of abi.h, and the table of python.h, for ctypes."""

import ctypes


class Exchange(ctypes.Structure):
    """struct bi_exchange."""

    _fields_ = [
        ("version", ctypes.c_uint32),
        ("struct_size", ctypes.c_uint32),
        ("release", ctypes.c_void_p),
        ("owner", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("handle_kind", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("handle", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
        ("nbytes", ctypes.c_uint64),
        ("context", ctypes.c_uint64),
        ("type_code", ctypes.c_uint8),
        ("type_bits", ctypes.c_uint8),
        ("type_lanes", ctypes.c_uint16),
        ("item_size", ctypes.c_uint32),
        ("type_kind", ctypes.c_char),
        ("byte_order", ctypes.c_char),
        ("reserved_type", ctypes.c_uint8 * 6),
        ("descr", ctypes.c_char_p),
        ("ndim", ctypes.c_int64),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("element_strides", ctypes.POINTER(ctypes.c_int64)),
        ("stream_kind", ctypes.c_uint32),
        ("reserved_stream", ctypes.c_uint32),
        ("stream", ctypes.c_uint64),
        ("event", ctypes.c_uint64),
        ("mask", ctypes.c_void_p),
        ("reserved", ctypes.c_uint64 * 6),
    ]

    def let_go(self):
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.release)(ctypes.addressof(self))


RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(Exchange))
FILL = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Exchange))


class Table(ctypes.Structure):
    """struct bi_python_api."""

    _fields_ = [("version", ctypes.c_uint32), ("struct_size", ctypes.c_uint32), ("view", FILL), ("acquire", FILL)]
