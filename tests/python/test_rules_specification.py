"""The rules B-1 to B-51 of docs/specification.md: the library on both sides, and the shipped check.

A producer that breaks a rule is made with ctypes. B-1 to B-4 and B-6 are in test_draft.py too, B-30 to B-36 in
test_independent.py. docs/conformance.md says what cannot be seen from outside.
"""

import ctypes
import gc
import os
import pathlib
import subprocess
import sys
import threading
import weakref

import numpy as np
import pyopencl as cl
import pyopencl.array
import pytest

import dlpack_structs as dl
from cuda_sim import open_simulator
from exchange_struct import BORROW, C_CONTIGUOUS, F_CONTIGUOUS, FILL, READING, READY, VERSION, Exchange, Table
from peers.fixtures import gate, opencl_queue  # noqa: F401
from peers.threads import together
from producers import CuPyLike
from test_native import Producer, foreign, forget, released, table  # noqa: F401
from test_shutdown import FORK, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HOST, CUDA, CL_MEM = 1, 2, 3
CHECK = """
#include "buffer_interface/check.h"
const char *check(const struct bi_exchange *x);
const char *check(const struct bi_exchange *x) { return bi_exchange_check(x); }
"""


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """bi_exchange_check of the shipped header."""
    folder = tmp_path_factory.mktemp("check")
    (folder / "check.c").write_text(CHECK)
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", f"-I{ROOT / 'include'}", "-o", folder / "check.so"]
    subprocess.run([*command, folder / "check.c"], check=True)
    function = ctypes.CDLL(str(folder / "check.so")).check
    function.restype = ctypes.c_char_p
    return function


class Given(Producer):
    """Four ints, with other members, extents or strides."""

    def fill(self, out):
        extents, strides = (self.members.pop(name, given) for name, given in (("extents", (4,)), ("steps", (4,))))
        self.shape, self.strides = (ctypes.c_int64 * 65)(*extents), (ctypes.c_int64 * 65)(*strides)
        self.members.setdefault("ndim", len(extents))
        without = {name for name in ("shape", "strides", "release") if self.members.get(name, 1) is None}
        members = {name: value for name, value in self.members.items() if name not in without}
        self.members, kept = members, self.members
        super().fill(out)
        self.members = kept
        for name in without:
            setattr(out.contents, name, None)


def odd(**members):
    """A producer of a type that has the capsule, for one test."""
    return foreign(base=Given)(**members)


def struct_of(**members):
    exchange = Exchange.empty()
    Given(**members).fill(ctypes.pointer(exchange))
    return exchange


def refuse(bi, check, rule, match=None, **members):
    """The shipped check and the library refuse, and the library has released the structure."""
    words = check(ctypes.byref(struct_of(**members)))
    assert words and words.decode().endswith(f"[{rule}]"), words
    refuse_in_library(bi, match, **members)


def refuse_in_library(bi, match=None, **members):
    del released[:]
    producer = odd(**members)
    with pytest.raises(BufferError, match=match):
        bi.buffer_interface(producer)
    assert released == [id(producer)]


def accept(bi, check, **members):
    assert check(ctypes.byref(struct_of(**members))) is None
    return bi.buffer_interface(odd(**members))


def table_of(bi):
    return Table.from_address(dl.capsule_pointer(vars(bi.BufferInterface)["__buffer_interface_c__"]))


def exchange_of(bi, array, wishes=0):
    exchange = Exchange.empty()
    assert table_of(bi).acquire(array, wishes, ctypes.byref(exchange)) == 0
    return exchange


def bad(*cases):
    return pytest.mark.parametrize("members", cases, ids=str)


class Owner(bytearray):
    """Memory whose end can be seen."""


def owned(bi):
    owner = Owner(b"12345678")
    return bi.buffer_interface(owner), weakref.ref(owner)


def has_ended(end):
    gc.collect()
    return end() is None


# Objects


def test_B5_release_is_idempotent_and_exports_stay(bi):
    view, end = owned(bi)
    exchange = exchange_of(bi, view)
    for _ in range(2):
        view.release()
    for use in (lambda: view.shape, lambda: view.buffer, lambda: exchange_of(bi, view)):
        with pytest.raises(BufferError) as caught:
            use()
        assert isinstance(caught.value, ValueError)
    assert ctypes.string_at(exchange.handle + exchange.offset, 8) == b"12345678" and not has_ended(end)
    exchange.let_go()
    assert has_ended(end)


