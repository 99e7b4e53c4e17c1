"""Python rows on host memory: buffer_interface(x) and the exports of our object, beside NumPy, memoryview, nanobind."""

import numpy as np

import buffer_interface as bi
import build
import first_reads
from report import at_most, at_most_of
from timing import statement
from verify import equal, same_array

GROUP = "exchange"
SHAPE = (3, 4)


def source():
    return np.arange(12, dtype="<f4").reshape(SHAPE)


def run(report):
    import_numpy(report)
    import_memoryview(report)
    import_capsule(report)
    export_dlpack(report)
    export_buffer(report)
    slicing(report)


def nanobind_peer(report):
    try:
        return build.nanobind_peer()
    except build.Unavailable as why:
        report.skip("nanobind", why)
        return None


def import_numpy(report):
    x = source()
    same_array("buffer_interface(numpy)", bi.buffer_interface(x), x.ctypes.data, x.shape, x.strides, "<f4")
    equal("buffer_interface(numpy), values", np.asarray(bi.buffer_interface(x)).tolist(), x.tolist())
    equal("np.from_dlpack, address", np.from_dlpack(x).ctypes.data, x.ctypes.data)
    runners = {
        "ours": statement("buffer_interface(x)", buffer_interface=bi.buffer_interface, x=x),
        "np.from_dlpack": statement("from_dlpack(x)", from_dlpack=np.from_dlpack, x=x),
        "memoryview": statement("memoryview(x)", x=x),
        "np.asarray (x itself)": statement("asarray(x)", asarray=np.asarray, x=x),
    }
    peer = nanobind_peer(report)
    if peer:
        equal("nanobind, address", peer.address(x), x.ctypes.data)
        runners["nanobind"] = statement("take(x)", take=peer.take, x=x)
    report.measure(GROUP, "Python: buffer_interface(x), NumPy array", runners, at_most_of("np.from_dlpack"),
                   bounds=("np.asarray (x itself)",))


def import_memoryview(report):
    x = memoryview(bytearray(48)).cast("f", SHAPE)
    y = np.frombuffer(x, dtype="<f4")
    same_array("buffer_interface(memoryview)", bi.buffer_interface(x), y.ctypes.data, x.shape, x.strides, "<f4")
    report.measure(GROUP, "Python: buffer_interface(x), memoryview", {
        "ours": statement("buffer_interface(x)", buffer_interface=bi.buffer_interface, x=x),
        "np.asarray": statement("asarray(x)", asarray=np.asarray, x=x),
        "memoryview": statement("memoryview(x)", x=x),
    })


def import_capsule(report):
    try:
        x = build.loops().Producer()
    except build.Unavailable as why:
        report.skip("capsule of another library", why)
        return
    y = source()
    same_array("buffer_interface(producer)", bi.buffer_interface(x), x.address, SHAPE, (16, 4), "<f4")
    report.measure(GROUP, "Python: buffer_interface(x), __buffer_interface_c__ of another library", {
        "ours": statement("buffer_interface(x)", buffer_interface=bi.buffer_interface, x=x),
        "our import of a NumPy array": statement("buffer_interface(y)", buffer_interface=bi.buffer_interface, y=y),
    }, at_most_of("our import of a NumPy array", factor=1.5, text="≤ 1.5 × a NumPy array"),
        bounds=("our import of a NumPy array",))


def export_dlpack(report):
    x = source()
    v = bi.buffer_interface(x)
    equal("__dlpack__, address", np.from_dlpack(v).ctypes.data, x.ctypes.data)
    equal("__dlpack__, values", np.from_dlpack(v).tolist(), x.tolist())
    report.measure(GROUP, "Python: .__dlpack__(max_version=(1, 3)), host", {
        "ours": statement("v.__dlpack__(max_version=version)", v=v, version=(1, 3)),
        "NumPy": statement("x.__dlpack__(max_version=version)", x=x, version=(1, 3)),
    }, at_most(60, taken_beside=("NumPy", 37)))
    report.measure(GROUP, "Python: np.from_dlpack(our object)", {
        "ours": statement("from_dlpack(v)", from_dlpack=np.from_dlpack, v=v),
        "of a NumPy array": statement("from_dlpack(x)", from_dlpack=np.from_dlpack, x=x),
    })


def export_buffer(report):
    x = source()
    v = bi.buffer_interface(x)
    equal("memoryview, values", memoryview(v).tolist(), x.tolist())
    report.measure(GROUP, "Python: memoryview(our object)", {
        "ours": statement("memoryview(v)", v=v),
        "of a NumPy array": statement("memoryview(x)", x=x),
    })
    equal("__array_interface__, address", [v.__array_interface__["data"][0] for _ in range(3)], [x.ctypes.data] * 3)
    report.measure(GROUP, "Python: .__array_interface__, first read, host", {
        "ours": first_reads.runner("__array_interface__", lambda: bi.buffer_interface(x)),
        "NumPy": first_reads.runner("__array_interface__", x.view),
    })
    report.measure(GROUP, "Python: .__array_interface__, later reads, host", {
        "ours": statement("v.__array_interface__", v=v),
        "NumPy": statement("x.__array_interface__", x=x),
    }, bounds=("NumPy",))


def slicing(report):
    x = source()
    v, m = bi.buffer_interface(x), memoryview(x)
    equal("memoryview, slice", (m[1:].shape, m[1:].strides, m[1:].tolist()), ((2, 4), (16, 4), x[1:].tolist()))
    same_array("slice", v[1:, ::2], x[1:, ::2].ctypes.data, (2, 2), (16, 8), "<f4")
    report.measure(GROUP, "Python: v[1:] and its release", {
        "ours": statement("v[1:]", v=v),
        "NumPy": statement("x[1:]", x=x),
        "memoryview": statement("m[1:]", m=m),
    })
    report.measure(GROUP, "Python: v[1:, ::2] and its release", {
        "ours": statement("v[1:, ::2]", v=v),
        "NumPy": statement("x[1:, ::2]", x=x),
    })
