"""
What went wrong in other libraries (the threads are named), once each: a producer, a consumer or a user that misbehaves
in that way meets an exception that names the fact, or gets a result that is right. The process survives, and nothing
leaks: after an import that failed the counts of references and deleters are what they were.
"""

import ctypes
import gc
import re
import sys
import weakref
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pyopencl
import pyopencl.array
import pytest

from buffer_interface import InvalidArrayError, UnsupportedError, buffer_interface, empty, from_numpy
from peers import compiled, dlpack
from peers.fixtures import new_queue, opencl_queue  # noqa: F401
from peers.threads import THREADS, together

NON_BLOCKING = 1


class Cai:
    """A producer whose dictionary is what it is given."""

    def __init__(self, **members):
        self.members = {"shape": (16,), "typestr": "<f4", "version": 3, **members}

    @property
    def __cuda_array_interface__(self):
        return self.members


def refuses(error, match, producer, **options):
    """The import fails with a message that matches, and keeps no reference to the producer."""
    before = sys.getrefcount(producer)
    with pytest.raises(error, match=match):
        buffer_interface(producer, **options)
    gc.collect()
    assert sys.getrefcount(producer) == before


def refuses_tensor(error, match, *args, versions=(None, (1, 0)), deleted=1, **members):
    """The same for DLPack; the deleter of a tensor that was taken is called once."""
    for version in versions:
        tensor = dlpack.Tensor(*args, version=version, **members)
        refuses(error, match, tensor.producer())
        assert tensor.deleted == deleted


# numba#4933, numba#5162, cupy#4357, dlpack#57: work is pending, and nobody says where.


@pytest.mark.parametrize("members", [{"version": 2}, {"version": 3}, {"version": 3, "stream": None}])
def test_silent_producer_whose_user_says_where_it_works(cuda, members):
    stream = cuda.stream(NON_BLOCKING)
    pointer = cuda.alloc(64)
    cuda.fill(pointer, 7, 64, stream)
    with buffer_interface(Cai(data=(pointer, False), **members), producer_stream=stream) as view:
        copy = view.copy()
        assert np.asarray(copy.to("host")).view("u1").tolist() == [7] * 64
    assert cuda.report() == []


# PyTorch's version 2, PyCUDA's None; PyArrow, mpi4py and PyTorch read the pointer and no stream.


def test_consumer_that_reads_no_stream_gets_finished_memory(cuda):
    array = from_numpy(np.full(64, 3, "u1"), device="cuda")
    dictionary = array.cuda_array_interface(synchronize=True)
    assert dictionary["stream"] is None
    assert cuda.ordered(0, dictionary["data"][0], 64, writes=True)


# CuPy's warning, PyTorch's 0: two meanings.


def test_stream_zero_of_a_producer(cuda):
    refuses(InvalidArrayError, "stream is 0", Cai(data=(cuda.alloc(64), False), stream=0))


def test_stream_zero_of_a_consumer(cuda):
    array = empty(4, "f4", device="cuda")
    with pytest.raises((ValueError, BufferError), match="0"):
        array.__dlpack__(stream=0)


# numba#7706: a host wait at each launch.


def test_no_host_wait_for_a_pending_producer(cuda):
    stream = cuda.stream(NON_BLOCKING)
    pointer = cuda.alloc(64)
    buffer_interface(Cai(data=(pointer, False), stream=stream)).release()
    waits = cuda.counts().host_waits
    for _ in range(10):
        cuda.fill(pointer, 1, 64, stream)
        with buffer_interface(Cai(data=(pointer, False), stream=stream)) as view:
            view.fill(2)
    assert cuda.counts().host_waits == waits


# numba#4886, numba#5007, numba#5323, JAX: memory that goes while a view of it is left.


def test_producer_that_nobody_else_keeps():
    class Producer:
        def __init__(self):
            self.array = np.arange(6)

        @property
        def __array_interface__(self):
            return self.array.__array_interface__

    producer = Producer()
    alive = weakref.ref(producer)
    view = buffer_interface(producer)[1:]
    del producer
    gc.collect()
    assert alive() and np.asarray(view).tolist() == [1, 2, 3, 4, 5]
    view.release()
    assert not alive()


def test_dictionary_of_memory_that_its_property_makes_anew(cuda):
    """The dictionary goes; the object that gave it stays."""
    producer = Cai(data=(cuda.alloc(64), False))
    alive = weakref.ref(producer)
    view = buffer_interface(producer)
    del producer
    gc.collect()
    assert alive()
    view.release()
    assert not alive()