# Negotiation


def call(bi, view, version, size):
    """Calls acquire with that version and size. Returns the structure, and the 8192 bytes that it is part of."""
    room = (ctypes.c_uint8 * 8192)(*[0xA5] * 8192)
    exchange = Exchange.from_buffer(room)
    exchange.version, exchange.struct_size = version, size
    try:
        assert table_of(bi).acquire(view, 0, ctypes.byref(exchange)) == 0
    except BufferError:
        assert not exchange.release
        return None, room
    return exchange, room


@pytest.mark.parametrize("version, size", [(1, 128), (3, 128), (0, 128), (1 << 16, 128), (2, 0), (2, 8), (2, 127), (2, 4097), (2, 2**32 - 1)])
def test_B7_a_caller_of_another_version_is_refused(bi, version, size):
    view, end = owned(bi)
    assert call(bi, view, version, size)[0] is None
    del view
    assert has_ended(end)


@pytest.mark.parametrize("size", [128, 136, 160, 4096])
def test_B8_every_byte_of_the_struct_is_written_and_none_behind(bi, size):
    view, end = owned(bi)
    exchange, room = call(bi, view, VERSION, size)
    assert exchange.struct_size == size
    assert set(room[128:size]) <= {0} and set(room[size:]) == {0xA5}
    exchange.let_go()


def test_B8_a_producer_that_changes_the_size_is_refused(bi):
    refuse_in_library(bi, "struct_size is 136", struct_size=136)


@bad({"version": 1}, {"version": 3}, {"version": 0}, {"version": 1 << 16 | 2}, {"struct_size": 127}, {"struct_size": 4097})
def test_B9_an_unknown_version_is_refused_and_nothing_else_is_read(bi, check, members):
    refuse(bi, check, "B-9", "version|struct_size", handle_kind=99, **members)


def test_B10_members_that_are_not_known_read_0(bi):
    """A caller of a later minor version finds 0 in the members that this producer does not know (abi-growth)."""
    exchange, room = call(bi, bi.buffer_interface(bytearray(8)), VERSION, 256)
    assert bytes(room[ctypes.sizeof(Exchange) : 256]) == bytes(256 - ctypes.sizeof(Exchange))
    exchange.let_go()


@bad({"flags": 2}, {"flags": 1 << 15}, {"reserved": 1})
def test_B11_unknown_critical_flags_and_reserved_members_are_refused(bi, check, members):
    refuse(bi, check, "B-11", "flags|reserved", **members)


def test_B11_other_flags_are_ignored_and_read_only_arrays_not_written(bi, check):
    assert accept(bi, check, flags=0xFFF80000).shape == (4,)
    with pytest.raises(ValueError, match="read-only"):
        accept(bi, check, flags=1).fill(1)


def test_B12_a_structure_stays_as_it_is_until_release(bi):
    view = bi.buffer_interface(np.arange(24.0).reshape(4, 6))
    exchange = exchange_of(bi, view)
    before = bytes(exchange), exchange.shape[:2], exchange.strides[:2]
    others = [exchange_of(bi, part) for part in (view[1:], view.T, view[::-1, ::2])]
    view.fill(1)
    view.release()
    gc.collect()
    assert (bytes(exchange), exchange.shape[:2], exchange.strides[:2]) == before
    for other in (exchange, *others):
        other.let_go()


def test_B13_a_structure_is_moved_by_a_copy(bi):
    exchange_of(bi, bi.zeros((3,), device="host")).let_go()
    view, end = owned(bi)
    exchange = exchange_of(bi, view)
    moved = Exchange.from_buffer_copy(exchange)
    exchange.release = None
    ctypes.memset(ctypes.byref(exchange), 0xA5, ctypes.sizeof(exchange))
    view.release()
    assert not has_ended(end)
    moved.let_go()
    assert not moved.release and has_ended(end)


# Layout


@bad({"ndim": 65}, {"ndim": 255}, {"shape": None}, {"strides": None}, {"size": 2**64 - 1}, {"handle": 2**64 - 8, "size": 16})
def test_B14_an_array_without_a_shape_or_an_end_is_refused(bi, check, members):
    refuse(bi, check, "B-14", **members)


