"""DLPack as a consumer, without a device: rules E1 to E8, E11 and E12, bare capsules, and the C table.

Tensors are made by hand (dlpack_structs), so that each can be wrong in one way and count its deletions. What needs a
stream is in test_rules_ordering.py.
"""

import ctypes
import gc
import sys
import threading
import weakref

import numpy as np
import pytest
import tvm_ffi

import dlpack_structs as dl
from buffer_interface import InvalidArrayError, UnsupportedError, buffer_interface, empty

KINDS = [True, False]  # with a version, without


class Memory:
    """Host floats 0, 1, ..., whose end can be seen."""

    def __init__(self, count=12):
        self.values = (ctypes.c_float * count)(*range(count))
        self.address = ctypes.addressof(self.values)


def make(versioned=True, shape=(3, 4), strides=(4, 1), dtype=(dl.FLOAT, 32, 1), device=(dl.CPU, 0), data=None, **members):
    memory = Memory()
    data = memory.address if data is None else data
    return dl.Tensor(data, shape, strides, dtype, device, versioned=versioned, owner=memory, **members)


class Producer:
    """Hands a tensor over. `knows` are the keywords of its __dlpack__."""

    def __init__(self, tensor, knows=("stream", "max_version"), device=(dl.CPU, 0)):
        self.tensor, self.knows, self.device = tensor, knows, device
        self.calls = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        self.calls.append(keywords)
        for name in keywords:
            if name not in self.knows:
                raise TypeError(f"unknown keyword {name}")
        return self.tensor.capsule()


def refused(error, match, tensor, deleted=1, **options):
    """No view, and one deletion. The capsule outlives the exception, which its destructor (in Python) would trip over."""
    capsule = tensor.capsule()
    with pytest.raises(error, match=match):
        buffer_interface(capsule, **options)
    assert tensor.deleted == deleted


def values(view):
    return np.asarray(view).tolist()


@pytest.fixture(autouse=True)
def everything_is_deleted():
    yield
    if dl.live_tensors():
        gc.collect()
    assert dl.live_tensors() == []


# E1: how the producer is asked


def test_E1_version_is_asked_for():
    producer = Producer(make())
    buffer_interface(producer)
    assert producer.calls == [{"stream": None, "max_version": (1, 3)}]


@pytest.mark.parametrize("knows, calls", [(("stream",), 2), ((), 3)])
def test_E1_producers_that_know_less(knows, calls):
    producer = Producer(make(versioned=False), knows)
    assert buffer_interface(producer).shape == (3, 4)
    assert len(producer.calls) == calls
    assert producer.calls[-1] == dict.fromkeys(knows)


@pytest.mark.parametrize("versioned", KINDS)
def test_E1_either_kind_is_taken_whatever_was_asked(versioned):
    assert values(buffer_interface(Producer(make(versioned), knows=())))[2] == [8, 9, 10, 11]


@pytest.mark.parametrize("error", [ValueError, BufferError, RuntimeError, KeyError])
def test_E1_other_errors_are_the_producers(error):
    class Failing(Producer):
        def __dlpack__(self, **keywords):
            self.calls.append(keywords)
            raise error("mine")

    producer = Failing(None)
    with pytest.raises(error, match="mine"):
        buffer_interface(producer)
    assert len(producer.calls) == 1


def test_E1_attributes_that_raise_are_no_missing_ones():
    class Failing:
        @property
        def __dlpack_device__(self):
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        buffer_interface(Failing())


def test_E1_a_type_that_dlpack_cannot_say_goes_through_the_buffer_protocol():
    view = buffer_interface(np.ma.masked_array(np.zeros(3, ">i4")).data.view(type("Sub", (np.ndarray,), {})))
    assert view.typestr == ">i4"
    with pytest.raises(BufferError):
        buffer_interface(np.zeros(3, ">i4"), protocol="dlpack")


# E2: versions


@pytest.mark.parametrize("version", [(0, 8), (2, 0), (100, 0)])
def test_E2_other_majors_are_deleted_and_not_looked_into(version):
    tensor = make(shape=(-1,), device=(99, 99), data=8)
    tensor.block.major, tensor.block.minor = version
    refused(InvalidArrayError, rf"{version[0]}\.{version[1]}.*E2", tensor)


