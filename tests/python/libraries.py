"""Arrays that go from this package to other libraries and back: each way is run, and docs/libraries.md has the results.

    python tests/python/libraries.py                                  compares the page with the libraries of requirements-libraries.txt
    python tests/python/libraries.py --all --output docs/libraries.md writes the page; also needs requirements-libraries-all.txt

A way is a line of code. It is zero-copy if a write through one of the two arrays is seen through the other, and a copy if
it is not. If it raises, it is refused. Copies and refusals need a reason, which stands beside them.
"""

import argparse
import dataclasses
import importlib.metadata
import os
import pathlib
import sys
import warnings

import buffer_interface

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "libraries.md"
SIMULATOR = os.environ.get("BI_TEST_CUDA_SIM") or str(ROOT / "build/default/tests/simulators/cuda_sim/libcuda.so.1")
NEW = 77

COMMON = """
import numpy as np
import buffer_interface as bi
a = bi.from_numpy(np.arange(1, 13, dtype="f4"), device="host")
image = bi.full((4, 4), 1, "u1", device="host")
"""
OPENCL = """
d = bi.from_numpy(np.arange(1, 13, dtype="f4"), device="opencl")
"""


@dataclasses.dataclass
class To:
    """A way to the other library. `first` is the first element of the result `r`; '' if the code writes to our memory."""

    code: str
    why: str = ""
    first: str = "r[0]"


@dataclasses.dataclass
class From:
    """A way from the other library: `code` makes its array `x`.

    `write` writes 77 to its first element. For an array that cannot be written to, `same` is true if `v`, the result of
    buffer_interface(x), has the same memory.
    """

    code: str
    why: str = ""
    write: str = "x[0] = 77"
    same: str = ""


@dataclasses.dataclass
class Library:
    name: str
    package: str
    setup: str
    to: list
    back: list
    is_long: bool = False
    environment: dict = dataclasses.field(default_factory=dict)