@bad({"extents": (-1,)}, {"extents": (0, -1), "steps": (4, 4)}, {"extents": (-(2**63),)})
def test_B15_a_negative_extent_is_refused(bi, check, members):
    refuse(bi, check, "B-15", flags=0, **members)


@bad({"extents": (2**40, 2**40), "steps": (0, 0)}, {"extents": (2, 3), "steps": (2**63 - 1, 2**62)}, {"extents": (3,), "steps": (-(2**63),)})
def test_B16_an_array_that_reaches_too_far_is_refused(bi, check, members):
    refuse(bi, check, "B-16", flags=0, **members)


@bad({"size": 15}, {"offset": 4}, {"offset": 2**63}, {"steps": (-4,)}, {"steps": (5,)}, {"handle": 0}, {"size": 0})
def test_B17_an_element_outside_of_the_memory_is_refused(bi, check, members):
    refuse(bi, check, "B-17", flags=0, **members)


@pytest.mark.parametrize("device", ["host", "opencl"])
def test_B17_elements_of_no_bytes_need_no_memory(bi, check, device):
    view = bi.empty((3,), "|V0", device=device)
    exchange = exchange_of(bi, view)
    assert check(ctypes.byref(exchange)) is None and exchange.size == exchange.item_size == 0
    exchange.let_go()
    text = ctypes.c_char_p(b'"|V0"')
    void = {"type_code": 3, "type_bits": 8, "type_lanes": 0, "item_size": 0, "descr": ctypes.cast(text, ctypes.c_void_p).value}
    members = {"handle": 0, "size": 0, "extents": (3,), **void}
    assert accept(bi, check, steps=(0,), **members).shape == (3,)
    refuse(bi, check, "B-17", flags=0, steps=(4,), **members)


@bad({"flags": C_CONTIGUOUS, "extents": (2,), "steps": (8,)}, {"flags": F_CONTIGUOUS, "extents": (2, 2), "steps": (8, 4)}, {"flags": C_CONTIGUOUS, "extents": (2, 2), "steps": (4, 8)})
def test_B18_a_flag_of_contiguity_that_is_not_true_is_refused(bi, check, members):
    refuse(bi, check, "B-18", "contiguous", **members)


def test_B18_flags_need_not_be_set(bi, check):
    assert accept(bi, check, flags=0).__array_interface__["strides"] is None


# Place


def test_B19_the_first_element_is_at_handle_and_offset(bi, pocl):
    values = np.arange(24, dtype="i4").reshape(4, 6)
    for part in (np.s_[1:], np.s_[::-1], np.s_[2, ::-2], np.s_[:, 3]):
        view = bi.buffer_interface(values)[part]
        exchange = exchange_of(bi, view)
        assert exchange.handle + exchange.offset == values[part].ctypes.data
        low, high = (end - exchange.handle for end in np.lib.array_utils.byte_bounds(values[part]))
        assert 0 <= low and high <= exchange.size
        exchange.let_go()
    view = bi.zeros((8,), "i4", device=pocl)[2:]
    exchange = exchange_of(bi, view)
    assert (exchange.handle, exchange.offset) == (view.buffer.int_ptr, 8) and exchange.size >= 32
    exchange.let_go()


def test_B20_a_sub_buffer_is_its_root(bi, opencl_queue):
    root = cl.Buffer(opencl_queue.context, cl.mem_flags.READ_WRITE, 8192)
    origin = opencl_queue.device.mem_base_addr_align // 8
    exchange = exchange_of(bi, bi.buffer_interface(root.get_sub_region(origin, 64)))
    assert (exchange.handle, exchange.offset) == (root.int_ptr, origin) and exchange.size >= origin + 64
    exchange.let_go()


@bad({"device_type": 2}, {"device_type": 4}, {"device_type": 0}, {"context": 5}, {"handle_kind": 6}, {"handle_kind": CL_MEM, "device_type": 4}, {"handle_kind": CUDA})
def test_B21_kind_of_handle_device_and_context_go_together(bi, check, members):
    refuse(bi, check, "B-21", "handle.kind|device_type|context", **members)


