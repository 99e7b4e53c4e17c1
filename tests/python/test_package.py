"""The installed package: what it carries, and what it does not pull in."""

import ctypes
import pathlib
import re
import subprocess
import sys

import buffer_interface
from buffer_interface import _core

FOLDER = pathlib.Path(buffer_interface.__file__).parent
ROOT = pathlib.Path(__file__).parent.parent.parent


def fresh(code):
    """What a new interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout.split()


def test_import_opens_no_driver_and_no_large_module():
    code = (
        "import sys, buffer_interface\n"
        "print(*(name for name in ('numpy', 'pyopencl', 'ml_dtypes', 'pickle') if name in sys.modules))\n"
        "print(*(line.split()[-1] for line in open('/proc/self/maps') if 'OpenCL' in line or 'libcuda' in line))"
    )
    assert fresh(code) == []


def test_host_arrays_open_no_driver():
    code = (
        "import buffer_interface\n"
        "view = buffer_interface.buffer_interface(bytearray(8))\n"
        "assert view.shape == (8,) and memoryview(view).nbytes == 8\n"
        "print(*(line.split()[-1] for line in open('/proc/self/maps') if 'OpenCL' in line or 'libcuda' in line))"
    )
    assert fresh(code) == []


def test_library_inside_cannot_be_picked_up():
    module = ctypes.CDLL(_core.__file__)
    assert hasattr(module, "PyInit__core")
    assert not any(hasattr(module, name) for name in ("bi_version", "bi_copy", "bi_view_release"))


def test_version_is_that_of_the_library():
    header = (ROOT / "include/buffer_interface.h").read_text(encoding="utf-8")
    assert buffer_interface.__version__ == re.search(r'BI_VERSION_STRING "([^"]+)"', header)[1]


def test_a_source_distribution_without_the_library_is_refused(tmp_path):
    command = ["cmake", "-DSKBUILD_STATE=sdist", "-S", ROOT / "python", "-B", tmp_path]
    said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode and "scripts/build-wheels" in said.stderr


def test_headers_and_types_are_there():
    include = pathlib.Path(buffer_interface.get_include())
    there = {path.relative_to(include).as_posix() for path in include.rglob("*.h")}
    wanted = {path.relative_to(ROOT / "include").as_posix() for path in (ROOT / "include").rglob("*.h")}
    assert there == wanted
    assert (FOLDER / "py.typed").exists() and (FOLDER / "__init__.pyi").exists()


def test_headers_are_found_from_an_editable_installation():
    code = (
        "import importlib.util, sys\n"
        f"folders = [{str(ROOT / 'python/buffer_interface')!r}, {str(FOLDER)!r}]\n"
        "spec = importlib.util.spec_from_file_location('buffer_interface', folders[0] + '/__init__.py',\n"
        "                                              submodule_search_locations=folders)\n"
        "module = sys.modules['buffer_interface'] = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "print(module.__file__, module.get_include(), sep='\\n')"
    )
    assert fresh(code) == [str(ROOT / "python/buffer_interface/__init__.py"), str(FOLDER / "include")]


def test_a_load_that_failed_is_repeated():
    """Each allocation of the load fails once (from Python 3.13 on, the first 100). The last load succeeds, once."""
    fresh("""if True:
        import _imp, importlib.machinery, sys
        import _testcapi

        package = importlib.machinery.PathFinder.find_spec("buffer_interface")
        spec = importlib.machinery.PathFinder.find_spec("buffer_interface._core", package.submodule_search_locations)
        # An allocation that fails in PyType_Ready of Python 3.13 leaves a dictionary that crashes later.
        most = 100 if sys.version_info >= (3, 13) else 10**6
        for failing in range(most + 1):
            module = _imp.create_dynamic(spec)
            if failing < most:
                _testcapi.set_nomemory(failing, failing + 1)
            try:
                _imp.exec_dynamic(module)
                break
            except MemoryError:
                pass
            finally:
                _testcapi.remove_mem_hooks()
        assert failing > 50, failing
        try:
            _imp.exec_dynamic(_imp.create_dynamic(spec))
        except ImportError as error:
            assert "only once" in str(error)
        else:
            raise AssertionError("a second module")
        sys.modules["buffer_interface._core"] = module
        import buffer_interface as bi
        assert bi.full(2, 3).tolist() == [3, 3] and bi.devices()
        """)
