"""Short ways: that they are gone, that they say what the long ones say, and that they refuse what is not for them."""

import contextlib
import ctypes
import gc
import os
import subprocess
import sys
import weakref

import numpy as np
import pytest

import dlpack_structs as dl

# NumPy's arrays are read without their buffer protocol


class Slots(ctypes.Structure):
    """PyBufferProcs."""

    _fields_ = [("get", ctypes.c_void_p), ("release", ctypes.c_void_p)]


GET_BUFFER = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
HEAD = object.__basicsize__ + ctypes.sizeof(ctypes.c_void_p)  # of a PyTypeObject: PyVarObject
TP_AS_BUFFER = HEAD + 17 * ctypes.sizeof(ctypes.c_void_p)


class Mine(np.ndarray):
    pass


@contextlib.contextmanager
def watched(kind):
    """Lists the arrays whose buffer was asked for. Not for those that refuse: a callback cannot pass an exception on."""
    slots = Slots.from_address(ctypes.c_void_p.from_address(id(kind) + TP_AS_BUFFER).value)
    original, names = GET_BUFFER(slots.get), []
    address = slots.get

    @GET_BUFFER
    def count(array, buffer, flags):
        names.append(type(array).__name__)
        return original(array, buffer, flags)

    slots.get = ctypes.cast(count, ctypes.c_void_p).value
    yield names
    slots.get = address


@pytest.fixture
def asked(bi):
    bi.buffer_interface(np.zeros(1))  # the first one is compared with what NumPy says of it
    with watched(np.ndarray) as names:
        yield names


SIMPLE = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "longlong", "ulonglong"]


FIRST = """
import numpy as np, buffer_interface as bi
from test_short_ways import watched
bi.buffer_interface({first})
bi.buffer_interface(np.ones(3))
with watched(np.ndarray) as asked:
    bi.buffer_interface(np.ones(3))
assert asked == [], asked
"""


