"""
Compiles the peers that are written in C and C++, once per source, compiler and interpreter.

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


def folder():
    default = Path(tempfile.gettempdir()) / f"buffer-interface-peers-{os.getuid()}"
    path = Path(os.environ.get("BI_TEST_PEERS", default))
    path.mkdir(parents=True, exist_ok=True)
    return path


def build(name, suffix, command, *versions):
    """Runs `command` + [-o, file, source] unless that was done before, and returns the file."""
    source = HERE / name
    key = repr((command, versions, sys.version)).encode() + source.read_bytes()
    path = folder() / hashlib.sha256(key).hexdigest()[:16] / (source.stem + suffix)
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
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


@functools.cache
def nanobind_peer():
    """The module of peers/nanobind_peer.cpp, made of nanobind's combined source."""
    import nanobind

    package = Path(nanobind.__file__).parent
    command = [
        os.environ.get("CXX", "c++"),
        "-std=c++17",
        "-O1",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        "-fno-strict-aliasing",
        "-DNDEBUG",
        "-DNB_COMPACT_ASSERTIONS",
        "-I" + sysconfig.get_path("include"),
        "-I" + nanobind.include_dir(),
        "-I" + str(package / "ext" / "robin_map" / "include"),
        str(package / "src" / "nb_combined.cpp"),
    ]
    path = build("nanobind_peer.cpp", sysconfig.get_config_var("EXT_SUFFIX"), command, nanobind.__version__)
    specification = importlib.util.spec_from_file_location("nanobind_peer", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