def test_E2_later_minors_are_taken():
    tensor = make()
    tensor.block.minor = 99
    assert buffer_interface(tensor.capsule()).shape == (3, 4)


# E3: one deletion


@pytest.mark.parametrize("versioned", KINDS)
def test_E3_deleter_is_called_once_when_the_last_view_goes(versioned):
    tensor = make(versioned)
    owner = weakref.ref(tensor.owner)
    view = buffer_interface(Producer(tensor))
    part = view[1:]
    view.release()
    assert tensor.deleted == 0
    part.release()
    gc.collect()
    assert tensor.deleted == 1
    assert owner() is None


@pytest.mark.parametrize("versioned", KINDS)
def test_E3_capsule_is_renamed_at_once(versioned):
    tensor = make(versioned)
    capsule = tensor.capsule()
    view = buffer_interface(capsule)
    assert dl.capsule_name(capsule) == dl.USED[tensor.name]
    del capsule
    gc.collect()
    assert tensor.deleted == 0
    view.release()
    assert tensor.deleted == 1


@pytest.mark.parametrize("versioned", KINDS)
def test_E3_refused_tensors_are_deleted_once_and_their_capsule_is_used(versioned):
    tensor = make(versioned, shape=(-1, 4))
    capsule = tensor.capsule()
    for _ in range(2):
        with pytest.raises(InvalidArrayError):
            buffer_interface(capsule)
        assert tensor.deleted == 1
    assert dl.capsule_name(capsule) == dl.USED[tensor.name]


@pytest.mark.parametrize("versioned", KINDS)
@pytest.mark.parametrize("shape", [(3, 4), (-1, 4)])
def test_E3_deleter_may_be_missing(versioned, shape):
    tensor = make(versioned, shape=shape)
    tensor.block.deleter = None
    capsule = tensor.capsule()
    if shape[0] < 0:
        with pytest.raises(InvalidArrayError):
            buffer_interface(capsule)
    else:
        assert buffer_interface(capsule).shape == shape
    dl.Tensor._live.pop(tensor.address)


def test_E3_view_that_is_not_wanted_writable_is_deleted():
    refused(InvalidArrayError, "read-only", make(flags=dl.READONLY), writable=True)


# E4: capsules


def test_E4_used_capsule():
    tensor = make()
    capsule = tensor.capsule()
    view = buffer_interface(capsule)
    with pytest.raises(InvalidArrayError, match="consumed before.*E4"):
        buffer_interface(capsule)
    view.release()


@pytest.mark.parametrize("name", [b"something", b"dltensor_version", b"", None])
def test_E4_other_names(name):
    block = ctypes.create_string_buffer(256)
    with pytest.raises(InvalidArrayError, match="E4"):
        buffer_interface(dl.plain_capsule(ctypes.addressof(block), name))


@pytest.mark.parametrize("what", [None, 7, b"dltensor", {}])
def test_E4_no_capsule(what):
    class Odd(Producer):
        def __dlpack__(self, **keywords):
            return what

    with pytest.raises(InvalidArrayError, match="not a capsule.*E4"):
        buffer_interface(Odd(None))


@pytest.mark.parametrize("device", [None, 1, (1,), [1, 0], (1, 0, 0), ("cpu", 0), (1.0, 0), (2**40, 0)])
def test_E4_no_device(device):
    producer = Producer(None, device=device)
    with pytest.raises(TypeError, match="__dlpack_device__"):
        buffer_interface(producer)
    assert producer.calls == []


# E5 to E8: layout


def test_E5_no_strides_are_c_order():
    view = buffer_interface(make(strides=None).capsule())
    assert view.strides == (16, 4)
    assert values(view)[1] == [4, 5, 6, 7]


def test_E5_nothing_of_the_producers_is_written():
    tensor = make()
    before = bytes(tensor.block), bytes(tensor._shape), bytes(tensor._strides)
    view = buffer_interface(tensor.capsule())[::2, ::-1]
    assert (bytes(tensor.block), bytes(tensor._shape), bytes(tensor._strides)) == before
    view.release()


