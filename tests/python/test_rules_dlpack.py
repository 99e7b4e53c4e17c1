"""Rules D12 to D15: copies, capsules and deleters of our DLPack exports, and the one exception for what cannot be."""

import ctypes
import gc
import subprocess
import sys
import textwrap
import threading
import weakref

import pytest

import dlpack_structs as dl
from producers import CuPyLike, DeviceArray, Given

N = 64
ALL_KINDS = [None, (0, 8), (1, 0), (1, 3)]


class Owner(bytearray):
    """Host memory whose end can be seen."""


@pytest.fixture
def owned(bi):
    """A view of host memory, and a weak reference to what is behind it."""
    owner = Owner(range(N))
    return bi.buffer_interface(owner), weakref.ref(owner)


# D12: copies and other devices


def test_D12_copy_is_another_memory_and_says_so(cuda, bi):
    producer = CuPyLike(cuda)
    producer.fill(5)
    view = bi.buffer_interface(producer)
    taken = dl.take(view.__dlpack__(stream=producer.stream, max_version=(1, 3), copy=True))
    assert taken.flags & dl.COPIED
    assert taken.tensor.data != producer.pointer
    assert cuda.ordered(producer.stream, taken.tensor.data, N)
    producer.fill(6)
    assert cuda.download(taken.tensor.data, N) == bytes([5]) * N
    taken.delete()


@pytest.mark.parametrize("copy", [None, False])
def test_D12_without_copy_it_is_the_same_memory(cuda, bi, copy):
    producer = CuPyLike(cuda)
    taken = dl.take(bi.buffer_interface(producer).__dlpack__(max_version=(1, 3), copy=copy))
    assert taken.tensor.data == producer.pointer
    assert not taken.flags & dl.COPIED
    taken.delete()


def test_D12_copy_to_the_host(cuda, bi):
    producer = CuPyLike(cuda)
    producer.fill(5)
    view = bi.buffer_interface(producer)
    taken = dl.take(view.__dlpack__(max_version=(1, 3), dl_device=(dl.CPU, 0)))
    assert taken.tensor.device.device_type == dl.CPU
    assert taken.flags & dl.COPIED
    assert ctypes.string_at(taken.tensor.data, N) == bytes([5]) * N
    taken.delete()


def test_D12_own_device_may_be_named(cuda, bi):
    view = bi.buffer_interface(CuPyLike(cuda))
    dl.take(view.__dlpack__(max_version=(1, 3), dl_device=view.__dlpack_device__())).delete()


@pytest.mark.parametrize("device", [(dl.CUDA, 1), (dl.OPENCL, 0), (99, 0)])
def test_D12_other_devices_are_refused(cuda, bi, device):
    with pytest.raises(BufferError):
        bi.buffer_interface(CuPyLike(cuda)).__dlpack__(max_version=(1, 3), dl_device=device)


def test_D12_host_without_copy_is_refused(cuda, bi):
    with pytest.raises(BufferError):
        bi.buffer_interface(CuPyLike(cuda)).__dlpack__(max_version=(1, 3), dl_device=(dl.CPU, 0), copy=False)


def test_D12_copy_of_host_memory(owned):
    view, _ = owned
    taken = dl.take(view.__dlpack__(max_version=(1, 3), copy=True))
    assert taken.flags & dl.COPIED
    assert taken.tensor.data != view.host_pointer
    assert ctypes.string_at(taken.tensor.data, N) == bytes(range(N))
    taken.delete()


# D13: capsules


@pytest.mark.parametrize("max_version", ALL_KINDS)
def test_D13_capsule_that_nobody_takes_lets_go(owned, max_version):
    view, owner = owned
    capsule = view.__dlpack__(max_version=max_version)
    del owned
    view.release()
    gc.collect()
    assert owner() is not None
    del capsule
    gc.collect()
    assert owner() is None


@pytest.mark.parametrize("max_version", ALL_KINDS)
def test_D13_capsule_that_was_taken_does_nothing(owned, max_version):
    view, owner = owned
    capsule = view.__dlpack__(max_version=max_version)
    taken = dl.take(capsule)
    view.release()
    del capsule
    gc.collect()
    assert owner() is not None
    assert ctypes.string_at(taken.tensor.data, N) == bytes(range(N))
    taken.delete()
    gc.collect()
    assert owner() is None


@pytest.mark.parametrize("max_version", ALL_KINDS)
def test_D13_pending_exception_survives_the_destructor(owned, max_version):
    view, _ = owned
    with pytest.raises(ZeroDivisionError):
        # The capsule is let go from the stack while the exception is set.
        [view.__dlpack__(max_version=max_version), 1 / 0]


def test_D13_names_do_not_die_with_anything(owned):
    view, _ = owned
    plain, versioned = view.__dlpack__(), view.__dlpack__(max_version=(1, 0))
    view.release()
    gc.collect()
    assert dl.capsule_name(plain) == dl.UNVERSIONED
    assert dl.capsule_name(versioned) == dl.VERSIONED


