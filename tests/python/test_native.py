"""__buffer_interface_c__ as a consumer: our own objects, and types of others that carry a table of their own.

A foreign type is made with ctypes: its functions are Python, its structs are those of abi.h.
"""

import ctypes
import sys

import numpy as np
import pytest

import dlpack_structs as dl
from buffer_interface import InvalidArrayError, UnsupportedError, buffer_interface
from exchange_struct import C_CONTIGUOUS, COPIED, F_CONTIGUOUS, FILL, RELEASE, VERSION, Exchange, Table

HOST, CUDA, CL_MEM, CL_SVM = 1, 2, 3, 4  # kinds of handles
ON_CPU, ON_CUDA, ON_PINNED, ON_OPENCL = 1, 2, 3, 4
STREAM, QUEUE = 1, 3  # kinds of order
READONLY, CRITICAL, IGNORABLE = 1, 2, 1 << 20
DENSE = C_CONTIGUOUS | F_CONTIGUOUS
NAME = b"buffer_interface.c_api"

KEPT = []
released = []


@RELEASE
def release(exchange):
    released.append(exchange.contents.owner)
    exchange.contents.release = None


class Producer:
    """Four ints. `members` replace what is said of them."""

    def __init__(self, **members):
        self.values = (ctypes.c_int32 * 4)(*range(4))
        self.shape, self.strides = (ctypes.c_int64 * 1)(4), (ctypes.c_int64 * 1)(4)
        self.members = members

    def fill(self, out):
        said = dict(version=VERSION, struct_size=ctypes.sizeof(Exchange), device_type=ON_CPU, handle_kind=HOST)
        said.update(handle=ctypes.addressof(self.values), size=16, flags=DENSE, ndim=1, owner=id(self))
        said.update(type_code=0, type_bits=32, type_lanes=1, item_size=4)
        ctypes.memset(out, 0, ctypes.sizeof(Exchange))
        for name, value in {**said, **self.members}.items():
            setattr(out.contents, name, value)
        out.contents.shape, out.contents.strides = self.shape, self.strides
        out.contents.release = ctypes.cast(release, ctypes.c_void_p)
        KEPT.append(self)


@FILL
def acquire(producer, wishes, out):
    producer.fill(out)
    return 0


def table(version=VERSION, give=acquire, size=ctypes.sizeof(Table)):
    made = Table(version, size, give)
    KEPT.append(made)
    return made


def foreign(made=None, name=NAME, base=Producer, **members):
    capsule = dl.plain_capsule(ctypes.addressof(made or table()), name)
    return type("Foreign", (base,), {"__buffer_interface_c__": capsule, **members})


@pytest.fixture(autouse=True)
def forget():
    released.clear()
    yield
    KEPT.clear()


def refused(error, match, producer, **options):
    with pytest.raises(error, match=match):
        buffer_interface(producer, **options)
    assert released == [id(producer)]


# Our own objects


def test_own_object_gives_another_over_the_same_memory():
    source = np.arange(4, dtype="i4")
    view = buffer_interface(source)
    again = buffer_interface(view)
    assert again is not view
    assert int(again.buffer) == int(view.buffer)
    view.release()
    assert np.asarray(again).tolist() == [0, 1, 2, 3]
    again.release()


def test_own_object_that_was_released():
    view = buffer_interface(np.zeros(4))
    view.release()
    with pytest.raises(InvalidArrayError, match="released"):
        buffer_interface(view)


def test_own_object_as_readonly():
    view = buffer_interface(np.zeros(4))
    assert buffer_interface(view, writable=False).readonly
    assert not view.readonly
    with pytest.raises(InvalidArrayError):
        buffer_interface(buffer_interface(view, writable=False), writable=True)


def test_own_object_is_acquired_for_a_stream(bi, cuda):
    view = bi.zeros((4,), "i4", device="cuda")
    stream = cuda.stream()
    with buffer_interface(view, stream=stream) as again:
        cuda.fill(int(again.buffer), 1, 16, stream)
    assert np.asarray(view.to("host")).tolist() == [0x01010101] * 4


def test_own_object_follows_a_producer_stream(bi, cuda):
    view = bi.zeros((4,), "i4", device="cuda")
    view.synchronize()
    stream = cuda.stream()
    cuda.fill(int(view.buffer), 1, 16, stream)
    again = buffer_interface(view, producer_stream=stream)
    assert np.asarray(again.to("host")).tolist() == [0x01010101] * 4