# numpy#22507, pytorch#88082, pytorch#77139, dlpack#103, dlpack#129, dlpack#140, CV-CUDA#298: deleters off the GIL.


def test_consumer_that_deletes_without_the_gil():
    source = np.zeros(4)
    before = sys.getrefcount(source)
    view = buffer_interface(source)
    block = dlpack.take(view.__dlpack__())
    view.release()
    compiled.foreign().peer_call(block.deleter, dlpack.address(block))
    assert sys.getrefcount(source) == before


def test_deleter_that_runs_while_an_exception_is_on_its_way():
    source = np.zeros(4)
    before = sys.getrefcount(source)

    def work():
        capsule = buffer_interface(source).__dlpack__(max_version=(1, 3))  # noqa: F841
        raise KeyError("kept")

    with pytest.raises(KeyError, match="kept"):
        work()
    assert sys.getrefcount(source) == before


@pytest.mark.parametrize("use", [lambda view, index: view[index], lambda view, index: view.item(index)])
def test_last_reference_that_goes_with_an_error(use):
    """The producer ends, and runs Python code, while the exception is on its way."""
    ended = []

    class Producer:
        array = np.zeros(4)
        __array_interface__ = array.__array_interface__

        def __del__(self):
            ended.append(sum(range(10)))

    view = buffer_interface(Producer())

    class Index:
        def __index__(self):
            view.release()
            return 99

    with pytest.raises((IndexError, InvalidArrayError)):
        use(view, Index())
    assert ended == [45]


def test_deleter_in_python_of_a_tensor_that_is_refused():
    """Refused after it was taken: the deleter runs Python code, and the exception comes through."""
    deleted = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def deleter(struct):
        deleted.append(sum(range(10)))

    for options, match in (({"writable": True}, "read-only"), ({"stream": 1}, "stream")):
        tensor = dlpack.Tensor(flags=dlpack.READONLY)
        tensor.struct.deleter = ctypes.cast(deleter, ctypes.c_void_p).value
        with pytest.raises(ValueError, match=match):
            buffer_interface(tensor.producer(), **options)
    assert deleted == [45, 45]


# pytorch#9260, pytorch#56789, dlpack#51, TensorRT-LLM#18310: freed twice.


def test_capsule_that_is_given_twice():
    tensor = dlpack.Tensor()
    producer = tensor.producer(capsule=tensor.capsule())
    view = buffer_interface(producer)
    refuses(BufferError, "used_dltensor", producer)
    assert tensor.deleted == 0
    view.release()
    assert tensor.deleted == 1


def test_consumer_that_takes_and_drops_the_capsule():
    """Its destructor does not delete what the consumer deletes, and another one gets nothing."""
    source = np.zeros(4)
    before = sys.getrefcount(source)
    capsule = buffer_interface(source).__dlpack__(max_version=(1, 3))
    block = dlpack.take(capsule)
    refuses(BufferError, "used_dltensor", dlpack.Producer(None, capsule=capsule, device=(dlpack.CPU, 0)))
    del capsule
    assert sys.getrefcount(source) > before
    compiled.foreign().peer_call(block.deleter, dlpack.address(block))
    assert sys.getrefcount(source) == before


@pytest.mark.parametrize("name", [b"tensor", b"used_dltensor", b"", None])
def test_capsule_of_another_name(name):
    tensor = dlpack.Tensor()
    capsule = dlpack.new_capsule(dlpack.address(tensor.struct), name, None)
    refuses(BufferError, "capsule", tensor.producer(capsule=capsule))
    assert tensor.deleted == 0


@pytest.mark.parametrize("given", [None, 17, b"dltensor", object()])
def test_no_capsule_at_all(given):
    tensor = dlpack.Tensor()
    producer = tensor.producer(capsule=SimpleNamespace() if given is None else given)
    refuses((BufferError, TypeError), "capsule", producer)


def test_deleter_that_is_not_there():
    buffer_interface(dlpack.Tensor(deleter=False).producer()).release()


def test_version_that_nobody_knows():
    refuses_tensor(BufferError, r"2\.0", versions=[(2, 0)])


def test_flags_that_nobody_knows():
    refuses_tensor(BufferError, "flag", versions=[(1, 3)], flags=1 << 40)


# cupy#2095, pytorch#18510, mxnet#13663, dlpack#177, cccl#7045: strides that are NULL.