LIBRARIES = [
    Library(
        "NumPy",
        "numpy",
        OPENCL,
        [
            To("np.asarray(a)"),
            To("np.from_dlpack(a)"),
            To("np.frombuffer(a, 'f4')"),
            To("np.array(a)", "`np.array` always copies"),
            To("np.asarray(d)", "`d` is in OpenCL memory, and nothing is copied to the host implicitly: `d.numpy()`"),
            To("d.numpy()", "from the device to the host"),
        ],
        [From("np.ones(3)"), From("np.ones((3, 4))[::-1, ::2]", write="x[0, 0] = 77"), From("np.ma.ones(3)")],
    ),
    Library(
        "pandas",
        "pandas",
        "import pandas as pd",
        [
            To("pd.Series(a)"),
            To("pd.DataFrame(a.reshape(3, 4))", "pandas copies every array into a DataFrame", "r.iloc[0, 0]"),
            To("pd.DataFrame(a.reshape(3, 4).numpy(), copy=False)", first="r.iloc[0, 0]"),
            To("pd.array(a)", "pandas reads a sequence of Python numbers, as Float64: `pd.array(a.numpy())`"),
        ],
        [
            From("pd.Series([1., 2.])", "the elements of a Series may be no array, such as categories: `x.to_numpy()`"),
            From("pd.Series([1., 2.]).to_numpy()", same="bi.shares_memory(v, x)"),
        ],
    ),
    Library(
        "polars",
        "polars",
        "import polars as pl",
        [
            To("pl.Series(a)", "polars takes arrays of NumPy and of Arrow only: `pl.Series(a.numpy())`"),
            To("pl.Series(a.numpy())"),
        ],
        [
            From("pl.Series([1., 2.])", "a Series may have its elements in several chunks: `x.to_numpy()`"),
            From("pl.Series([1., 2.]).to_numpy()", same="bi.shares_memory(v, x)"),
        ],
    ),
    Library(
        "xarray",
        "xarray",
        "import xarray as xr",
        [To("xr.DataArray(a)")],
        [
            From("xr.DataArray(np.ones(3))", "a DataArray may be made of files that are not read yet: `x.data`"),
            From("xr.DataArray(np.ones(3)).data"),
        ],
    ),
    Library(
        "Arrow",
        "pyarrow",
        "import pyarrow as pa",
        [
            To("pa.py_buffer(a)", first="np.frombuffer(r, 'f4')[0]"),
            To("pa.array(a.numpy())"),
            To("pa.array(a)", "Arrow reads a sequence of Python numbers, as float64: `pa.array(a.numpy())`", "r[0].as_py()"),
        ],
        [
            From("pa.array([1., 2.])", same="int(v.buffer) == x.buffers()[1].address"),
            From("pa.py_buffer(bytearray(8))", write="np.frombuffer(x, 'u1')[0] = 77"),
            From("pa.array([1., None])", "the elements that are null have no value: `x.fill_null(0)`"),
            From("pa.chunked_array([[1.], [2.]])", "its elements are in several chunks: `x.combine_chunks()`"),
        ],
    ),
    Library(
        "Pillow",
        "pillow",
        "from PIL import Image",
        [
            To("Image.frombuffer('L', (4, 4), image, 'raw', 'L', 0, 1)", first="r.getpixel((0, 0))"),
            To("Image.fromarray(image)", first="r.getpixel((0, 0))"),
        ],
        [From("Image.new('L', (4, 4), 1)", "Pillow's array interface is a copy", "x.putpixel((0, 0), 77)")],
    ),
    Library(
        "h5py",
        "h5py",
        "import h5py\n"
        "file = h5py.File('name', 'w', driver='core', backing_store=False)\n"
        "stored = file.create_dataset('stored', data=np.full(12, 5, 'f4'))",
        [
            To("file.create_dataset('a', data=a)", "a file has bytes of its own"),
            To("stored.read_direct(a.numpy())", first=""),
            To("stored.read_direct(a)", "h5py takes arrays of NumPy only: `stored.read_direct(a.numpy())`", ""),
        ],
        [From("stored", "the elements are in a file: `x[...]`"), From("stored[...]")],
    ),
    Library(
        "zarr",
        "zarr",
        "import zarr\nstored = zarr.ones(12, dtype='f4')",
        [To("zarr.array(a)", "a store has bytes of its own")],
        [From("stored", "the elements are in compressed chunks: `x[...]`"), From("stored[...]")],
    ),
    Library(
        "Dask",
        "dask",
        "import dask.array as da",
        [To("da.from_array(a, chunks=4)", first="r[0].compute()")],
        [From("da.ones(3)", "the elements are not computed yet: `x.compute()`"), From("da.ones(3).compute()")],
    ),
    Library(
        "mpi4py",
        "mpi4py",
        "from mpi4py import MPI\ncomm = MPI.COMM_SELF\nnumbers = np.full(12, 5, 'f4')",
        [To("comm.Sendrecv(numbers, 0, 0, a, 0, 0)", first="")],
        [From("MPI.memory.frombuffer(bytearray(8))")],
    ),
    Library(
        "Cython",
        "cython",
        "from peers.compiled import cython_peer\npeer = cython_peer()",
        [To("peer.increment(a)  # float[:]", first="")],
        [],
    ),
    Library(
        "pybind11",
        "pybind11",
        "from peers.compiled import pybind11_peer\npeer = pybind11_peer()",
        [
            To("peer.increment_buffer(a)  # py::buffer", first=""),
            To("peer.increment_array(a.numpy())  # py::array_t<float>", first=""),
        ],
        [],
    ),
    Library(
        "nanobind",
        "nanobind",
        "from peers.compiled import nanobind_peer\npeer = nanobind_peer()",
        [To("peer.increment(a)  # nb::ndarray<float>", first="")],
        [From("peer.make(2, 3)", same="bi.shares_memory(v, np.from_dlpack(x))")],
    ),
    Library(
        "tvm-ffi",
        "apache-tvm-ffi",
        "import tvm_ffi",
        [To("tvm_ffi.from_dlpack(a)", first="np.from_dlpack(r)[0]")],
        [From("tvm_ffi.from_dlpack(np.ones(3))", same="bi.shares_memory(v, np.from_dlpack(x))")],
    ),
    Library(
        "pyopencl",
        "pyopencl",
        OPENCL + "import pyopencl as cl, pyopencl.array\n"
        "queue = cl.CommandQueue(cl.Context.from_int_ptr(d.context))",
        [To("bi.pyopencl_array(d, queue)", first="r.get()[0]")],
        [
            From("cl.array.to_device(queue, np.ones(3))", write="x[0] = 77; queue.finish()"),
            From(
                "cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 8)",
                write="cl.enqueue_fill_buffer(queue, x, np.uint8(77), 0, 8).wait()",
            ),
            From("cl.SVM(cl.csvm_empty(queue.context, 3, 'f8'))", "it names no queue: `buffer_interface(x, producer_stream=queue)`"),
            From("cl.SVM(np.ones(3))", "it is no memory of an OpenCL driver: `x.mem`"),
        ],
    ),
    Library(
        "OpenCV",
        "opencv-python-headless",
        "import cv2",
        [
            To("cv2.flip(image, 1)", "OpenCV takes arrays of NumPy only: `cv2.flip(image.numpy(), 1)`"),
            To("cv2.add(image.numpy(), 1, dst=image.numpy())", first=""),
        ],
        [
            From("cv2.flip(np.ones((4, 4), 'u1'), 1)", write="x[0, 0] = 77"),
            From("cv2.UMat(np.ones((4, 4)))", "a UMat does not tell where its memory is: `x.get()`"),
        ],
        is_long=True,
    ),
    Library(
        "Awkward Array",
        "awkward",
        "import awkward as ak",
        [
            To("ak.from_dlpack(a)"),
            To("ak.from_numpy(a)", "`ak.from_numpy` reads no protocol: `ak.from_dlpack(a)`"),
        ],
        [
            From("ak.Array([1., 2.])", "the rows of an Array may have several lengths: `ak.to_numpy(x)`"),
            From("ak.to_numpy(ak.Array([1., 2.]))"),
        ],
        is_long=True,
    ),
    Library(
        "SciPy",
        "scipy",
        "import scipy.sparse",
        [To("scipy.sparse.csr_array(a.reshape(3, 4))", "a sparse array has elements of its own", "r[0, 0]")],
        [From("scipy.sparse.csr_array(np.ones(3))", "its elements, rows and columns are three arrays, such as `x.data`")],
        is_long=True,
    ),
    Library(
        "Blosc2",
        "blosc2",
        "import blosc2",
        [To("blosc2.asarray(a)", "an NDArray has compressed chunks", "r[0].item()")],
        [From("blosc2.asarray(np.ones(3))", "Blosc2's array interface is a copy", "x[0] = 77")],
        is_long=True,
    ),
    Library(
        "array-api-strict",
        "array-api-strict",
        "import array_api_strict as xp",
        [To("xp.from_dlpack(a)"), To("xp.asarray(a)")],
        [From("xp.ones(3)")],
        is_long=True,
    ),
    Library(
        "JAX (CPU)",
        "jax",
        "import jax, jax.numpy as jnp",
        [
            To("jnp.from_dlpack(a)"),
            To("jnp.asarray(a)", "JAX copies, because its arrays never change: `jnp.from_dlpack(a)`"),
            To("jax.jit(lambda x: x + 1)(a)", "functions of JAX take arrays of JAX and NumPy: `jnp.from_dlpack(a)`"),
        ],
        [
            From("jnp.ones(3)", same="int(v.buffer) == x.unsafe_buffer_pointer()"),
            From("jnp.from_dlpack(bi.buffer_interface(jnp.ones(3)))", same="int(v.buffer) == x.unsafe_buffer_pointer()"),
            From("jnp.ones(3, 'bfloat16')", same="int(v.buffer) == x.unsafe_buffer_pointer()"),
        ],
        is_long=True,
    ),
    Library(
        "PyTorch (CPU)",
        "torch",
        "import torch",
        [
            To("torch.from_dlpack(a)"),
            To("torch.asarray(a)"),
            To("torch.tensor(a)", "`torch.tensor` always copies: `torch.asarray(a)`"),
        ],
        [From("torch.ones(3)"), From("torch.ones(3, dtype=torch.bfloat16)")],
        is_long=True,
    ),
    Library(
        "Numba, compiled for the CPU",
        "numba",
        "import numba\n@numba.njit\ndef increment(x):\n    x[0] += 1\n",
        [To("increment(a)  # @numba.njit", first=""), To("increment(a.numpy())", first="")],
        [],
        is_long=True,
    ),
    Library(
        "Numba, on a simulated CUDA device",
        "numba",
        "import numba.cuda.cudadrv.driver as numba_driver\n"
        "numba_driver.Driver._initialize_extras = lambda self: None\n"
        "numba_driver.driver.cuDeviceGetUuid = lambda uuid, device: None\n"
        "from numba import cuda\n"
        "stream = cuda.stream()\n"
        "c = bi.from_numpy(np.arange(1, 13, dtype='f4'), device='cuda')\n",
        [To("cuda.as_cuda_array(c)", first="r.copy_to_host()[0]")],
        [
            From("cuda.to_device(np.ones(3))", write="x.copy_to_device(np.full(3, 77.0))"),
            From("cuda.to_device(np.ones(3), stream=stream)", same="v.ptr == x.__cuda_array_interface__['data'][0] and v.stream == stream.handle.value"),
            From("cuda.managed_array(3, 'f4', stream=stream)", same="v.ptr == x.__cuda_array_interface__['data'][0] and v.stream == stream.handle.value"),
            From("cuda.mapped_array(3, 'f4', stream=stream)", same="v.ptr == x.__cuda_array_interface__['data'][0] and v.stream == stream.handle.value"),
        ],
        is_long=True,
        environment={"NUMBA_CUDA_DRIVER": SIMULATOR, "BI_CUDA_LIBRARY": SIMULATOR},
    ),
]


