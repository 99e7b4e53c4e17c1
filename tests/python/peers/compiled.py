"""
Compiles the peers that are written in C and C++, once per source, headers, compiler and interpreter.

BI_TEST_PEERS names the folder that keeps them; without it a folder below the system's for temporary files does.
"""

import ctypes
import functools
import hashlib
import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
INCLUDE = Path(__file__).absolute().parents[3] / "include"
EXTENSION = sysconfig.get_config_var("EXT_SUFFIX")


def folder():
    default = Path(tempfile.gettempdir()) / f"buffer-interface-peers-{os.getuid()}"
    path = Path(os.environ.get("BI_TEST_PEERS", default))
    path.mkdir(parents=True, exist_ok=True)
    return path


def build(name, suffix, command, *versions):
    """Runs `command` + [-o, file, source] unless that was done before, and returns the file. `name` is a file of this folder, or a path."""
    source = HERE / name
    headers = [path.read_bytes() for path in sorted(INCLUDE.rglob("*.h"))]
    key = repr((command, versions, sys.version)).encode() + source.read_bytes() + b"".join(headers)
    path = folder() / hashlib.sha256(key).hexdigest()[:16] / (source.stem + suffix)
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        unfinished = path.with_name(f"{os.getpid()}{suffix}")
        done = subprocess.run([*command, "-o", str(unfinished), str(source)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{source.name} does not compile:\n{done.stderr}")
        unfinished.rename(path)
    return path


@functools.cache
def foreign():
    """peers/foreign.c through ctypes; calls let go of the GIL."""
    compiler = os.environ.get("CC", "cc")
    path = build(
        "foreign.c", ".so", [compiler, "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O1", "-shared", "-fPIC", "-pthread"]
    )
    library = ctypes.CDLL(str(path))
    library.peer_call.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.peer_call_later.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    return library


def load(path):
    """Imports an extension module from a file, which is named <module><suffix>."""
    specification = importlib.util.spec_from_file_location(path.name.split(".")[0], path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def extension_command(language, *options):
    """The command that makes an extension module of a source file."""
    names = {"c": ("CC", "cc"), "c++": ("CXX", "c++")}
    shared = ["-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing", "-DNDEBUG"]
    return [os.environ.get(*names[language]), *shared, "-I" + sysconfig.get_path("include"), *options]


@functools.cache
def acquire():
    """The address of peer_acquire of peers/acquire.c."""
    path = build("acquire.c", ".so", extension_command("c", "-std=c11", "-fvisibility=default"))
    return ctypes.cast(ctypes.PyDLL(str(path)).peer_acquire, ctypes.c_void_p).value


@functools.cache
def adopt_acquire():
    """The address of adopt_acquire of examples/adopt/acquire.c, whose folder can be imported from then on."""
    source = INCLUDE.parent / "examples/adopt/acquire.c"
    sys.path.insert(0, str(source.parent))
    command = extension_command("c", "-std=c11", "-fvisibility=default", f"-I{INCLUDE}")
    return ctypes.cast(ctypes.PyDLL(str(build(source, ".so", command))).adopt_acquire, ctypes.c_void_p).value


@functools.cache
def nanobind_peer():
    """The module of peers/nanobind_peer.cpp, made of nanobind's combined source."""
    import nanobind

    package = Path(nanobind.__file__).parent
    command = extension_command(
        "c++",
        "-std=c++17",
        "-DNB_COMPACT_ASSERTIONS",
        "-I" + nanobind.include_dir(),
        "-I" + str(package / "ext" / "robin_map" / "include"),
        str(package / "src" / "nb_combined.cpp"),
    )
    return load(build("nanobind_peer.cpp", EXTENSION, command, nanobind.__version__))


@functools.cache
def pybind11_peer():
    import pybind11

    command = extension_command("c++", "-std=c++17", "-I" + pybind11.get_include())
    return load(build("pybind11_peer.cpp", EXTENSION, command, pybind11.__version__))


@functools.cache
def cython_peer():
    import Cython

    source = build("cython_peer.pyx", ".c", [sys.executable, "-m", "cython"], Cython.__version__)
    return load(build(source, EXTENSION, extension_command("c"), Cython.__version__))