@pytest.mark.parametrize("versioned", KINDS)
def test_E6_byte_offset(versioned):
    tensor = make(versioned, shape=(2, 4), byte_offset=16)
    view = buffer_interface(tensor.capsule())
    assert int(view.buffer) == tensor.tensor.data + 16
    assert values(view)[0] == [4, 5, 6, 7]


@pytest.mark.parametrize(
    "members",
    [
        {"shape": (-1, 4)},
        {"shape": (2**62, 2**62), "strides": None},
        {"strides": (2**62, 1)},
        {"byte_offset": 2**64 - 1},
    ],
)
def test_E7_layouts_that_cannot_be(members):
    refused(InvalidArrayError, "E[67]", make(**members))


def test_E7_no_data():
    tensor = make()
    tensor.tensor.data = None
    refused(InvalidArrayError, "E7", tensor)


def test_E7_ndim_and_shape():
    for ndim in (-1, 65, 2**31 - 1):
        tensor = make()
        tensor.tensor.ndim = ndim
        refused(InvalidArrayError, "ndim.*E7", tensor)
    tensor = make()
    tensor.tensor.shape = None
    refused(InvalidArrayError, "shape is NULL.*E7", tensor)


def test_E7_negative_strides_are_layouts():
    tensor = make(shape=(12,), strides=(-1,), byte_offset=44)
    assert values(buffer_interface(tensor.capsule())) == list(range(11, -1, -1))


def test_E7_no_elements_and_no_data():
    tensor = make(shape=(0, 4))
    tensor.tensor.data = None
    assert buffer_interface(tensor.capsule()).shape == (0, 4)


def test_E8_without_a_version_it_is_readonly_unless_the_caller_says_otherwise():
    assert buffer_interface(make(False).capsule()).readonly
    assert not buffer_interface(make(False).capsule(), writable=True).readonly
    assert not buffer_interface(make(True).capsule()).readonly
    assert buffer_interface(make(True, flags=dl.READONLY).capsule()).readonly


def test_D3_what_came_without_a_version_goes_out_without_one():
    array = buffer_interface(make(False).capsule())
    assert array.readonly
    for view in (array, array[...], array.T):
        assert buffer_interface(view.__dlpack__()).shape == view.shape
    for readonly in (make(True, flags=dl.READONLY).capsule(), make(False).capsule()):
        with pytest.raises(UnsupportedError, match="D3"):
            buffer_interface(readonly, writable=False).__dlpack__()


# E11, E12: flags and types


@pytest.mark.parametrize("flags", [8, 1 << 63])
def test_E11_unknown_flags(flags):
    refused(UnsupportedError, "E11", make(flags=flags))


def test_E11_packed_elements():
    refused(UnsupportedError, "E11", make(dtype=(17, 4, 1)))


def test_E11_padded_elements_are_taken():
    view = buffer_interface(make(dtype=(17, 4, 1), flags=dl.PADDED).capsule())
    assert (view.typestr, view.itemsize) == ("float4_e2m1fn", 1)


def test_E12_lanes_are_kept():
    view = buffer_interface(make(shape=(3,), strides=(1,), dtype=(dl.FLOAT, 32, 4)).capsule())
    assert (view.shape, view.itemsize) == ((3,), 16)
    taken = dl.take(view.__dlpack__(max_version=(1, 3)))
    assert (taken.tensor.dtype.bits, taken.tensor.dtype.lanes) == (32, 4)
    taken.delete()


@pytest.mark.parametrize("dtype", [(99, 32, 1), (dl.FLOAT, 33, 1), (dl.INT, 0, 1), (dl.INT, 8, 0)])
def test_E12_types_that_are_not_known(dtype):
    refused(InvalidArrayError, "D9", make(dtype=dtype))


# Places