# Running

# These exceptions are never an expected refusal, whichever library raises them.
NOT_REFUSALS = (buffer_interface.DriverError, SystemError, MemoryError)


def namespace_of(library):
    names = {}
    exec(COMMON + library.setup, names)
    return names


def refused(way, error):
    if not way.why or isinstance(error, NOT_REFUSALS):
        raise AssertionError(f"{way.code} raises {type(error).__name__}: {error}") from error
    return f"refused: {way.why}"


def judged(way, is_shared):
    if is_shared and way.why:
        raise AssertionError(f"{way.code} is zero-copy, and has the reason of another result: {way.why}")
    if not is_shared and not way.why:
        raise AssertionError(f"{way.code} is a copy, and has no reason")
    return "zero-copy" if is_shared else f"copy: {way.why}"


def run_to(way, library):
    names = namespace_of(library)
    ours = [value for name, value in names.items() if name in ("a", "image", "d", "c")]
    before = [array.tolist() for array in ours]
    try:
        names["r"] = eval(way.code, names)
    except Exception as error:
        return refused(way, error)
    if not way.first:
        return judged(way, [array.tolist() for array in ours] != before)
    value = eval(way.first, names)
    assert float(value) == 1, f"{way.code}: the first element is {value}, not 1"
    for array in ours:
        array.fill(NEW)
        array.synchronize()
    return judged(way, float(eval(way.first, names)) == NEW)