def test_own_object_stays_one_whose_block_waits(cuda):
    """A block over memory without a named stream waits for our work, whoever's object it is."""

    class Cai:
        __cuda_array_interface__ = {"shape": (64,), "typestr": "|u1", "data": (cuda.alloc(64), False), "version": 2}

    with buffer_interface(buffer_interface(Cai())) as again:
        again.fill(1)
        pointer = int(again.buffer)
    assert cuda.ordered(0, pointer, 64)


def test_C3_own_masked_object(cuda):
    class Cai:
        def __init__(self, **members):
            data = (cuda.alloc(64), False)
            self.__cuda_array_interface__ = {"shape": (64,), "typestr": "|u1", "data": data, "version": 3, **members}

    masked = buffer_interface(Cai(mask=Cai(typestr="|b1")), mask="keep")
    with pytest.raises(UnsupportedError, match="mask='keep'.*C3"):
        buffer_interface(masked)
    again = buffer_interface(masked, mask="keep")
    mask = int(masked.mask.buffer)
    masked.release()
    assert int(again.mask.buffer) == mask


# Of others


def test_struct_is_taken_and_released_once():
    producer = foreign()()
    view = buffer_interface(producer)
    assert (view.backend, view.shape, view.typestr) == ("host", (4,), "<i4")
    assert int(view.buffer) == ctypes.addressof(producer.values)
    part = view[1:]
    view.release()
    assert released == []
    part.release()
    assert released == [id(producer)]


def test_protocol_can_be_forced():
    assert buffer_interface(foreign()(), protocol="native").shape == (4,)
    with pytest.raises(TypeError):
        buffer_interface(np.zeros(4), protocol="native")


def test_subtypes_have_the_table_of_their_base():
    class Sub(foreign()):
        pass

    assert buffer_interface(Sub()).shape == (4,)


def test_the_table_of_an_instance_does_not_count():
    producer = Producer()
    producer.__buffer_interface_c__ = 7
    with pytest.raises(TypeError, match="no protocol"):
        buffer_interface(producer)


def test_readonly():
    assert buffer_interface(foreign()(flags=DENSE | READONLY)).readonly


@pytest.mark.parametrize(
    "members, error, match",
    [
        ({"version": VERSION + 1, "handle_kind": 99}, InvalidArrayError, "version 0.3"),
        ({"struct_size": 8}, InvalidArrayError, "struct_size"),
        ({"handle_kind": 0}, InvalidArrayError, "handle_kind"),
        ({"handle_kind": 99}, InvalidArrayError, "handle_kind is 99"),
        ({"device_type": ON_CUDA}, InvalidArrayError, "device_type"),
        ({"size": 8}, InvalidArrayError, "8"),
        ({"ndim": 99}, InvalidArrayError, "ndim"),
        ({"item_size": 3}, InvalidArrayError, "item_size"),
        ({"flags": CRITICAL}, UnsupportedError, "flags"),
        ({"handle_kind": CL_SVM, "device_type": ON_OPENCL}, InvalidArrayError, "context is 0"),
    ],
)
def test_structs_that_cannot_be_are_released(members, error, match):
    refused(error, match, foreign()(**members))


def test_unknown_flags_above_bit_15_are_ignored():
    assert buffer_interface(foreign()(flags=DENSE | IGNORABLE)).shape == (4,)


def test_writable_is_refused_of_what_is_not():
    refused(InvalidArrayError, "read-only", foreign()(flags=READONLY), writable=True)


def test_acquire_that_fails():
    """A function of C that fails with what the object raises."""

    def fileno(self):
        raise LookupError("mine")

    made = table(give=FILL(("PyObject_AsFileDescriptor", ctypes.pythonapi)))
    with pytest.raises(LookupError, match="mine"):
        buffer_interface(foreign(made, fileno=fileno)())
    assert released == []


class Speaking(Producer):
    """Has another protocol as well."""

    @property
    def __array_interface__(self):
        return np.frombuffer(self.values, "i4").__array_interface__


@pytest.mark.parametrize("made", [{"version": VERSION + 1}, {"size": 8}])
def test_tables_of_other_versions_are_passed_over(made):
    producer = foreign(table(**made), base=Speaking)()
    assert buffer_interface(producer).shape == (4,)
    with pytest.raises(BufferError, match="version"):
        buffer_interface(producer, protocol="native")
    with pytest.raises(TypeError, match="no protocol"):
        buffer_interface(foreign(table(**made))())


