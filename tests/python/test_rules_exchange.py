"""Rules X1 to X8: `__dlpack_c_exchange_api__`, the table of C functions, called as a C consumer calls it."""

import ctypes
import gc

import pytest

import dlpack_structs as dl
from consumers import DLPackConsumer
from producers import CuPyLike, NumbaLike

N = 64
SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
VERSIONED = ctypes.POINTER(dl.ManagedVersioned)


class Header(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("prev_api", ctypes.c_void_p)]


class Table(ctypes.Structure):
    _fields_ = [
        ("header", Header),
        (
            "allocate",
            ctypes.PYFUNCTYPE(
                ctypes.c_int, ctypes.POINTER(dl.DLTensor), ctypes.POINTER(VERSIONED), ctypes.c_void_p, ctypes.c_void_p
            ),
        ),
        ("from_py", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(VERSIONED))),
        ("to_py", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))),
        ("borrow", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(dl.DLTensor))),
        (
            "stream",
            ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)),
        ),
    ]


def table_of(bi, name="__dlpack_c_exchange_api__"):
    capsule = vars(bi.BufferInterface)[name]
    return Table.from_address(dl.capsule_pointer(capsule))


@pytest.fixture
def table(bi):
    return table_of(bi)


@pytest.fixture
def host(bi):
    return bi.buffer_interface(bytearray(range(N)))


def checked(code):
    """A call of PYFUNCTYPE raises what it leaves set; what is left to see is the code."""
    assert code == 0


def from_py(table, array):
    out = VERSIONED()
    checked(table.from_py(array, ctypes.byref(out)))
    return dl.Taken(out.contents, True)


def borrowed(table, array):
    tensor = dl.DLTensor()
    checked(table.borrow(array, ctypes.byref(tensor)))
    return tensor


def current_stream(table, kind, ordinal=0):
    out = ctypes.c_void_p(1)
    checked(table.stream(kind, ordinal, ctypes.byref(out)))
    return out.value or 0


def to_py(table, address):
    out = ctypes.c_void_p()
    checked(table.to_py(address, ctypes.byref(out)))
    # The new reference is taken over: c_void_p to py_object adds one, which is dropped again.
    result = ctypes.cast(out, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(result))
    return result


# X1, X2, X3: the capsule and what is in it


def test_X1_capsule_on_the_type(bi, host):
    capsule = vars(bi.BufferInterface)["__dlpack_c_exchange_api__"]
    assert dl.capsule_name(capsule) == b"dlpack_exchange_api"
    assert type(host).__dlpack_c_exchange_api__ is capsule


def test_X1_no_destructor_and_a_table_for_ever(bi):
    capsule = vars(bi.BufferInterface)["__dlpack_c_exchange_api__"]
    get_destructor = ctypes.pythonapi.PyCapsule_GetDestructor
    get_destructor.restype, get_destructor.argtypes = ctypes.c_void_p, [ctypes.py_object]
    assert get_destructor(capsule) is None
    gc.collect()
    assert dl.capsule_pointer(capsule) == ctypes.addressof(table_of(bi))


def test_X1_older_name_is_the_same_table(bi):
    assert ctypes.addressof(table_of(bi, "__c_dlpack_exchange_api__")) == ctypes.addressof(table_of(bi))


def test_X2_version(table):
    assert (table.header.major, table.header.minor) == (1, 3)
    assert table.header.prev_api is None


@pytest.mark.parametrize("name", ["allocate", "from_py", "to_py", "borrow", "stream"])
def test_X3_functions_are_there(table, name):
    assert ctypes.cast(getattr(table, name), ctypes.c_void_p).value


def test_X3_allocator_makes_memory(table, host):
    prototype = borrowed(table, host)
    out = VERSIONED()
    checked(table.allocate(ctypes.byref(prototype), ctypes.byref(out), None, None))
    taken = dl.Taken(out.contents, True)
    assert taken.tensor.shape_tuple() == (N,)
    assert taken.tensor.data not in (None, prototype.data)
    ctypes.memset(taken.tensor.data, 1, N)
    taken.delete()


def test_X3_allocator_on_the_device(bi, cuda, table):
    prototype = borrowed(table, bi.buffer_interface(CuPyLike(cuda)))
    out = VERSIONED()
    checked(table.allocate(ctypes.byref(prototype), ctypes.byref(out), None, None))
    taken = dl.Taken(out.contents, True)
    assert (taken.tensor.device.device_type, taken.tensor.device.device_id) == (dl.CUDA, 0)
    cuda.fill(taken.tensor.data, 1, N, current_stream(table, dl.CUDA))
    taken.delete()


# X4, X8: order


@pytest.mark.parametrize("way", [from_py, borrowed])
def test_X4_pending_home_of_a_producer_comes_before_the_work_stream(bi, cuda, table, way):
    producer = CuPyLike(cuda)
    producer.fill(5)
    view = bi.buffer_interface(producer)
    got = way(table, view)
    stream = current_stream(table, dl.CUDA)
    cuda.fill(producer.pointer, 6, N, stream)
    view.fill(7)
    if way is from_py:
        got.delete()
    view.release()
    producer.fill(8)
    assert producer.bytes() == bytes([8]) * N


def test_X4_idle_memory_needs_no_wait(bi, cuda, table):
    producer = NumbaLike(cuda)
    producer.bound = False
    view = bi.buffer_interface(producer)
    waits = cuda.counts().waits, cuda.counts().host_waits
    from_py(table, view).delete()
    borrowed(table, view)
    assert (cuda.counts().waits, cuda.counts().host_waits) == waits