@pytest.mark.parametrize("version", [None, (1, 0), (1, 3)])
def test_strides_that_are_null(version):
    tensor = dlpack.Tensor((2, 3), None, version=version)
    with buffer_interface(tensor.producer()) as view:
        assert view.strides == (12, 4)
        assert np.asarray(view).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tensor.deleted == 1
    assert not tensor.struct.tensor.strides, "the producer's struct is not written to"


def test_shape_that_is_null():
    refuses_tensor(BufferError, "shape", None, None, ndim=2)


@pytest.mark.parametrize("ndim", [-1, 65, 2**30])
def test_dimensions_that_cannot_be(ndim):
    refuses_tensor(BufferError, "ndim|dimension", (1,), None, ndim=ndim)


def test_extent_that_is_negative():
    refuses_tensor(BufferError, "-3", (2, -3), None)


def test_extents_whose_product_does_not_fit():
    refuses_tensor(BufferError, r"shape\[1\] = 1099511627776", (2**40, 2**40), None)


def test_pointer_that_is_null():
    refuses_tensor(BufferError, "data is NULL", (4,), None, data=0)


# pytorch#83069, pytorch#83158, pytorch#162113: odd strides where they do not count.


@pytest.mark.parametrize("stride", [0, 12345, -(2**40)])
def test_stride_of_an_extent_of_one(stride):
    tensor = dlpack.Tensor((1, 4), (stride, 1))
    with buffer_interface(tensor.producer()) as view:
        assert np.asarray(view).tolist() == [[0, 1, 2, 3]]
        block = dlpack.take(view.__dlpack__(max_version=(1, 3)))
        assert block.tensor.strides[0] == 1
    compiled.foreign().peer_call(block.deleter, dlpack.address(block))
    assert tensor.deleted == 1


# numba#4140, cupy#2104, cupy#2610, pytorch#98133, cudf#15188, cuda-python#1396: arrays without elements.


@pytest.mark.parametrize("data", [(0, False), (None, False), (12345, False)])
def test_empty_array_with_any_pointer(cuda, data):
    with buffer_interface(Cai(data=data, shape=(0, 3))) as view:
        assert (view.shape, view.size) == ((0, 3), 0)
        assert view.__cuda_array_interface__["data"][0] == 0


@pytest.mark.parametrize("data", [0, 8])
def test_empty_tensor_with_any_pointer(data):
    with buffer_interface(dlpack.Tensor((0, 3), None, data=data).producer()) as view:
        assert np.asarray(view).shape == (0, 3)


def test_null_with_elements(cuda):
    for data in ((0, False), (None, False)):
        refuses(BufferError, "data is 0.*64 bytes", Cai(data=data))


# numba#4092, numba#4745, cupy#3991, pytorch#24968, pytorch#25017: the device is another than the current one.


def test_memory_of_a_device_that_is_not_current(cuda, second):
    pointer = second.alloc(64)
    with buffer_interface(Cai(data=(pointer, False))) as view:
        assert view.device == 1
        assert cuda.current_device() == 0
    with cuda.left():
        assert buffer_interface(Cai(data=(pointer, False))).device == 1


def test_pointer_that_cuda_does_not_know(cuda):
    memory = np.zeros(64, "u1")
    refuses(
        BufferError, f"{memory.ctypes.data:#x} is not memory that CUDA knows", Cai(data=(memory.ctypes.data, False))
    )
    refuses(BufferError, "0x10 is not memory that CUDA knows", Cai(data=(16, False)))


def test_array_that_ends_behind_its_allocation(cuda):
    pointer = cuda.alloc(64)
    refuses(BufferError, "ends after 64 of 4294967296 bytes", Cai(data=(pointer, False), shape=(1 << 30,)))


# cupy#2616, cupy#8118; PyTorch's TypeError, NumPy's BufferError, JAX: read-only is dropped or refused.


def test_read_only_is_passed_on(cuda):
    view = buffer_interface(Cai(data=(cuda.alloc(64), True)))
    assert view.readonly and view[1:].readonly
    assert view.__cuda_array_interface__["data"][1] is True
    with pytest.raises(BufferError, match="read-only"):
        view.__dlpack__()
    block = dlpack.take(view.__dlpack__(max_version=(1, 0)))
    assert block.flags & dlpack.READONLY
    compiled.foreign().peer_call(block.deleter, dlpack.address(block))
    with pytest.raises(ValueError, match="read-only"):
        view.fill(1)