def test_B22_without_elements_nothing_is_said_of_the_memory(bi, check):
    assert accept(bi, check, extents=(0,), handle=0, offset=99, size=7).shape == (0,)
    assert accept(bi, check, extents=(0,), offset=2**64 - 1, size=2**63).shape == (0,)


def test_B23_the_device_id_is_the_ordinal(bi, cuda, second):
    exchange = exchange_of(bi, bi.zeros((4,), device="cuda:1"))
    assert (exchange.device_type, exchange.device_id) == (2, 1)
    exchange.let_go()


# Types


@bad({"device_id": -1}, {"device_id": 5})
def test_B23_a_device_id_that_no_host_has_is_refused(bi, check, members):
    refuse(bi, check, "B-23", "device_id", **members)


def test_B24_another_order_than_the_machines_is_named(bi):
    for text, code, descr in (("<f4", 2, None), (">f4", 3, b'">f4"'), ("<U2", 3, b'"<U2"')):
        exchange = exchange_of(bi, bi.buffer_interface(np.zeros(3, text)))
        assert (exchange.type_code, exchange.descr) == (code, descr)
        exchange.let_go()


NAMES = {"i1": (0, 8), "i8": (0, 64), "u2": (1, 16), "f2": (2, 16), "f8": (2, 64), "c8": (5, 64), "c16": (5, 128), "?": (6, 8)}
EXTRA = {"bfloat16": (4, 16), "float8_e3m4": (7, 8), "float8_e4m3": (8, 8), "float8_e8m0fnu": (14, 8), "float6_e2m3fn": (15, 6), "float4_e2m1fn": (17, 4)}


@pytest.mark.parametrize("name, words", [*NAMES.items(), *EXTRA.items()])
def test_B25_codes_and_bits_are_those_of_the_table(bi, name, words):
    exchange = exchange_of(bi, bi.zeros((3,), name, device="host"))
    assert (exchange.type_code, exchange.type_bits, exchange.type_lanes) == (*words, 1)
    exchange.let_go()


