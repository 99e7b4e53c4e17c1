"""Builds the modules that are compiled against this Python: C loops around the exchange, and a nanobind module.

Everything goes into build/bench and is built again when a source is newer. A module that cannot be built is
Unavailable, with the reason, and its rows are listed as not run; bench/run --quick fails.
"""

import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

from native import Missing, Unavailable

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOLDER = ROOT / "build" / "bench"


def compile_shared(target, sources, command):
    headers = list((ROOT / "include").rglob("*.h"))
    newest = max(path.stat().st_mtime for path in [*sources, *headers])
    if target.exists() and target.stat().st_mtime > newest:
        return target
    print(f"compiling {target.name} …", file=sys.stderr)
    FOLDER.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(f".{os.getpid()}.so")
    try:
        subprocess.run([*command, "-o", part], check=True, capture_output=True, text=True)
    except FileNotFoundError as missing:
        raise Unavailable(f"no compiler: {missing}") from missing
    except subprocess.CalledProcessError as failed:
        raise Unavailable(f"{command[0]} failed: {failed.stderr.strip()}") from failed
    part.replace(target)
    return target


def compiler(variable, default):
    return shlex.split(os.environ.get(variable, default))


def extension(name, sources, command):
    """A Python extension, imported."""
    target = FOLDER / (name + sysconfig.get_config_var("EXT_SUFFIX"))
    flags = ["-O2", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}"]
    compile_shared(target, sources, [*command, *flags])
    spec = importlib.util.spec_from_file_location(name, target)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def loops():
    source = HERE / "loops.c"
    return extension("loops", [source], [*compiler("CC", "cc"), "-std=gnu11", f"-I{ROOT / 'include'}", str(source)])


def nanobind_peer():
    try:
        import nanobind
    except ModuleNotFoundError as missing:
        raise Missing(missing) from missing
    package = Path(nanobind.include_dir()).parent
    sources = [HERE / "nanobind_peer.cpp", Path(nanobind.source_dir()) / "nb_combined.cpp"]
    flags = ["-std=c++17", "-fvisibility=hidden", "-fno-strict-aliasing", "-DNDEBUG", f"-I{nanobind.include_dir()}",
             f"-I{package / 'ext' / 'robin_map' / 'include'}"]
    return extension("nanobind_peer", sources, [*compiler("CXX", "c++"), *flags, *map(str, sources)])