@pytest.mark.parametrize("device", [(10, 0), (7, 0), (99, 0)])
def test_E7_devices_that_no_backend_has(device):
    producer = Producer(make(device=device), device=device)
    with pytest.raises(UnsupportedError, match=f"device type {device[0]} .*E7"):
        buffer_interface(producer)
    assert producer.calls == []
    refused(UnsupportedError, "device type", producer.tensor)


def test_E7_opencl_needs_trust():
    producer = Producer(make(device=(dl.OPENCL, 0)), device=(dl.OPENCL, 0))
    with pytest.raises(UnsupportedError, match="trust=True"):
        buffer_interface(producer)
    assert producer.calls == []
    refused(UnsupportedError, "trust=True", producer.tensor)


def test_E7_opencl_with_trust(bi, pocl):
    memory = bi.full((4,), 3, "i4", device=pocl)
    tensor = make(shape=(2,), strides=(1,), dtype=(dl.INT, 32, 1), device=(dl.OPENCL, 0), data=memory.buffer.int_ptr, byte_offset=8)
    view = buffer_interface(Producer(tensor, device=(dl.OPENCL, 0)), trust=True)
    assert (view.backend, view.buffer.int_ptr, view.offset) == ("opencl", memory.buffer.int_ptr, 8)
    assert view.context == memory.context
    assert values(view.to("host")) == [3, 3]
    view.synchronize()
    view.release()
    assert tensor.deleted == 1


def test_E7_opencl_without_elements(pocl):
    tensor = make(shape=(0,), strides=(1,), device=(dl.OPENCL, 0))
    tensor.tensor.data = None
    view = buffer_interface(tensor.capsule(), trust=True)
    assert (view.backend, view.shape) == ("opencl", (0,))


@pytest.mark.parametrize("announced", [(dl.OPENCL, 0), (dl.CPU, 0)])
def test_D10_tensor_elsewhere_than_announced(announced):
    other = (dl.CPU, 0) if announced[0] == dl.OPENCL else (dl.CUDA, 0)
    tensor = make(device=other)
    with pytest.raises(InvalidArrayError, match="D10"):
        buffer_interface(Producer(tensor, device=announced), trust=True)
    assert tensor.deleted == 1


class Nowhere:
    def __dlpack_device__(self):
        return dl.CUDA, -1

    def __dlpack__(self, **keywords):
        raise AssertionError("asked for a tensor")


def test_D10_negative_ordinal_is_no_device():
    buffer_interface(np.zeros(1))  # what is open, and no device of CUDA, is not taken for it
    with pytest.raises(InvalidArrayError, match="-1"):
        buffer_interface(Nowhere())


def test_pinned_memory_is_the_hosts():
    view = buffer_interface(make(device=(dl.CUDA_HOST, 0)).capsule())
    assert view.backend == "host"
    assert values(view)[0] == [0, 1, 2, 3]


def test_producer_stream_is_for_devices():
    refused(ValueError, "stream", make(), producer_stream=1)


# The C table


class Header(ctypes.Structure):
    pass


Header._fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.POINTER(Header))]
FROM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Table(ctypes.Structure):
    _fields_ = [
        ("header", Header),
        ("allocate", ctypes.c_void_p),
        ("from_object", FROM),
        ("to_object", ctypes.c_void_p),
        ("describe_object", ctypes.c_void_p),
        ("current_work_stream", STREAM),
    ]


TABLE = b"dlpack_exchange_api"
KEPT = []


@FROM
def from_object(array, out):
    out[0] = array.tensor.address
    return 0


def new_table(stream=0, version=(1, 3), previous=None, give=from_object):
    table = Table()
    table.header = Header(*version)
    if previous is not None:
        table.header.previous = ctypes.pointer(previous.header)
    asked = []

    @STREAM
    def current_work_stream(device_type, device_id, out):
        asked.append((device_type, device_id))
        out[0] = stream
        return 0

    table.from_object, table.current_work_stream = give, current_work_stream
    KEPT.append((table, current_work_stream, previous))
    return table, asked


def with_table(table, name=TABLE, **members):
    capsule = dl.plain_capsule(ctypes.addressof(table), name)
    return type("WithTable", (Producer,), {"__dlpack_c_exchange_api__": capsule, **members})