def test_X4_results_follow_the_rules_of_capsules(bi, table):
    view = bi.buffer_interface(bytearray(range(N)))[::-2]
    taken = from_py(table, view)
    assert taken.tensor.byte_offset == 0
    assert taken.tensor.strides_tuple() == (-2,)
    assert taken.tensor.data == view.host_pointer
    assert (taken.block.major, taken.block.minor) == (1, 3)
    taken.delete()


def test_X4_readonly_is_said(bi, table):
    taken = from_py(table, bi.buffer_interface(bytes(8)))
    assert taken.flags & dl.READONLY
    taken.delete()


def test_X8_work_stream_is_one_for_all(bi, cuda, table):
    view = bi.buffer_interface(CuPyLike(cuda))
    stream = current_stream(table, dl.CUDA)
    assert stream > 2
    view.synchronize()
    idle = NumbaLike(cuda)
    idle.bound = False
    mine = bi.buffer_interface(idle)
    mine.fill(1)
    assert mine.stream == stream


@pytest.mark.parametrize("kind", [dl.CPU, dl.CUDA_HOST, 99, -1])
def test_X8_no_stream_for_devices_without_one(table, kind):
    assert current_stream(table, kind) == 0


@pytest.mark.parametrize("ordinal", [77, -1, -(2**31)])
def test_X8_device_that_is_not_there_is_no_failure(bi, cuda, pocl, table, ordinal):
    bi.buffer_interface(bi.full((4,), 3, "i4", device=pocl).__dlpack__(max_version=(1, 3)))  # looked up last
    assert current_stream(table, dl.CUDA, ordinal) == 0


# X5: borrowing


def test_X5_borrowed_tensor_is_all_int64(bi, table):
    view = bi.buffer_interface(bytearray(range(N))).view("<i4").reshape(4, 4)[::2, 1:]
    tensor = borrowed(table, view)
    assert tensor.shape_tuple() == (2, 3)
    assert tensor.strides_tuple() == (8, 1)
    assert tensor.data == view.host_pointer
    again = borrowed(table, view)
    assert ctypes.addressof(tensor.shape.contents) == ctypes.addressof(again.shape.contents)


def test_X5_strides_that_are_no_multiples(bi, table):
    import numpy

    array = numpy.zeros((4,), dtype=[("a", "|u1"), ("x", "<f4")])["x"]
    with pytest.raises(BufferError):
        borrowed(table, bi.buffer_interface(array))


# X6, X7: failures


@pytest.mark.parametrize("what", [1, "text", None, bytearray(4)])
def test_X6_other_objects_are_a_type_error(table, what):
    with pytest.raises(TypeError):
        from_py(table, what)
    with pytest.raises(TypeError):
        borrowed(table, what)


def test_X6_released_arrays_are_refused(bi, table, host):
    host.release()
    with pytest.raises(BufferError):
        from_py(table, host)


def bad_prototype(table, host):
    prototype = borrowed(table, host)
    prototype.ndim = -1
    return prototype


def prototype_nowhere(table, host):
    prototype = borrowed(table, host)
    prototype.device = dl.Device(dl.CUDA, 99)
    return prototype


@pytest.mark.parametrize("prototype_of", [bad_prototype, prototype_nowhere])
def test_X6_error_of_the_allocator_is_set_once(table, host, prototype_of):
    said = []

    @SET_ERROR
    def set_error(context, kind, message):
        said.append((context, kind, message))

    out = VERSIONED()
    prototype = prototype_of(table, host)
    code = table.allocate(ctypes.byref(prototype), ctypes.byref(out), 7, ctypes.cast(set_error, ctypes.c_void_p))
    assert code == -1 and not out
    assert len(said) == 1 and said[0][0] == 7 and said[0][1] and said[0][2]


def test_X6_error_may_be_nowhere_to_be_set(table, host):
    out = VERSIONED()
    prototype = bad_prototype(table, host)
    assert table.allocate(ctypes.byref(prototype), ctypes.byref(out), None, None) == -1
    assert not out


def tensor_of(block, **keywords):
    return dl.Tensor(
        ctypes.addressof(block), (8,), (1,), (dl.UINT, 8, 1), (dl.CPU, 0), owner=block, **keywords
    )


def test_X7_tensor_is_taken(table):
    tensor = tensor_of((ctypes.c_ubyte * 8)(*range(8)))
    view = to_py(table, tensor.address)
    assert bytes(view) == bytes(range(8))
    assert tensor.deleted == 0
    del view
    gc.collect()
    assert tensor.deleted == 1


@pytest.mark.parametrize("what", ["version", "device", "shape"])
def test_X7_tensor_is_taken_on_failure_too(table, what):
    tensor = tensor_of((ctypes.c_ubyte * 8)())
    if what == "version":
        tensor.block.major = 2
    elif what == "device":
        tensor.tensor.device.device_type = 99
    else:
        tensor._shape[0] = -1
    with pytest.raises(BufferError):
        to_py(table, tensor.address)
    assert tensor.deleted == 1


def test_X7_own_tensors_come_back_as_the_same_memory(bi, table, host):
    view = to_py(table, ctypes.addressof(from_py(table, host).block))
    assert type(view) is bi.BufferInterface
    assert view.host_pointer == host.host_pointer


def test_X4_device_tensor_goes_round(bi, cuda, table):
    producer = CuPyLike(cuda)
    producer.fill(5)
    view = bi.buffer_interface(producer)
    taken = from_py(table, view)
    back = to_py(table, ctypes.addressof(taken.block))
    consumer = DLPackConsumer(cuda).take(back)
    assert consumer.copied() == bytes([5]) * N
    consumer.delete()