def test_read_only_is_passed_on_host():
    source = np.arange(4)
    source.setflags(write=False)
    view = buffer_interface(source)
    assert not np.asarray(view).flags.writeable and memoryview(view).readonly
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


# numba#4199, TF#29039: masks.


def test_mask_that_is_not_asked_for(cuda):
    mask = Cai(data=(cuda.alloc(16), False), typestr="|b1")
    producer = Cai(data=(cuda.alloc(64), False), mask=mask)
    refuses(UnsupportedError, "mask", producer)
    with buffer_interface(producer, mask="keep") as view:
        assert view.mask.shape == (16,)
        with pytest.raises(UnsupportedError, match="mask"):
            view.__dlpack__()


def test_mask_of_a_host_array():
    source = np.zeros(4)
    refuses(
        UnsupportedError,
        "mask",
        SimpleNamespace(__array_interface__={**source.__array_interface__, "mask": np.zeros(4, bool)}),
    )


# pytorch#129621, cupy#7527, cupy#9480, cupy#9670, jax#12009, numbast#34, pytorch#114673: types.


def test_bfloat16_is_never_half_a_float(cuda):
    view = empty(4, "bfloat16", device="cuda")
    assert not hasattr(view, "__cuda_array_interface__")
    assert view.cuda_array_interface(bfloat16_as_void=True)["typestr"] == "<V2"
    host = dlpack.Tensor((4,), None, dtype=(dlpack.BFLOAT, 16, 1))
    with buffer_interface(host.producer()) as view:
        assert view.typestr == "bfloat16"


@pytest.mark.parametrize("dtype", [(99, 32, 1), (dlpack.FLOAT, 31, 1), (dlpack.INT, 4, 1), (dlpack.FLOAT, 32, 0)])
def test_dlpack_type_that_nobody_knows(dtype):
    code, bits, lanes = dtype
    refuses_tensor(BufferError, f"code {code} with {bits} bits|lanes {lanes}", (4,), None, dtype=dtype)


@pytest.mark.parametrize("typestr", ["<f3", "<O8", "!f4", "", "<", "f", "<f", "<fx", "<f4 ", "<m8[s]"])
def test_typestr_that_cannot_be(cuda, typestr):
    refuses(InvalidArrayError, re.escape(f'"{typestr}"'), Cai(data=(cuda.alloc(64), False), typestr=typestr))


@pytest.mark.parametrize("typestr", [4, None, b"<f4"])
def test_typestr_that_is_no_text(cuda, typestr):
    refuses(
        TypeError, f"typestr is of type {type(typestr).__name__}", Cai(data=(cuda.alloc(64), False), typestr=typestr)
    )


def test_bool_of_both_sides():
    tensor = dlpack.Tensor((4,), None, dtype=(dlpack.BOOL, 8, 1))
    with buffer_interface(tensor.producer()) as view:
        assert view.dtype == np.dtype(bool)
    block = dlpack.take(buffer_interface(np.zeros(3, bool)).__dlpack__())
    assert (block.tensor.dtype.code, block.tensor.dtype.bits) == (dlpack.BOOL, 8)
    compiled.foreign().peer_call(block.deleter, dlpack.address(block))


# cupy#2589, numba#4661, pytorch#24947, pytorch#31443, cuml#1775: strides None, explicit, missing.


@pytest.mark.parametrize("members", [{}, {"strides": None}, {"strides": (16, 4)}])
def test_three_ways_to_say_contiguous(cuda, members):
    with buffer_interface(Cai(data=(cuda.alloc(64), False), shape=(4, 4), **members)) as view:
        assert view.strides == (16, 4)
        assert view.__cuda_array_interface__["strides"] is None


@pytest.mark.parametrize(
    "strides, error, match",
    [
        ([16, 4], TypeError, "type list"),
        (4, TypeError, "type int"),
        ((16, "4"), TypeError, "type str"),
        ((4,), BufferError, "1 entries"),
        ((16, 4, 1), BufferError, "3 entries"),
        ((2**63, 4), BufferError, f"{2**63}"),
    ],
)
def test_strides_that_cannot_be(cuda, strides, error, match):
    refuses(error, f"strides.*{match}", Cai(data=(cuda.alloc(64), False), shape=(4, 4), strides=strides))


# numba#3705, mpi4py, PyTorch: negative strides.


