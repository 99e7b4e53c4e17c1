"""What the tests ask of an array library, so that they are written once for all of them.

A module here is one library; it defines `peer`, an instance of a class made from Peer. A member that is None, empty or False
says that the library does not have it: tests that need it are not run for it. `python -m adapters` with BI_GPU_PEER
set ends with 77 and a reason if the library is not there or sees no GPU.
"""

import contextlib
import importlib
import os
import threading

import numpy as np

CAI, DLPACK = "cuda_array_interface", "dlpack"
NUMBERS = ("|b1", "|u1", "|i1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16")
SECONDS_LATE = 0.1


class Peer:
    # Protocols that its arrays speak, and types by their typestr (or "bfloat16") in each of them.
    gives = (CAI, DLPACK)
    dtypes = {CAI: NUMBERS, DLPACK: NUMBERS}
    # Protocols in which it does not say on which stream work is pending: the user says it (producer_stream=).
    streamless = ()
    # Protocols in which its arrays are read-only.
    readonly = ()
    # Ways to take an array of ours: name -> function. Those of `heedless` take no notice of our stream; those of `owning`
    # hold the memory (DLPack), the others our object, which must not be released meanwhile.
    takes = {}
    heedless = ()
    owning = ("from_dlpack",)
    takes_dtypes = NUMBERS
    # Which layouts it makes and takes, beyond dense ones in C order.
    strided = True
    negative = False
    # Protocols in which it describes negative strides wrongly, so that they are refused.
    wrong_negative = ()
    empty = True
    # Whether `pending` can make work late.
    late_work = True
    # Dimensions of the arrays.
    ndim = 2
    # DLPack capsules taken directly, or None.
    from_capsule = None

    def why_not(self):
        """Why it cannot be used here, or None."""
        return None

    def array(self, values):
        """An array on device 0 with a copy of NumPy's array; done when it returns."""
        raise NotImplementedError

    # A stream that is no default one, as the library's object; None: it has none to give.
    stream = None

    def handle(self, stream):
        raise NotImplementedError

    def on(self, stream):
        """Within this the library works on the stream; None: on whatever stream it likes."""
        return contextlib.nullcontext()

    def said(self, protocol, array, stream):
        """Arguments of an import with which the user says what the library does not, or nothing if it is said."""
        return {"producer_stream": stream} if protocol in self.streamless else {}

    # fill(array, value): enqueues it on the stream that the library works on; None: its arrays cannot be written.
    fill = None

    # copied(array): a copy, enqueued on the stream that the library works on; None: it cannot.
    copied = None

    def numpy(self, array):
        """The elements, when the work that the library knows of is done."""
        raise NotImplementedError

    def layout(self, array):
        """(address of the first element, shape, strides in bytes)."""
        raise NotImplementedError

    def late(self, driver, stream):
        """What is enqueued on the stream from now on begins later than what is enqueued elsewhere."""
        delay(driver, self.handle(stream))

    def bound(self, values, stream):
        """The same as `array`, for a library whose arrays belong to a stream."""
        return self.array(values)

    @contextlib.contextmanager
    def pending(self, driver, values):
        """An array whose elements are 0 now and `values`, which are all the same, when the work on a stream is done.
        Gives it and the stream, which is the one that the library works on meanwhile."""
        stream = self.stream()
        array = self.bound(np.zeros_like(values), stream)
        with self.on(stream):
            self.fill(array, values.flat[0] * 0)  # what it compiles for this is compiled before
            driver.synchronize()
            self.late(driver, stream)
            self.fill(array, values.flat[0])
            yield array, stream


class TellingPeer(Peer):
    """A library without a current stream: each of its calls is told one, which is `_stream` here."""

    _stream = None

    @contextlib.contextmanager
    def on(self, stream):
        before, self._stream = self._stream, stream
        try:
            yield
        finally:
            self._stream = before


def delay(driver, handle):
    gate = driver.gate(handle)
    threading.Timer(SECONDS_LATE, gate.open).start()


def chosen():
    return importlib.import_module(f"adapters.{os.environ['BI_GPU_PEER']}").peer