@bad((0, 24), (2, 80), (5, 32), (6, 1), (18, 8), (200, 32), (15, 8))
def test_B25_other_codes_and_bits_are_refused(bi, members):
    code, bits = members
    refuse_in_library(bi, "code", type_code=code, type_bits=bits, item_size=(bits + 7) // 8)


DESCRIBED = {"type_code": 3, "type_bits": 8, "type_lanes": 4}


@bad({"descr": b'">i4"'}, {"type_code": 3}, {"type_bits": 0})
def test_B26_a_type_has_one_name(bi, check, members):
    refuse(bi, check, "B-26", **members)


def test_B26_a_described_type_has_no_name_in_the_table(bi, check):
    refuse(bi, check, "B-26", descr=b'">i4"', **{**DESCRIBED, "type_bits": 16})
    refuse(bi, check, "B-26", descr=b'">i4"', **{**DESCRIBED, "type_lanes": 1})
    refuse_in_library(bi, "DLPack has a name", descr=b'"<i4"', **DESCRIBED)
    assert accept(bi, check, descr=b'">i4"', **DESCRIBED).typestr == ">i4"


@bad({"item_size": 3}, {"item_size": 5}, {"item_size": 0}, {"type_lanes": 2}, {"type_lanes": 0}, {"type_lanes": 0, "item_size": 0})
def test_B27_the_item_size_is_packed_or_padded(bi, check, members):
    refuse(bi, check, "B-27", **members)


def test_B27_packed_lanes_are_refused_by_a_consumer_that_cannot_use_them(bi, check):
    packed = {"type_code": 17, "type_bits": 4, "type_lanes": 2, "item_size": 1, "steps": (1,)}
    assert check(ctypes.byref(struct_of(**packed))) is None
    refuse_in_library(bi, "item_size", **packed)
    assert accept(bi, check, **{**packed, "item_size": 2, "steps": (2,)}).typestr == "float4_e2m1fnx2"


def nested(depth):
    return b'[["a", ' * depth + b'"<i4"' + b"]]" * depth


@bad(b"", b'"', b'">i4', b"[]", b"[['a', '<i4']]", b'[["a", "<i4"],]', b'[["a"]]', b'[["a", "<i4", [2, -1]]]', b'[["\\u0000", "<i4"]]', b'[["a", "<i4"]] x', nested(17), b'[["' + b"a" * 65536 + b'", "<i4"]]')
def test_B28_a_descr_that_is_not_of_the_grammar_is_refused(bi, members):
    refuse_in_library(bi, descr=members, **DESCRIBED)


@pytest.mark.parametrize("descr", [nested(16), b' [ ["\\u00e4\\n\\"", "<i2"] , ["", "|V2"] ] ', b'[["a", "<i2", [2]]]', '[["ä", "<i4"]]'.encode()])
def test_B28_a_descr_of_the_grammar_is_accepted(bi, check, descr):
    assert accept(bi, check, descr=descr, **DESCRIBED).typestr == "|V4"


def test_B29_the_sizes_of_the_fields_add_up(bi):
    refuse_in_library(bi, descr=b'[["a", "<i2"]]', **DESCRIBED)
    big = dict(type_code=3, type_bits=8, type_lanes=0, item_size=70004, extents=(0,), flags=0)
    refuse_in_library(bi, "item_size is 70004", descr=b'[["a", "|V70000"]]', **big)


# Order


def pending(bi, cuda, size=64):
    """An array with work on the stream of its producer."""
    producer = CuPyLike(cuda)
    producer.fill(1)
    return producer, bi.buffer_interface(producer)


def test_B30_the_stream_comes_after_all_work(bi, cuda):
    producer, view = pending(bi, cuda)
    view.fill(0)
    exchange = exchange_of(bi, view)
    assert (exchange.order_kind, exchange.stream) == (1, producer.stream)
    assert cuda.ordered(exchange.stream, exchange.handle + exchange.offset, view.nbytes)
    exchange.let_go()


def test_B31_the_stream_lives_until_release(bi, cuda):
    view = bi.full((64,), 3, "u1", device="cuda")
    exchange = exchange_of(bi, view)
    view.release()
    del view
    gc.collect()
    bi._core._close_contexts()
    cuda.fill(exchange.handle + exchange.offset, 4, 64, exchange.stream)
    cuda.synchronize_stream(exchange.stream)
    exchange.let_go()


@bad({"stream": 5}, {"event": 5}, {"order_kind": 3}, {"order_kind": 4, "stream": 5}, {"order_kind": 3, "event": 5}, {"order_kind": 1, "stream": 2}, {"order_kind": 2, "stream": 5}, {"order_kind": 3, "stream": 5, "device_type": 2, "handle_kind": CUDA})
def test_B32_kind_stream_and_event_go_together(bi, check, members):
    refuse(bi, check, "B-32", **members)


def test_B32_cudas_stream_2_is_never_named(bi, cuda):
    place = dict(device_type=2, handle_kind=CUDA, handle=cuda.alloc(16), order_kind=1)
    refuse_in_library(bi, "another stream on each thread", stream=2, **place)
    assert bi.buffer_interface(odd(stream=1, **place)).stream == 1


@pytest.mark.needs("simulator")
def test_B37_done_waits_for_no_device(bi, cuda):
    producer, view = pending(bi, cuda)
    exchange, stream = exchange_of(bi, view), cuda.stream()
    done = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64)(exchange.done)
    cuda.follow(stream, exchange.stream)
    cuda.fill(producer.pointer, 2, view.nbytes, stream)
    waits, results = open_simulator().host_waits(), []
    hand_back = lambda: results.append(done(ctypes.addressof(exchange), 1, stream, 0))  # noqa: E731
    for thread in [threading.Thread(target=hand_back) for _ in range(2)]:
        thread.start()
        thread.join()
    assert results == [0, 0] and open_simulator().host_waits() == waits
    exchange.let_go()
    assert np.asarray(view.to("host")).view("u1").tolist() == [2] * view.nbytes


def test_B36_work_of_the_consumer_comes_first(bi, cuda):
    producer, view = pending(bi, cuda)
    exchange, stream = exchange_of(bi, view), cuda.stream()
    cuda.follow(stream, exchange.stream)
    cuda.fill(producer.pointer, 2, view.nbytes, stream)
    done = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64)(exchange.done)
    assert done(ctypes.addressof(exchange), 1, stream, 0) == 0
    assert done(ctypes.addressof(exchange), 3, 5, 0) != 0
    exchange.let_go()
    assert cuda.ordered(view.stream, producer.pointer, view.nbytes)