def test_table_is_used_instead_of_the_method():
    table, asked = new_table()
    tensor = make()
    producer = with_table(table)(tensor)
    view = buffer_interface(producer)
    assert values(view)[0] == [0, 1, 2, 3]
    assert (producer.calls, asked) == ([], [])
    view.release()
    assert tensor.deleted == 1


def test_a_tensor_that_is_resolved_later_is_refused():
    """PyTorch's table exports x.conj() as x."""
    table, _ = new_table()
    for how in (with_table(table), Producer):
        lazy = type("Lazy", (how,), {"is_conj": lambda self: True})
        tensor = make(shape=(6,), strides=(1,), dtype=(dl.COMPLEX, 64, 1))
        with pytest.raises(BufferError, match="conjugated.*resolve_conj"):
            buffer_interface(lazy(tensor))
        assert tensor.deleted == 1
        with pytest.raises(ZeroDivisionError):
            buffer_interface(type("Broken", (how,), {"is_neg": lambda self: 1 / 0})(make()))


def test_a_tensor_that_requires_a_gradient_is_refused():
    """PyTorch's __dlpack__ refuses it, and its table does not."""
    table, _ = new_table()
    kind = with_table(table, requires_grad=property(lambda self: self.answer()))
    producer = kind(make())
    producer.answer = lambda: True
    for protocol in (None, "dlpack"):
        with pytest.raises(BufferError, match=r"WithTable requires a gradient: pass x\.detach\(\)"):
            buffer_interface(producer, protocol=protocol)
    producer.answer = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        buffer_interface(producer)
    producer.answer = lambda: False
    assert buffer_interface(producer).shape == (3, 4)


@pytest.mark.parametrize("known", [("stream",), ("stream", "max_version")])
def test_E1_the_error_of_the_producer_is_raised(known):
    """pyarrow raises a subclass of TypeError for nulls, and warns that the call without a version is deprecated."""

    class Nulls(TypeError):
        pass

    def fail(self, **keywords):
        self.calls.append(keywords)
        if "max_version" in keywords and "max_version" not in known:
            raise TypeError("unknown keyword max_version")
        raise Nulls("the array has nulls") if "stream" in keywords else DeprecationWarning("unversioned")

    producer = type("Nullable", (Producer,), {"__dlpack__": fail})(None)
    with pytest.raises(Nulls, match="has nulls"):
        buffer_interface(producer)
    assert len(producer.calls) == 3 - len(known)


def test_table_of_tvm_ffi():
    source = np.arange(6, dtype="i4")
    wrapper = tvm_ffi.core.DLTensorTestWrapper(tvm_ffi.from_dlpack(source))
    view = buffer_interface(wrapper)
    assert (int(view.buffer), view.shape, view.typestr) == (source.ctypes.data, (6,), "<i4")


def test_table_counts_on_the_type_only():
    producer = Producer(make())
    producer.__dlpack_c_exchange_api__ = "no capsule"
    assert buffer_interface(producer).shape == (3, 4)


def test_table_of_another_name_is_none():
    table, _ = new_table()
    producer = with_table(table, b"another_api")(make())
    assert buffer_interface(producer).shape == (3, 4)
    assert len(producer.calls) == 1


def test_table_of_a_later_major_leads_to_an_earlier_one():
    older, _ = new_table()
    newer, _ = new_table(version=(2, 0), previous=older, give=FROM())
    producer = with_table(newer)(make())
    assert buffer_interface(producer).shape == (3, 4)
    assert producer.calls == []


def test_table_of_a_later_major_alone_is_none():
    table, _ = new_table(version=(2, 0), give=FROM())
    producer = with_table(table)(make())
    assert buffer_interface(producer).shape == (3, 4)
    assert len(producer.calls) == 1


@pytest.mark.parametrize(("name", "empty"), [("from_object", FROM()), ("current_work_stream", STREAM())])
def test_table_without_a_function_is_none(name, empty):
    table, _ = new_table()
    setattr(table, name, empty)
    producer = with_table(table)(make())
    assert buffer_interface(producer).shape == (3, 4)
    assert len(producer.calls) == 1