def test_D13_every_capsule_is_a_reference_of_its_own(owned):
    view, owner = owned
    taken = [dl.take(view.__dlpack__(max_version=version)) for version in ALL_KINDS * 3]
    view.release()
    for one in taken:
        assert owner() is not None
        one.delete()
    gc.collect()
    assert owner() is None


# D14: deleters


def delete_elsewhere(taken):
    """On a thread that Python knows nothing of, and that does not have the GIL."""
    block = taken.block
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    assert libc.pthread_create(ctypes.byref(thread), None, ctypes.c_void_p(block.deleter), ctypes.byref(block)) == 0
    libc.pthread_join(thread, None)
    taken.block = None


@pytest.mark.parametrize("max_version", ALL_KINDS)
def test_D14_deleter_on_a_foreign_thread(owned, max_version):
    view, owner = owned
    taken = dl.take(view.__dlpack__(max_version=max_version))
    view.release()
    delete_elsewhere(taken)
    gc.collect()
    assert owner() is None


def test_D14_deleter_on_a_foreign_thread_with_device_work_pending(cuda, bi):
    producer = CuPyLike(cuda)
    alive = weakref.ref(producer)
    producer.fill(5)
    view = bi.buffer_interface(producer)
    taken = dl.take(view.__dlpack__(stream=producer.stream, max_version=(1, 3)))
    view.fill(6)
    del view, producer
    delete_elsewhere(taken)
    bi.trim()
    gc.collect()
    assert alive() is None


def test_D14_many_threads_delete(owned):
    view, owner = owned
    taken = [dl.take(view.__dlpack__(max_version=(1, 3))) for _ in range(64)]
    view.release()
    threads = [threading.Thread(target=one.delete) for one in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del taken, threads, thread
    gc.collect()
    assert owner() is None


@pytest.mark.parametrize("max_version", ["None", "(1, 3)"])
def test_D14_deleter_after_the_interpreter_is_gone(max_version):
    """exit() calls the deleter when Python has finalised: it leaks rather than crashes."""
    program = f"""
        import ctypes
        import buffer_interface
        import dlpack_structs as dl
        view = buffer_interface.buffer_interface(bytearray(8))
        taken = dl.take(view.__dlpack__(max_version={max_version}))
        libc = ctypes.CDLL(None)
        libc.__cxa_atexit(ctypes.c_void_p(taken.block.deleter), ctypes.byref(taken.block), None)
        print("deleted at exit")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**__import__("os").environ, "PYTHONPATH": ":".join(path for path in sys.path if path)},
    )
    assert (done.returncode, done.stdout) == (0, "deleted at exit\n"), done.stderr


# D15: one exception


def is_both(bi, error):
    return isinstance(error, BufferError) and isinstance(error, NotImplementedError) and isinstance(error, bi.UnsupportedError)


def refused(bi, call):
    with pytest.raises(BufferError) as caught:
        call()
    assert is_both(bi, caught.value), repr(caught.value)


def test_D15_class_is_both(bi):
    assert issubclass(bi.UnsupportedError, BufferError)
    assert issubclass(bi.UnsupportedError, NotImplementedError)


def test_D15_types_without_a_triple(bi, owned):
    for name in (">i4", "|V8", "|S4"):
        refused(bi, lambda: owned[0].view(name).__dlpack__(max_version=(1, 3)))


def test_D15_readonly_without_a_version(bi):
    view = bi.buffer_interface(bytes(8))
    refused(bi, view.__dlpack__)
    dl.take(view.__dlpack__(max_version=(1, 0))).delete()


def test_D15_strides_that_are_no_multiples(bi, cuda):
    array = DeviceArray(cuda)
    value = {**array._members(), "shape": (8,), "typestr": "<f4", "strides": (6,), "version": 3}
    view = bi.buffer_interface(Given(value))
    refused(bi, lambda: view.__dlpack__(max_version=(1, 3)))
    assert view.__cuda_array_interface__["strides"] == (6,)


def test_D15_masked_arrays(bi, cuda):
    array, mask = DeviceArray(cuda), DeviceArray(cuda, typestr="|b1")
    named = Given({**mask._members(), "version": 3})
    view = bi.buffer_interface(Given({**array._members(), "version": 3, "mask": named}), mask="keep")
    refused(bi, lambda: view.__dlpack__(max_version=(1, 3)))
    refused(bi, lambda: view.__dlpack__())


def test_D15_copies_that_cannot_be(bi, cuda):
    view = bi.buffer_interface(CuPyLike(cuda))
    refused(bi, lambda: view.__dlpack__(max_version=(1, 3), dl_device=(dl.OPENCL, 0)))


def test_D15_streams_of_opencl(bi, pocl):
    refused(bi, lambda: bi.empty((4,), "<f4", device=pocl).__dlpack__(stream=-1))