def test_negative_strides(cuda):
    pointer = cuda.alloc(64)
    with buffer_interface(Cai(data=(pointer + 60, False), strides=(-4,))) as view:
        assert view.__cuda_array_interface__["data"][0] == pointer + 60
        assert view.__cuda_array_interface__["strides"] == (-4,)
    refuses(BufferError, "not memory that CUDA knows|bytes", Cai(data=(pointer, False), strides=(-4,)))
    with buffer_interface(dlpack.Tensor((4,), (-1,), byte_offset=12).producer()) as view:
        assert np.asarray(view).tolist() == [3, 2, 1, 0]


# pyopencl#113, pyopencl#180, pyopencl#133, pyviennacl#40, opencv#8618, occa#28, arrayfire#1350: whose reference it is.


def test_failed_imports_keep_no_reference(opencl_queue):
    memory = pyopencl.Buffer(opencl_queue.context, pyopencl.mem_flags.READ_WRITE, 64)
    before = memory.get_info(pyopencl.mem_info.REFERENCE_COUNT)
    array = pyopencl.array.Array(opencl_queue, (16,), "f4", data=memory)
    for _ in range(10):
        buffer_interface(array).release()
        draft = SimpleNamespace(buffer=memory, offset=0, typestr="<f4", shape=(1000,), strides=(4,), backend="opencl")
        with pytest.raises(BufferError, match="4000.* 64 bytes"):
            buffer_interface(draft)
    assert memory.get_info(pyopencl.mem_info.REFERENCE_COUNT) == before


def test_opencl_image_is_no_buffer(opencl_queue):
    layout = pyopencl.ImageFormat(pyopencl.channel_order.RGBA, pyopencl.channel_type.UNORM_INT8)
    image = pyopencl.create_image(opencl_queue.context, pyopencl.mem_flags.READ_WRITE, layout, (4, 4))
    refuses(BufferError, "no buffer", image)


# occa#278: sub-buffers of sub-buffers.


def test_views_of_sub_buffers_count_from_the_root(opencl_queue):
    memory = pyopencl.Buffer(opencl_queue.context, pyopencl.mem_flags.READ_WRITE, 8192)
    part = memory.get_sub_region(4096, 4096)
    before = memory.get_info(pyopencl.mem_info.REFERENCE_COUNT)
    with buffer_interface(part)[1024:] as view:
        assert (view.buffer.int_ptr, view.offset) == (memory.int_ptr, 5120)
        root = pyopencl.MemoryObject.from_int_ptr(view.buffer.int_ptr)
        pyopencl.enqueue_fill_buffer(opencl_queue, root, np.uint8(9), view.offset, view.nbytes)
        opencl_queue.finish()
        assert set(np.asarray(view.to("host")).tolist()) == {9}
        del root
    assert memory.get_info(pyopencl.mem_info.REFERENCE_COUNT) == before


# pocl#647: a number that is no cl_mem crashes the driver, so numbers are not taken.


@pytest.mark.parametrize("number", [0, 1, 12345, 0xDEADBEEF])
def test_number_instead_of_an_object(number):
    with pytest.raises(TypeError, match="protocol"):
        buffer_interface(number)
    draft = SimpleNamespace(buffer=number, offset=0, typestr="<f4", shape=(4,), strides=(4,), backend="opencl")
    refuses(TypeError, "int, which has no int_ptr", draft)


# consortium-feedback#1: a handle is of no use without its context.


def test_context_travels_with_the_handle(opencl_queue):
    view = buffer_interface(pyopencl.array.zeros(opencl_queue, 4, "f4"))
    assert view.context == opencl_queue.context.int_ptr
    other = new_queue(opencl_queue.context.devices)
    with pytest.raises((ValueError, BufferError), match="context"):
        view.acquire(other)


# pyopencl has no DLPack, pycuda#226.


def test_pyopencl_arrays_get_dlpack(opencl_queue):
    array = pyopencl.array.zeros(opencl_queue, (4, 4), "f4")
    with buffer_interface(array)[1:] as view:
        assert view.__dlpack_device__()[0] == dlpack.OPENCL
        block = dlpack.take(view.__dlpack__(max_version=(1, 3)))
        assert (block.tensor.data, block.tensor.byte_offset) == (array.base_data.int_ptr, 16)
    compiled.foreign().peer_call(block.deleter, dlpack.address(block))


# awkward#3907: attributes that come out of __getattr__.


class Everything:
    """Answers every question with an object of its own kind."""

    def __getattr__(self, name):
        return Everything()

    def __call__(self, *args, **keywords):
        return Everything()


