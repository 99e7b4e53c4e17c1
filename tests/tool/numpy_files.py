"""bi_npy_load and bi_npy_save beside NumPy: each reads what the other wrote, and both write the same bytes.

    numpy_files.py LIBRARY DEVICE...
"""

import ctypes
import random
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from test_bi import DTYPES, filled, saved


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("vendor", ctypes.c_int), ("message", ctypes.c_char * 256)]


def call(function, *arguments):
    error = Error()
    if function(*arguments, ctypes.byref(error)):
        sys.exit(f"{function.__name__}{arguments}: {error.message.decode()}")


def check(library, context, array, folder):
    """Loads NumPy's file on the device and saves it: the bytes are the same. Also of a view that is not contiguous."""
    loaded, turned = ctypes.c_void_p(), ctypes.c_void_p()
    source, copy = folder / "in.npy", folder / "out.npy"
    source.write_bytes(saved(array))
    call(library.bi_npy_load, context, str(source).encode(), ctypes.byref(loaded))
    call(library.bi_npy_save, loaded, str(copy).encode())
    assert copy.read_bytes() == source.read_bytes(), (array.dtype, array.shape, array.flags)
    axes = [array.ndim - 1, *range(array.ndim - 1)]
    call(library.bi_view_permute, loaded, (ctypes.c_int * len(axes))(*axes), ctypes.byref(turned))
    call(library.bi_npy_save, turned, str(copy).encode())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        back = np.load(copy)
    assert back.dtype == array.dtype and back.tobytes() == array.transpose(axes).tobytes(), (array.dtype, array.shape)
    library.bi_view_release(turned)
    library.bi_view_release(loaded)


def main():
    library, count, rng = ctypes.CDLL(sys.argv[1]), 0, random.Random(5)
    for function in (library.bi_view_release, library.bi_context_release):
        function.argtypes, function.restype = [ctypes.c_void_p], None
    with tempfile.TemporaryDirectory() as folder:
        for device in sys.argv[2:]:
            context = ctypes.c_void_p()
            call(library.bi_context_shared, device.encode(), ctypes.byref(context))
            for dtype in DTYPES:
                for shape in [(2, 3, 4), (5,), (3, 0, 2)]:
                    for order in "CF":
                        check(library, context, filled(rng, dtype, shape).copy(order), Path(folder))
                        count += 1
            library.bi_context_release(context)
    print(f"{count} arrays")


main()