def test_table_that_refuses():
    """A function of C that fails with what the object raises."""

    def fileno(self):
        raise LookupError("mine")

    table, _ = new_table(give=FROM(("PyObject_AsFileDescriptor", ctypes.pythonapi)))
    producer = with_table(table, fileno=fileno)(None)
    with pytest.raises(LookupError, match="mine"):
        buffer_interface(producer)
    assert producer.calls == []


def test_table_that_raises_a_backtrace():
    """A RuntimeError of a table is an exception of C++. The words for users are those of __dlpack__."""

    def fileno(self):
        raise RuntimeError("Exception raised from ... frame #0 ...")

    table, _ = new_table(give=FROM(("PyObject_AsFileDescriptor", ctypes.pythonapi)))
    kind = with_table(table, fileno=fileno)
    with pytest.raises(AttributeError, match="capsule"):
        buffer_interface(kind(None))
    producer = kind(make())
    assert buffer_interface(producer).shape == (3, 4)
    assert len(producer.calls) == 1
    alone = type("Alone", (), {"__dlpack_c_exchange_api__": kind.__dlpack_c_exchange_api__, "fileno": fileno})
    with pytest.raises(RuntimeError, match="frame #0"):
        buffer_interface(alone())


@pytest.mark.parametrize("members", [{"shape": (-1, 4)}, {"device": (10, 0)}, {"device": (dl.OPENCL, 0)}, {"flags": 8}])
def test_table_tensors_that_are_refused_are_deleted(members):
    table, _ = new_table()
    tensor = make(**members)
    with pytest.raises(BufferError):
        buffer_interface(with_table(table)(tensor))
    assert tensor.deleted == 1


def test_table_work_stream_is_the_home(cuda):
    stream = cuda.stream()
    table, asked = new_table(stream)
    tensor = make(device=(dl.CUDA, 0), data=cuda.alloc(48))
    cuda.fill(tensor.tensor.data, 0, 48, stream)
    view = buffer_interface(with_table(table)(tensor))
    assert (view.stream, asked) == (stream, [(dl.CUDA, 0)])
    assert values(view.to("host")) == [[0] * 4] * 3


def test_table_work_stream_0_is_the_legacy_one(cuda):
    table, _ = new_table(None)
    view = buffer_interface(with_table(table)(make(device=(dl.CUDA, 0), data=cuda.alloc(48))))
    assert view.stream == 1


def test_table_producer_stream_and_sync_ask_for_none(cuda):
    stream = cuda.stream()
    for options, expected in (({"producer_stream": stream}, stream), ({"sync": False}, None)):
        table, asked = new_table(1)
        view = buffer_interface(with_table(table)(make(device=(dl.CUDA, 0), data=cuda.alloc(48))), **options)
        assert (view.stream, asked) == (expected, [])


# Streams that __dlpack__ is told (the rest is in test_rules_ordering.py)


def test_E10_producer_stream_is_waited_for_by_us(cuda):
    stream = cuda.stream()
    producer = Producer(make(device=(dl.CUDA, 0), data=cuda.alloc(48)), device=(dl.CUDA, 0))
    cuda.fill(producer.tensor.tensor.data, 0, 48, stream)
    view = buffer_interface(producer, producer_stream=stream)
    assert producer.calls[0]["stream"] == -1
    assert view.stream == stream
    assert values(view.to("host")) == [[0] * 4] * 3


def test_E10_older_producers_are_still_told_the_stream(cuda):
    producer = Producer(make(False, device=(dl.CUDA, 0), data=cuda.alloc(48)), knows=("stream",), device=(dl.CUDA, 0))
    view = buffer_interface(producer)
    assert producer.calls[-1]["stream"] == view.stream > 2