def test_B38_ready_memory_names_no_stream(bi, cuda):
    producer, view = pending(bi, cuda)
    exchange = exchange_of(bi, view, READY)
    assert (exchange.order_kind, exchange.stream, exchange.event) == (0, 0, 0)
    assert cuda.ordered(0, producer.pointer, view.nbytes)
    exchange.let_go()


@pytest.mark.parametrize("protocol", ["native", "dlpack"])
def test_B38_an_object_of_ready_memory_names_no_stream_also_if_the_memory_stays_pending(bi, cuda, protocol):
    view = bi.full((64,), 3, "u1", device="cuda")
    if protocol == "native":
        exchange_of(bi, view).let_go()
    else:
        bi.buffer_interface(view, protocol="dlpack").release()
    view.synchronize()
    assert view.stream is not None
    ready = view.__buffer_interface__(READY)
    assert ready.stream is None and ready.__buffer_interface__(READY).stream is None
    assert view.stream == ready.__buffer_interface__().stream is not None
    assert ready.shape == view.shape and ready.buffer == view.buffer
    view.release()
    assert ready.tolist() == [3] * 64


# Lifetime


def test_B39_the_structure_is_released_once_on_any_thread(bi):
    producer = odd()
    views = [bi.buffer_interface(producer)]
    views += [views[0][1:], views[0].T]
    for view in views:
        assert released == []
        thread = threading.Thread(target=view.release)
        thread.start()
        thread.join()
    assert released == [id(producer)]


def test_B39_a_structure_that_was_released_is_refused(bi, check):
    assert check(ctypes.byref(struct_of(release=None))).decode().endswith("[B-39]")
    with pytest.raises(BufferError, match="release"):
        bi.buffer_interface(odd(release=None))


def test_B41_a_release_while_python_ends_leaks(bi):
    run("""
import ctypes
from exchange_struct import Exchange, Table
from peers import compiled
import dlpack_structs as dl
table = Table.from_address(dl.capsule_pointer(vars(bi.BufferInterface)['__buffer_interface_c__']))
exchange = Exchange.empty()
assert table.acquire(buffer_interface(np.zeros(4)), 0, ctypes.byref(exchange)) == 0
ctypes.pythonapi.Py_IncRef(ctypes.py_object(exchange))
compiled.foreign().peer_at_exit(ctypes.c_void_p(exchange.release), ctypes.c_void_p(ctypes.addressof(exchange)))
""")


@pytest.mark.parametrize("device", ["opencl", "cuda"])
def test_B42_the_functions_call_no_driver_in_a_forked_child(device):
    run(
        "ends = False\n" + FORK + """
import ctypes
from exchange_struct import Exchange, Table
import dlpack_structs as dl
table = Table.from_address(dl.capsule_pointer(vars(bi.BufferInterface)['__buffer_interface_c__']))
def exchange_of(view):
    exchange = Exchange.empty()
    assert table.acquire(view, 0, ctypes.byref(exchange)) == 0
    return exchange
view = bi.full(64, 1, 'u1', device=device)
there, here = exchange_of(view), exchange_of(buffer_interface(np.arange(4)))
done = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64)
def child():
    assert done(there.done)(ctypes.addressof(there), there.order_kind or 3, there.stream or 5, 0) != 0
    there.let_go(); here.let_go()
in_child(child)
there.let_go(); here.let_go()
""",
        device,
    )


def test_B43_a_view_of_a_view_refers_to_the_memory(bi):
    view, end = owned(bi)
    first = view[1:]
    second = first[1:]
    exchange = exchange_of(bi, second)
    for gone in (view, first, second):
        gone.release()
    assert not has_ended(end) and ctypes.string_at(exchange.handle + exchange.offset, 6) == b"345678"
    exchange.let_go()
    assert has_ended(end)


# The capsule


def test_B44_the_capsule_of_the_type_counts_alone(bi):
    capsule = vars(bi.BufferInterface)["__buffer_interface_c__"]
    assert dl.capsule_name(capsule) == b"buffer_interface.c_api"
    producer = Producer()
    producer.__buffer_interface_c__ = 7
    with pytest.raises(TypeError, match="no protocol"):
        bi.buffer_interface(producer)


