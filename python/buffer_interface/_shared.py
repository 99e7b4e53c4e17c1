"""Host memory that several processes use: a file without a name, whose descriptor multiprocessing passes on.

The kernel frees the memory when the last process has closed it, however the processes end. An array over it is
imported from an _Elements, so the library keeps the memory as long as the array.
"""

import ctypes
import errno
import mmap
import os
import sys
import threading
import weakref
from multiprocessing import context
from multiprocessing.reduction import DupFd, ForkingPickler

from ._array import element_type
from ._core import BufferInterface, buffer_interface, empty

# From Python 3.13 on a mapping can do without a second descriptor of its file.
_NO_SECOND_FILE = {"trackfd": False} if sys.version_info >= (3, 13) else {}

# The shared memories that this process has mapped, by the inode number of the file.
_owners = weakref.WeakValueDictionary()


def _make_lock():
    global _receiving
    _receiving = threading.RLock()


# _receiving is held while a received file is looked up and mapped. It is re-entrant, because a signal handler may receive
# a memory meanwhile. A forked child makes a new one, because the thread that holds the old one does not exist there.
_make_lock()
os.register_at_fork(after_in_child=_make_lock)


def _refuse_beyond_limits(error, nbytes):
    """Raises an exception that names the limit from which the error comes. Returns if the error comes from none."""
    start = f"{nbytes} bytes of shared memory: {error.strerror}"
    if error.errno in (errno.EFBIG, errno.ENOMEM):
        raise MemoryError(f"{start}; the limits are ulimit -f and -v") from error
    if error.errno == errno.EMFILE:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        remedy = "raise the limit (ulimit -n), or delete arrays of shared_empty()"
        message = f"{start}; this process uses {len(_owners)} shared memories, and may open {limit} files: {remedy}"
        raise OSError(error.errno, message) from error


class _Owner:
    """A shared memory that this process has mapped. It is closed when the last array in it is freed."""

    def __init__(self, file, nbytes=None):
        """Takes ownership of the file descriptor. `nbytes` is the size of a new file."""
        self.file = file
        self.passed = None, None
        close = weakref.finalize(self, os.close, file)
        try:
            if nbytes is not None:
                os.ftruncate(file, nbytes)
            self.memory = mmap.mmap(file, 0, **_NO_SECOND_FILE)
        except OSError as error:
            size = os.fstat(file).st_size if nbytes is None else nbytes
            close()
            _refuse_beyond_limits(error, size)
            raise
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        _owners[os.fstat(file).st_ino] = self


class _Elements:
    """Raw items in a shared memory, as the array interface describes them."""

    def __init__(self, owner, shape, strides, itemsize, offset, readonly):
        self.owner = owner
        self.__array_interface__ = {
            "shape": shape,
            "strides": strides,
            "typestr": f"|V{itemsize}",
            "data": (owner.address + offset, readonly),
            "version": 3,
        }


def _array(elements, dtype):
    return buffer_interface(elements, protocol="array_interface").view(dtype)


def shared_empty(shape, dtype="float64"):
    """Makes the array of buffer_interface.shared_empty(), whose docstring says more."""
    # One element with the shape of the array: making it raises for a shape or a type that no array can have.
    described = empty((), dtype, device="host").broadcast_to(shape)
    if described.nbytes == 0:
        return empty(shape, dtype, device="host")
    owner = _new_owner(described.nbytes)
    elements = _Elements(owner, described.shape, None, described.itemsize, 0, False)
    return _array(elements, element_type(described))


def _new_owner(nbytes):
    """Returns new memory. The kernel would refuse no size, and end the process at the first use of a missing page."""
    available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if nbytes > available:
        raise MemoryError(f"{nbytes} bytes of shared memory: this machine has {available}")
    try:
        file = os.memfd_create("buffer_interface")
    except OSError as error:
        _refuse_beyond_limits(error, nbytes)
        raise
    return _Owner(file, nbytes)


def _owner_of(array):
    if array.backend != "host" or array.size == 0 or array.mask is not None:
        return None
    address = int(array.buffer)
    # Another thread may add a memory at any time. valuerefs() reads the dictionary in one step, unlike values().
    owners = [owner for owner in (reference() for reference in _owners.valuerefs()) if owner]
    return next((owner for owner in owners if owner.address <= address < owner.address + len(owner.memory)), None)


def _passed(owner):
    """Returns the descriptor for another process. A process that is being started gets it once for all arrays."""
    starting = context.get_spawning_popen()
    known, passed = owner.passed
    if starting is None or known is None or known() is not starting:
        passed = DupFd(owner.file)
        owner.passed = starting and weakref.ref(starting), passed
    return passed


def _reduce(array):
    """The pickle of multiprocessing, which another process of this machine reads."""
    owner = _owner_of(array)
    if owner is None:
        return array.__reduce_ex__(4)
    offset = int(array.buffer) - owner.address
    dtype = element_type(array)
    return _attach, (_passed(owner), dtype, array.shape, array.strides, array.itemsize, offset, array.readonly)


def _owner_from(file):
    """Returns the owner of a file that was received. This process maps a file once."""
    with _receiving:
        known = _owners.get(os.fstat(file).st_ino)
        if known is None:
            return _Owner(file)
    if file != known.file:
        os.close(file)
    return known


def _received(file):
    """Receives the descriptor from the process that sent the array."""
    try:
        return file.detach()
    except (EOFError, OSError) as error:
        message = "the process that has sent an array of shared_empty() has ended: it must live until the array is received"
        raise ConnectionError(f"{message} ({type(error).__name__}: {error})") from error


def _attach(file, dtype, *elements):
    return _array(_Elements(_owner_from(_received(file)), *elements), dtype)


ForkingPickler.register(BufferInterface, _reduce)