def first_of(view):
    return view.numpy().ravel()[0].item()


def run_from(way, library):
    names = namespace_of(library)
    exec(f"x = {way.code}", names)
    try:
        names["v"] = view = names["bi"].buffer_interface(names["x"])
    except Exception as error:
        return refused(way, error)
    if way.same:
        return judged(way, bool(eval(way.same, names)))
    before = first_of(view)
    exec(way.write, names)
    assert before != NEW
    return judged(way, first_of(view) == NEW)


def rows_of(library):
    """Returns two lists of (code, result): the ways to the library, and the ways from it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        to = [(way.code, run_to(way, library)) for way in library.to]
        back = [(way.code, run_from(way, library)) for way in library.back]
    return to, back


# The page

HEAD = """# Other libraries

This page lists how arrays go into other libraries and come back. Each line of the tables was run with the version that
the table names. A line is "zero-copy" if a write through one array changes the other, or, for arrays that cannot be
written, if both have one address. `tests/python/libraries.py --all --output docs/libraries.md` makes the page, and a
test runs the smaller libraries again. CuPy is missing, because it needs a GPU ([gpu-results.md](gpu-results.md)).

`a` and `image` are arrays of this package in host memory, `d` is in OpenCL memory, `c` in CUDA memory of the simulated
driver. Some libraries take only NumPy's arrays: give them `a.numpy()`, which is a view of host memory and a copy of
device memory.