@pytest.mark.parametrize("sync", [True, False])
def test_blocks_wait_at_their_end_unless_told_not_to(cuda, sync):
    empty(1, "u1", device="cuda").release()  # opens the device, for which the driver may wait
    tensor = make(device=(dl.CUDA, 0), data=cuda.alloc(48))
    stream = cuda.stream()
    gate = cuda.gate(stream)
    opened = []
    timer = threading.Timer(0.1 if sync else 60, lambda: (opened.append(True), gate.open()))
    timer.start()
    with buffer_interface(tensor.capsule(), sync=sync) as view:
        view.hand_back(stream)
    assert bool(opened) == sync
    timer.cancel()
    gate.open()
    cuda.synchronize()


def test_checks_can_be_left_out(cuda):
    tensor = make(device=(dl.CUDA, 0), data=cuda.alloc(8))
    refused(InvalidArrayError, "E7", tensor)
    tensor = make(device=(dl.CUDA, 0), data=cuda.alloc(8))
    assert buffer_interface(tensor.capsule(), check=False).shape == (3, 4)


def test_references_come_back():
    producer = Producer(make())
    before = sys.getrefcount(producer), sys.getrefcount(producer.knows)
    buffer_interface(producer).release()
    assert (sys.getrefcount(producer), sys.getrefcount(producer.knows)) == before


@pytest.mark.parametrize("status, lacks", [(0, "tensor"), (-1, "exception")])
def test_X3_table_that_gives_nothing(status, lacks):
    @FROM
    def give(array, out):
        return status

    table, _ = new_table(give=give)
    with pytest.raises(InvalidArrayError, match=f"returns {status}, and gives no {lacks}"):
        buffer_interface(with_table(table)(None))


def test_X3_a_table_that_names_no_stream_is_refused(cuda):
    table, _ = new_table()
    table.current_work_stream = STREAM(lambda device_type, device_id, out: -1)
    tensor = make(device=(dl.CUDA, 0), data=cuda.alloc(48))
    with pytest.raises(InvalidArrayError, match=r"no stream of device \(2, 0\), and gives no exception"):
        buffer_interface(with_table(table)(tensor))
    assert tensor.deleted == 1


class Lender:
    """A producer whose tensor does not own its memory, and whose deleter uses the producer, as mpi4py's test double."""

    def __init__(self, versioned):
        self.memory = Memory()
        block = (dl.ManagedVersioned if versioned else dl.Managed)()
        self.shape = (ctypes.c_int64 * 1)(12)
        self.strides = (ctypes.c_int64 * 1)(1)
        block.tensor = dl.DLTensor(
            self.memory.address, dl.Device(dl.CPU, 0), 1, dl.Type(dl.FLOAT, 32, 1), self.shape, self.strides, 0
        )
        if versioned:
            block.major = 1
        self.alive_at_deletion = alive = []
        me = weakref.ref(self)
        self.deleter = dl.DELETER(lambda _: alive.append(me() is not None))
        block.deleter = ctypes.cast(self.deleter, ctypes.c_void_p)
        self.block, self.name = block, dl.VERSIONED if versioned else dl.UNVERSIONED

    def __dlpack_device__(self):
        return (dl.CPU, 0)

    def __dlpack__(self, **_):
        return dl.plain_capsule(ctypes.addressof(self.block), self.name)


@pytest.mark.parametrize("versioned", KINDS)
def test_E3_the_producer_lives_until_its_deleter_has_returned(versioned):
    producer = Lender(versioned)
    gone, deleted, deleter = weakref.ref(producer), producer.alive_at_deletion, producer.deleter
    view = buffer_interface(producer)
    part = view[3:5]
    del producer, view
    gc.collect()
    assert gone() is not None and deleted == []
    assert np.asarray(part).tolist() == [3, 4]
    del part
    gc.collect()
    assert deleted == [True]
    assert gone() is None
    del deleter


@pytest.mark.parametrize("versioned", KINDS)
def test_E3_the_producer_of_a_refused_tensor_is_released(versioned):
    producer = Lender(versioned)
    producer.block.tensor.ndim = -1
    gone, deleted, deleter = weakref.ref(producer), producer.alive_at_deletion, producer.deleter
    with pytest.raises(InvalidArrayError):
        buffer_interface(producer)
    del producer
    gc.collect()
    assert deleted == [True]
    assert gone() is None
    del deleter