def test_a_table_without_a_function():
    made = table()
    made.acquire = FILL()
    with pytest.raises(TypeError, match="acquire of __buffer_interface_c__ is NULL"):
        buffer_interface(foreign(made)())


def test_a_stream_that_the_memory_cannot_have_is_refused():
    options = {"producer_stream": 1, "protocol": "native"}
    refused(ValueError, "producer_stream is given, but host memory has no streams", foreign()(), **options)


def test_a_table_that_fails_without_an_exception():
    made = table(give=FILL(lambda producer, wishes, out: -1))
    with pytest.raises(InvalidArrayError, match="of type Foreign fails without an exception"):
        buffer_interface(foreign(made)())


@pytest.mark.parametrize("capsule", [7, None, "text"])
def test_what_is_no_capsule(capsule):
    with pytest.raises(TypeError, match="not a capsule"):
        buffer_interface(type("Odd", (Producer,), {"__buffer_interface_c__": capsule})())


def test_capsule_of_another_name():
    with pytest.raises(TypeError, match="buffer_interface.c_api"):
        buffer_interface(foreign(name=b"something")())


def test_references_come_back():
    producer = foreign()()
    capsule = type(producer).__buffer_interface_c__
    before = sys.getrefcount(capsule)
    buffer_interface(producer).release()
    after = sys.getrefcount(capsule)
    assert after == before


# Devices


def on_cuda(pointer, **members):
    return foreign()(device_type=ON_CUDA, handle_kind=CUDA, handle=pointer, **members)


def test_cuda_memory_with_a_stream(cuda):
    pointer, stream = cuda.alloc(16), cuda.stream()
    cuda.fill(pointer, 1, 16, stream)
    view = buffer_interface(on_cuda(pointer, order_kind=STREAM, stream=stream))
    assert (view.backend, view.device, view.stream) == ("cuda", 0, stream)
    assert np.asarray(view.to("host")).tolist() == [0x01010101] * 4


def test_cuda_memory_of_the_second_device(cuda, second):
    view = buffer_interface(on_cuda(second.alloc(16), device_id=1))
    assert view.device == 1


def test_cuda_memory_without_a_stream_waits_at_the_end_of_a_block(cuda):
    pointer = cuda.alloc(16)
    with buffer_interface(on_cuda(pointer)) as view:
        view.fill(1)
    assert cuda.ordered(0, pointer, 16)


def test_cuda_sync_false_and_producer_stream(cuda):
    pointer, stream, other = cuda.alloc(16), cuda.stream(), cuda.stream()
    view = buffer_interface(on_cuda(pointer, order_kind=STREAM, stream=stream), sync=False)
    assert view.stream is None
    cuda.fill(pointer, 1, 16, other)
    view = buffer_interface(on_cuda(pointer, order_kind=STREAM, stream=stream), producer_stream=other)
    assert np.asarray(view.to("host")).tolist() == [0x01010101] * 4


def test_cl_mem(bi, pocl):
    memory = bi.full((8,), 7, "i4", device=pocl)
    place = dict(device_type=ON_OPENCL, handle_kind=CL_MEM, handle=memory.buffer.int_ptr, context=memory.context)
    producer = foreign()(**place, offset=16, size=32)
    view = buffer_interface(producer)
    assert (view.buffer.int_ptr, view.offset, view.context) == (memory.buffer.int_ptr, 16, memory.context)
    memory.synchronize()
    assert np.asarray(view.to("host")).tolist() == [7] * 4
    view.synchronize()
    view.release()
    assert released == [id(producer)]


# The flag of a copy


def flags_of(view):
    exchange = Exchange.empty()
    capsule = vars(type(view))["__buffer_interface_c__"]
    Table.from_address(dl.capsule_pointer(capsule)).acquire(view, 0, ctypes.byref(exchange))
    exchange.let_go()
    return exchange.flags


def test_B11_the_flag_of_a_copy_is_set_for_copies_alone(bi):
    source = np.arange(4)
    assert not flags_of(bi.buffer_interface(source)) & COPIED
    copy = bi.buffer_interface(source, copy=True)
    assert flags_of(copy) & COPIED and flags_of(copy[1:]) & COPIED
    assert not flags_of(copy.copy()) & COPIED
