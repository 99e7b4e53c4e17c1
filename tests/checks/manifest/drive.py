#!/usr/bin/env python3
"""Uses the library on the host through api.json alone.

drive.py MANIFEST LIBRARY
"""

import ctypes
import sys

from bindings import Failed, Library

ROWS, COLUMNS = 4, 6
NUMBERS = (ctypes.c_float * (ROWS * COLUMNS))(*range(ROWS * COLUMNS))


def expect(found, wanted):
    if found != wanted:
        raise AssertionError(f"{found!r} is not {wanted!r}")


def check_layouts(api):
    for what, said, is_so in api.layouts():
        expect((what, said), (what, is_so))


def float32(api):
    dtype = api.structs["bi_dtype"]()
    api.call("bi_dtype_parse", b"<f4", ctypes.byref(dtype))
    return dtype


def filled(api, context):
    """Allocates an array and writes all its elements."""
    array = api.call("bi_view_empty", context, float32(api), 2, (ctypes.c_int64 * 2)(ROWS, COLUMNS))
    api.call("bi_view_write", array, NUMBERS, ctypes.sizeof(NUMBERS))
    return array


def sliced(api, array):
    """array[::-2, 1]"""
    items = (api.structs["bi_index"] * 2)()
    omitted = api.values["BI_OMITTED"]
    items[0] = api.structs["bi_index"](api.values["BI_INDEX_SLICE"], omitted, omitted, -2)
    items[1] = api.structs["bi_index"](api.values["BI_INDEX_INTEGER"], 1)
    return api.call("bi_view_index", array, items, 2)


def numbers_of(api, array, count):
    numbers = (ctypes.c_float * count)()
    api.call("bi_view_read", array, numbers, ctypes.sizeof(numbers))
    return list(numbers)


def wrapped(api, context, releases):
    """Wraps memory of this process. `releases` receives what the callback receives."""
    callback = api.type_of({"kind": "callback", "name": "bi_release_fn"})(releases.append)
    memory = (ctypes.c_float * 2)(1, 2)
    shape = (ctypes.c_int64 * 1)(2)
    return api.call("bi_view_wrap_host", context, memory, float32(api), 1, shape, callback, 7), memory, callback


def exchange(api, context, array):
    """Passes the array through the exchange structure. Returns the view that the import makes."""
    described = api.initial("bi_exchange")
    api.call("bi_view_export", array, api.values["BI_ACQUIRE_READY"], ctypes.byref(described))
    expect((described.ndim, described.shape[0], described.strides[0]), (1, 2, -2 * COLUMNS * 4))
    expect(described.device_type, api.values["BI_EXCHANGE_DEVICE_CPU"])
    at = described.handle + described.offset
    expect(ctypes.c_float.from_address(at).value, float((ROWS - 1) * COLUMNS + 1))
    taken = api.call("bi_view_import", context, ctypes.byref(described), 0)
    expect(bool(described.release), False)
    return taken


def release_by_consumer(api, array):
    """Exports the array and releases the structure, as a consumer that does not link the library does."""
    described = api.initial("bi_exchange")
    api.call("bi_view_export", array, 0, ctypes.byref(described))
    described.release(ctypes.byref(described))
    expect(bool(described.release), False)


def check_mapping(api, array):
    mapping = api.call("bi_view_map", array, api.values["BI_MAP_READ"])
    expect(ctypes.c_float.from_address(api.bi_map_data(mapping.object)).value, 19.0)
    mapping.release()


def check_refusal(api, array):
    try:
        api.call("bi_view_flip", array, 7)
    except Failed as failed:
        expect(failed.args[0], api.values["BI_EINVAL"])
        expect("7" in failed.args[1], True)
    else:
        raise AssertionError("axis 7 is not refused")


def main(manifest, library):
    api = Library(manifest, library)
    check_layouts(api)
    expect(api.bi_version().decode(), api.manifest["versions"]["library"])
    context = api.call("bi_context_open", ctypes.byref(api.initial("bi_options", device=b"host")))
    expect(api.bi_context_device(context.object).contents.backend, b"host")
    array = filled(api, context)
    part = sliced(api, array)
    expect(numbers_of(api, part, 2), [19.0, 7.0])
    copy = api.call("bi_view_clone", part, None)
    expect(numbers_of(api, copy, 2), [19.0, 7.0])
    taken = exchange(api, context, part)
    release_by_consumer(api, part)
    releases = []
    ours, memory, callback = wrapped(api, context, releases)
    api.call("bi_copy", ours, taken, None)
    expect(list(memory), [19.0, 7.0])
    check_mapping(api, taken)
    check_refusal(api, array)
    report = api.call("bi_context_report", context)
    expect(report.object.value[:1], b"{")
    expect(releases, [])
    for owned in (report, ours, taken, copy, part, array, context):
        owned.release()
    expect(releases, [7])


main(*sys.argv[1:])