PyTorch takes no OpenCL memory: use `d.numpy()`. With PyTorch 2.15, `torch.from_dlpack(d)`, `torch.as_tensor(d)`,
`torch.tensor(d)` and `torch.utils.dlpack.from_dlpack(d.__dlpack__())` end the process. PyTorch calls the deleter of the
tensor when it refuses the device, and does not rename the capsule, so the destructor of the capsule deletes the tensor
again.

With TensorFlow 2.21 and the PoCL 3.1 of Debian 12, open the OpenCL device before you import TensorFlow. Otherwise the
process ends when PoCL is loaded, also with pyopencl alone: libclang-cpp, which PoCL needs, then calls functions of the
LLVM that is in TensorFlow.

In a function that Numba compiles (`@numba.njit`), an array of this package has only `len()`, indices and slices: pass
`a.numpy()`.
"""


def table(library, rows):
    version = importlib.metadata.version(library.package)
    lines = []
    for number, (code, result) in enumerate(rows):
        code, _, comment = code.partition("  # ")
        comment = f" (`{comment}`)" if comment else ""
        lines.append(f"| {f'{library.name} {version}' if number == 0 else ''} | `{code}`{comment} | {result} |")
    return lines


def tables_of(library):
    to, back = rows_of(library)
    return table(library, to), table(library, back)


def page(results):
    to = [line for lines, _ in results for line in lines]
    back = [line for _, lines in results for line in lines]
    head = "| library | code | result |\n|---|---|---|\n"
    return (
        HEAD
        + "\n## Into the library\n\n"
        + head
        + "\n".join(to)
        + "\n\n## From the library: `buffer_interface(x)`\n\n"
        + head.replace("code", "`x`")
        + "\n".join(back)
        + "\n"
    )


def is_in_page(lines, text):
    return not lines or "\n".join(lines) in text


def check(results):
    """Returns the lines that the page does not have."""
    text = PAGE.read_text(encoding="utf-8")
    return [line for both in results for lines in both if not is_in_page(lines, text) for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--all", action="store_true", help="also the large libraries")
    parser.add_argument("--output", type=pathlib.Path, help="write the page")
    options = parser.parse_args()
    chosen = [library for library in LIBRARIES if options.all or not library.is_long]
    for library in chosen:
        os.environ.update(library.environment)
    os.environ.setdefault("BI_CUDA_LIBRARY", "no-cuda-driver-in-this-test")
    results = [tables_of(library) for library in chosen]
    if options.output:
        options.output.write_text(page(results), encoding="utf-8")
        return 0
    missing = check(results)
    for line in missing:
        print(f"{PAGE.relative_to(ROOT)} does not have this line: {line}")
    print(f"{sum(len(lines) for both in results for lines in both)} ways were run, with {len(chosen)} libraries")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