@pytest.mark.parametrize(
    "first",
    ["np.zeros(3, [('a', '<i4')])", "np.broadcast_arrays(np.ones(3), np.ones((2, 3)))[0]", "np.zeros(3, '>f8')", "np.zeros(())"],
)
def test_the_first_array_may_be_any(first):
    path = os.pathsep.join([os.path.dirname(__file__), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run([sys.executable, "-c", FIRST.format(first=first)], env=dict(os.environ, PYTHONPATH=path),
                          stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype", SIMPLE)
@pytest.mark.parametrize("key", [np.s_[:], np.s_[::-1, ::2], np.s_[1:1], np.s_[0, 0], np.s_[None, ..., None]], ids=str)
def test_plain_arrays_are_not_asked_for_a_buffer(bi, asked, dtype, key):
    source = np.ones((3, 4), dtype)[key]
    source = source if isinstance(source, np.ndarray) else np.array(source)
    view = bi.buffer_interface(source)
    assert asked == []
    assert (view.shape, view.strides, view.host_pointer) == (source.shape, source.strides, source.ctypes.data)
    assert np.dtype(view.typestr) == source.dtype and not view.readonly


def test_read_only_arrays_stay_so(bi, asked):
    source = np.zeros(3)
    source.flags.writeable = False
    assert bi.buffer_interface(source).readonly and bi.buffer_interface(np.broadcast_to(source, (2, 3))).readonly
    assert asked == []


@pytest.mark.parametrize("dtype", [">i4", ">f8", "S3", "U2", "V5", [("x", "<f4"), ("y", ">i2")]], ids=str)
def test_other_types_are_asked(bi, asked, dtype):
    source = np.zeros((2, 3), dtype)
    view = bi.buffer_interface(source)
    assert asked and view.dtype == source.dtype and view.shape == (2, 3)


@pytest.mark.parametrize("dtype", ["O", "M8[s]", "m8[s]"])
def test_types_without_bytes_of_their_own_are_refused(bi, dtype):
    with pytest.raises((TypeError, BufferError)):
        bi.buffer_interface(np.zeros(2, dtype))


def test_derived_classes_are_asked(bi):
    with watched(Mine) as names:
        assert bi.buffer_interface(np.zeros(3).view(Mine)).shape == (3,)
    assert names == ["Mine"]


def test_masked_arrays_are_refused_however_plain_their_data_is(bi):
    with pytest.raises(NotImplementedError):
        bi.buffer_interface(np.ma.array([1.0, 2.0], mask=[0, 1]))


def test_an_array_without_elements_reaches_nothing(bi):
    class Nothing:
        __array_interface__ = {"shape": (3, 0), "typestr": "<f4", "data": (0, False), "version": 3}

    assert bi.buffer_interface(Nothing()).shape == (3, 0)
    assert bi.buffer_interface(np.zeros((3, 0, 2**40))).nbytes == 0


@pytest.mark.parametrize("strides", [(2**62,), (-(2**62),), (2**60, 2**62)], ids=str)
def test_strides_beyond_all_addresses_are_refused(bi, strides):
    source = np.lib.stride_tricks.as_strided(np.zeros(1), (4,) * len(strides), strides)
    with pytest.raises(bi.InvalidArrayError):
        bi.buffer_interface(source)


def test_an_object_that_is_made_again_starts_anew(bi):
    """Objects that were let go are kept to be made again: nothing of what they were comes along."""
    first, second = np.arange(4, dtype="<f4"), np.arange(6, dtype="<i8")
    old = [bi.buffer_interface(first, sync=False) for _ in range(100)]
    for array in old:
        assert array.__array_interface__ and array.__array_interface__
    dead = [weakref.ref(array) for array in old]
    old[0].release()
    del array
    old.clear()
    assert all(reference() is None for reference in dead)
    for new in [bi.buffer_interface(second) for _ in range(100)]:
        assert not new.released and new.mask is None and weakref.getweakrefcount(new) == 0
        assert new.__array_interface__["data"][0] == second.ctypes.data
        assert new.shape == (6,) and new.typestr == "<i8"


def test_an_array_lives_as_long_as_its_view(bi):
    source = np.arange(3)
    count = sys.getrefcount(source)
    view = bi.buffer_interface(source)
    assert sys.getrefcount(source) == count + 1
    view.release()
    assert sys.getrefcount(source) == count


# What has a buffer that is counted is told when it is given back


LETTERS = {"n": np.intp, "N": np.uintp, "c": "S1"}


@pytest.mark.parametrize("letter", "?bBhHiIlLqQnNfdc")
@pytest.mark.parametrize("order", ["", "@"])
def test_letters_are_the_types_of_numpy(bi, letter, order):
    memory = memoryview(bytearray(range(48))).cast(order + letter)
    view = bi.buffer_interface(memory)
    assert view.typestr == np.dtype(LETTERS.get(letter, letter)).str
    assert (view.shape, view.strides) == (memory.shape, memory.strides)


@pytest.mark.parametrize("key", [np.s_[2:5], np.s_[::-1], np.s_[::3], np.s_[3:3]], ids=str)
def test_parts_of_a_memoryview(bi, key):
    memory = memoryview(bytearray(range(12))).cast("h")[key]
    view = bi.buffer_interface(memory)
    assert (view.shape, view.strides) == (memory.shape, memory.strides)
    assert np.asarray(view).tolist() == memory.tolist()


def test_a_memoryview_is_not_released_under_an_array(bi):
    memory = memoryview(bytearray(8))
    view = bi.buffer_interface(memory)
    part = view[2:]
    view.release()
    with pytest.raises(BufferError):
        memory.release()
    part.release()
    memory.release()


def test_a_memoryview_that_was_let_go_is_held(bi):
    data = bytearray(8)
    views = [bi.buffer_interface(memoryview(data)[i:]) for i in range(4)]
    for view in views:
        with pytest.raises(BufferError):
            data.append(1)
        view.release()
    data.append(1)


def test_a_refused_buffer_is_given_back(bi):
    memory = memoryview(np.zeros(3, "g"))
    count = sys.getrefcount(memory)
    for _ in range(3):
        with pytest.raises(bi.InvalidArrayError, match="'g'"):
            bi.buffer_interface(memory)
    assert sys.getrefcount(memory) == count
    memory.release()


def test_a_buffer_is_given_back_without_the_interpreter(bi):
    """By a thread that does not have it, and by one with an exception of its own."""
    data = bytearray(8)
    tensor = dl.take(bi.buffer_interface(data).__dlpack__(max_version=(1, 0)))
    with pytest.raises(BufferError):
        data.append(1)
    tensor.delete()
    data.append(1)
    views = [bi.buffer_interface(data)]
    with pytest.raises(KeyError):
        raise KeyError(views.pop())
    gc.collect()
    data.append(1)


def test_buffers_that_come_and_go_leave_nothing(bi):
    sources = [memoryview(bytearray(48)).cast("f", (3, 4)), bytearray(8), b"12345678", np.zeros(3, ">i2")]

    def use(times):
        for _ in range(times):
            for source in sources:
                bi.buffer_interface(source)

    use(50)
    gc.collect()
    before = sys.getallocatedblocks()
    use(500)
    assert sys.getallocatedblocks() - before < 250


# Dictionaries that are asked for again are copies of one


@pytest.fixture(params=["host", "cuda"])
def asks(request, bi):
    """An idle array, and the name of its dictionary."""
    source = np.arange(12, dtype="i4").reshape(3, 4)[:, ::2]
    if request.param == "host":
        return bi.buffer_interface(source), "__array_interface__"
    request.getfixturevalue("cuda")
    view = bi.from_numpy(source, device="cuda")
    view.synchronize()
    return view, "__cuda_array_interface__"


def test_dictionaries_say_the_same_each_time(asks):
    view, name = asks
    first = getattr(view, name)
    assert all(getattr(view, name) == first for _ in range(4))
    assert {"shape", "typestr", "data", "strides", "version"} <= set(first)


def test_values_are_shared_from_the_second_time_on(asks):
    view, name = asks
    dicts = [getattr(view, name) for _ in range(4)]
    assert dicts[0]["data"] is not dicts[1]["data"]
    assert dicts[1]["data"] is dicts[2]["data"] is dicts[3]["data"]


def test_P1_each_dictionary_belongs_to_who_asked(asks):
    view, name = asks
    for _ in range(4):
        given = getattr(view, name)
        assert given["shape"] == view.shape and "mine" not in given
        given["shape"] = (1,)
        given["mine"] = 1
        del given["data"]


def test_a_released_array_has_no_dictionary(asks):
    view, name = asks
    for _ in range(3):
        getattr(view, name)
    view.release()
    with pytest.raises(ValueError, match="L1"):
        getattr(view, name)


def test_dictionaries_leave_nothing_behind(asks):
    view, name = asks

    def use(times):
        for _ in range(times):
            part = view[1:]
            for _ in range(4):
                getattr(part, name)

    use(50)
    gc.collect()
    before = sys.getallocatedblocks()
    use(500)
    assert sys.getallocatedblocks() - before < 250


def test_a_list_of_fields_is_made_anew(bi):
    view = bi.buffer_interface(np.zeros(2, [("x", "<f4"), ("y", "<i2")]))
    for _ in range(4):
        fields = view.__array_interface__["descr"]
        assert fields == [("x", "<f4"), ("y", "<i2")]
        fields.clear()


@pytest.fixture
def masked(bi, cuda):
    class Producer:
        def __init__(self, **more):
            self.__cuda_array_interface__ = {"shape": (8,), "typestr": "|u1", "data": (cuda.alloc(8), False),
                                             "version": 3, "stream": None, **more}

    return bi.buffer_interface(Producer(mask=Producer()), mask="keep")


def test_a_mask_is_in_every_dictionary(masked):
    assert all(masked.__cuda_array_interface__["mask"] is masked.mask for _ in range(4))


def test_a_mask_goes_with_the_array_however_often_it_was_shown(masked):
    for _ in range(4):
        masked.__cuda_array_interface__
    mask = weakref.ref(masked.mask)
    masked.release()
    assert mask() is None


def test_pending_work_is_named_whatever_was_said_before(bi, cuda):
    view = bi.zeros(4, dtype="i4", device="cuda")
    for _ in range(3):
        view.synchronize()
        assert all(view.__cuda_array_interface__["stream"] is None for _ in range(3))
        view.fill(1)
        assert all(view.__cuda_array_interface__["stream"] == view.stream for _ in range(3)) and view.stream


def test_values_are_shared_while_work_is_pending(bi, cuda):
    view = bi.zeros(4, dtype="i4", device="cuda")
    view.fill(1)
    dicts = [view.__cuda_array_interface__ for _ in range(4)]
    assert dicts[0] == dicts[3] and dicts[3]["stream"] == view.stream != None  # noqa: E711
    assert dicts[1]["data"] is dicts[2]["data"] is dicts[3]["data"]
    view.synchronize()
    assert view.__cuda_array_interface__["stream"] is None and dicts[3]["stream"]


def test_no_other_dictionary_is_given_instead(asks):
    view, name = asks
    for _ in range(4):
        getattr(view, name)
        assert not hasattr(view, {"__array_interface__": "__cuda_array_interface__"}.get(name, "__array_interface__"))


def test_a_forked_child_is_told_that_it_has_no_device(bi, cuda):
    view = bi.zeros(4, dtype="i4", device="cuda")
    view.synchronize()
    for _ in range(3):
        view.__cuda_array_interface__
    child = os.fork()
    if child == 0:
        try:
            view.__cuda_array_interface__
        except RuntimeError as error:
            os._exit(0 if "fork" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# Dictionaries of others are read at once


def rebuilt(text):
    """An equal str that is another object, and not interned."""
    return "".join(list(text))


class Text(str):
    """No key of this class is the same object as a name."""


class Lowercase(dict):
    """Has entries that only it can find."""

    def __getitem__(self, key):
        return super().__getitem__(key.upper())


class Shadowed(dict):
    """Says other things than what stands in it."""

    def __init__(self, entries):
        super().__init__(dict.fromkeys(entries))
        self.entries = entries

    def __getitem__(self, key):
        return self.entries[key]


READERS = {
    "names": dict,
    "equal": lambda entries: {rebuilt(key): value for key, value in entries.items()},
    "derived": lambda entries: {Text(key): value for key, value in entries.items()},
    "backwards": lambda entries: dict(reversed(entries.items())),
    "others": lambda entries: {1: 2, "owner": None, rebuilt("device"): 0, None: 0} | entries,
    "some equal": lambda entries: {rebuilt(key) if key > "s" else key: value for key, value in entries.items()},
    "shadowed": Shadowed,
    "mapping": lambda entries: Lowercase({key.upper(): value for key, value in entries.items()}),
}


@pytest.mark.parametrize("stream", [None, 1, 2])
@pytest.mark.parametrize("make", READERS.values(), ids=READERS)
def test_every_key_is_found(bi, cuda, make, stream):
    pointer = cuda.alloc(96)

    class Producer:
        __cuda_array_interface__ = make({"shape": (2, 3), "typestr": "<f4", "data": (pointer, True),
                                         "strides": (48, 8), "version": 3, "stream": stream})

    view = bi.buffer_interface(Producer())
    assert (view.shape, view.strides, view.typestr, view.readonly) == ((2, 3), (48, 8), "<f4", True)
    assert int(view.buffer) == pointer and (view.stream is None) == (stream is None)


@pytest.mark.parametrize("make", READERS.values(), ids=READERS)
@pytest.mark.parametrize("missing", ["shape", "typestr", "data"])
def test_no_key_is_made_up(bi, cuda, make, missing):
    entries = {"shape": (2,), "typestr": "<f4", "data": (cuda.alloc(8), False), "version": 3, "stream": None}
    del entries[missing]

    class Producer:
        __cuda_array_interface__ = make(entries)

    with pytest.raises(KeyError, match=missing):
        bi.buffer_interface(Producer())


def test_entries_keep_no_reference(bi, cuda):
    shape, owner = (1000, 1), object()
    entries = {"shape": shape, "typestr": "|u1", "data": (cuda.alloc(1000), False), "version": 3, "stream": None,
               rebuilt("owner"): owner}

    class Producer:
        __cuda_array_interface__ = entries

    counts = [sys.getrefcount(item) for item in (shape, owner, entries)]
    for _ in range(100):
        bi.buffer_interface(Producer())
    assert [sys.getrefcount(item) for item in (shape, owner, entries)] == counts


# Capsules


def test_a_capsule_that_was_given_back_lets_its_tensor_go(bi):
    """A consumer that fails may name the capsule anew, with a text of its own."""
    source = np.arange(3)
    count = sys.getrefcount(source)
    capsule = bi.buffer_interface(source).__dlpack__(max_version=(1, 3))
    name = ctypes.create_string_buffer(b"dltensor_versioned")
    dl.rename_capsule(capsule, ctypes.addressof(name))
    assert sys.getrefcount(source) == count + 1
    del capsule
    assert sys.getrefcount(source) == count


def test_a_capsule_is_all_that_holds_the_memory(bi):
    source = np.arange(3)
    count = sys.getrefcount(source)
    view = bi.buffer_interface(source)
    capsules = [view.__dlpack__(max_version=(1, 3)) for _ in range(5)]
    view.release()
    assert sys.getrefcount(source) == count + 1
    del capsules
    assert sys.getrefcount(source) == count