@pytest.mark.parametrize("given", [{"version": 3}, {"version": 1}, {"size": 8}, {"size": 0}])
def test_B45_a_table_that_is_not_known_is_not_called(bi, given):
    def never(producer, wishes, out):
        raise AssertionError("called")

    with pytest.raises(BufferError, match="version"):
        bi.buffer_interface(foreign(table(give=FILL(never), **given))(), protocol="native")
    assert bi.buffer_interface(foreign(table(size=64))()).shape == (4,)


def test_B46_acquire_is_called_by_many_threads_and_for_derived_types(bi):
    view, end = owned(bi)

    def work(number):
        for _ in range(300):
            exchange_of(bi, view).let_go()

    together(work)
    assert bi.buffer_interface(type("Derived", (foreign(),), {})()).shape == (4,)
    del view, work
    assert has_ended(end)


@pytest.mark.needs("simulator")
def test_B47_acquire_does_not_copy_or_wait(bi, cuda):
    producer, view = pending(bi, cuda)
    waits = open_simulator().host_waits()
    exchange = exchange_of(bi, view)
    assert exchange.handle + exchange.offset == producer.pointer and open_simulator().host_waits() == waits
    exchange.let_go()


@pytest.mark.parametrize("wishes", [2, 1 << 7, 1 << 15])
def test_B48_unknown_demands_are_refused(bi, wishes):
    view, end = owned(bi)
    exchange = Exchange.empty()
    with pytest.raises(BufferError, match="demand"):
        table_of(bi).acquire(view, wishes, ctypes.byref(exchange))
    assert not exchange.release
    exchange_of(bi, view, 0xFFFD0000).let_go()
    del view
    assert has_ended(end)


@pytest.mark.parametrize("wishes, is_kept", [(BORROW, False), (0, True), (READING, True)])
def test_B49_B51_what_is_borrowed_does_not_outlive_the_object(bi, wishes, is_kept):
    view, end = owned(bi)
    exchange = exchange_of(bi, view, wishes)
    if not is_kept:
        exchange.let_go()
    view.release()
    assert has_ended(end) != is_kept
    if is_kept:
        assert ctypes.string_at(exchange.handle + exchange.offset, 8) == b"12345678"
        exchange.let_go()
        assert has_ended(end)


def test_B50_a_masked_array_is_two_exchanges(bi, cuda):
    class Masked(CuPyLike):
        mask = CuPyLike(cuda, typestr="|b1")

        @property
        def __cuda_array_interface__(self):
            return dict(super().__cuda_array_interface__, mask=self.mask)

    view = bi.buffer_interface(Masked(cuda), mask="keep")
    view.synchronize()
    exchange = Exchange.empty()
    for wishes in (0, BORROW):
        with pytest.raises(BufferError, match="masked"):
            table_of(bi).acquire(view, wishes, ctypes.byref(exchange))
        assert not exchange.release
    exchange = exchange_of(bi, view.mask)
    assert exchange.type_code == 6
    exchange.let_go()


# As a consumer on streams


def test_B34_B35_a_consumer_waits_and_hands_the_memory_back(bi, cuda):
    pointer, stream, other = cuda.alloc(16), cuda.stream(), cuda.stream()
    cuda.fill(pointer, 1, 16, stream)
    view = bi.buffer_interface(odd(device_type=2, handle_kind=CUDA, handle=pointer, order_kind=1, stream=stream))
    view.fill(7, stream=other)  # the simulator reports work that is not ordered
    assert cuda.ordered(stream, pointer, 16)
    cuda.synchronize_stream(stream)
    assert cuda.download(pointer, 16) == np.full(4, 7, "i4").tobytes()


def test_B40_memory_that_was_handed_back_is_released_with_the_last_reference(bi, cuda):
    pointer, stream = cuda.alloc(16), cuda.stream()
    producer = odd(device_type=2, handle_kind=CUDA, handle=pointer, order_kind=1, stream=stream)
    view = bi.buffer_interface(producer)
    view.fill(7)
    part = view[1:]
    view.release()
    assert released == []
    part.release()
    assert released == [id(producer)]