@pytest.mark.parametrize("make", [Everything, mock.Mock, mock.MagicMock])
def test_object_that_answers_everything(make):
    producer = make()
    for protocol in (
        None,
        "native",
        "draft",
        "pyopencl",
        "cuda_array_interface",
        "dlpack",
        "buffer",
        "array_interface",
        "array_struct",
    ):
        with pytest.raises(TypeError, match="of type|gives"):
            buffer_interface(producer, protocol=protocol)


@pytest.mark.parametrize(
    "name",
    [
        "__cuda_array_interface__",
        "__dlpack__",
        "__array_interface__",
        "__array_struct__",
        "__dlpack_device__",
        "buffer",
    ],
)
def test_attribute_that_raises(name):
    def fail(self):
        raise ZeroDivisionError("of the producer")

    members = {name: property(fail)}
    if name == "__dlpack__":
        members["__dlpack_device__"] = lambda self: (1, 0)
    refuses(ZeroDivisionError, "of the producer", type("Producer", (), members)())


def test_type_that_calls_itself_ndarray():
    for _ in range(3):
        imposter = type("numpy.ndarray", (), {})()
        refuses(TypeError, "protocol", imposter)
        del imposter
        gc.collect()
    interface = np.arange(3).__array_interface__
    kind = type("numpy.ndarray", (), {"__array_interface__": interface})
    assert buffer_interface(kind()).shape == (3,)
    assert buffer_interface(np.arange(3)).shape == (3,)


# numba-cuda-mlir#181: captured arrays that come through one protocol only.


def test_both_protocols_are_always_there(cuda):
    view = buffer_interface(Cai(data=(cuda.alloc(64), False)))
    assert hasattr(view, "__cuda_array_interface__") and view.__dlpack_device__() == (dlpack.CUDA, 0)
    again = buffer_interface(view, protocol="dlpack")
    assert int(again.buffer) == int(view.buffer)
    again = buffer_interface(view, protocol="cuda_array_interface")
    assert int(again.buffer) == int(view.buffer)


# tvm: a kDLOpenCL tensor whose data is no cl_mem.


def test_opencl_tensor_of_somebody_else():
    """It is not even asked for, since it would be let go on the wrong terms; a bare capsule stays the producer's."""
    refuses_tensor(UnsupportedError, "trust", (4,), None, device=(dlpack.OPENCL, 0), deleted=0)


def test_device_that_no_backend_has():
    refuses_tensor(UnsupportedError, "device type 10", (4,), None, device=(10, 0), deleted=0)


def test_device_that_changes_its_mind():
    """__dlpack_device__ says host, the tensor says something else."""
    tensor = dlpack.Tensor((4,), None, device=(dlpack.CUDA, 0))
    refuses(BufferError, r"\(2, 0\).*\(1, 0\)", tensor.producer(device=(dlpack.CPU, 0)))
    assert tensor.deleted == 1


def test_device_whose_numbers_are_too_large():
    for device in ((1, 2**40), (2**70, 0)):
        refuses(TypeError, "two int of 32 bits", dlpack.Tensor((4,), None).producer(device=device))


# Beyond the table: producers that change or end while they are asked.


def test_producer_that_imports_itself():
    class Producer:
        def __dlpack__(self, **keywords):
            return buffer_interface(self)

        def __dlpack_device__(self):
            return 1, 0

    with pytest.raises(RecursionError):
        buffer_interface(Producer())


def test_producer_that_releases_the_view_that_is_asked():
    view = buffer_interface(np.zeros((4, 4)))

    class Index:
        def __index__(self):
            view.release()
            return 1

    try:
        part = view[Index()]
    except InvalidArrayError:
        part = None
    assert view.released
    assert part is None or part.shape == (4,)


def test_producer_whose_end_raises(capsys):
    class Producer:
        array = np.zeros(4)
        __array_interface__ = array.__array_interface__

        def __del__(self):
            raise RuntimeError("at the end")

    view = buffer_interface(Producer())
    with mock.patch("sys.unraisablehook") as hook:
        view.release()
    assert hook.call_count == 1


def test_producers_on_many_threads_that_fail():
    tensors = [dlpack.Tensor((2, -3), None) for _ in range(THREADS)]

    def work(number):
        for _ in range(50):
            with pytest.raises(BufferError, match="-3"):
                buffer_interface(tensors[number].producer())

    together(work)
    assert [tensor.deleted for tensor in tensors] == [50] * THREADS
