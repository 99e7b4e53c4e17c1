"""Fixtures of all Python tests, and what is looked at after each of them.

Nothing is skipped: what a test needs and is not there is an error that says what to set or to install.

The drivers are chosen here, before anything opens one. OpenCL is PoCL's asynchronous device. CUDA is the simulated
driver that BI_TEST_CUDA_SIM names (ctest sets it; without it the one of the build folder is taken), or a real one if
BI_TEST_CUDA=real. A test that asks for `cuda` begins a run of the simulator and ends it: what was reported and what was left
behind (memory, streams, events, contexts) fails it. `cuda` needs that no view of an earlier test is still alive.
"""

import ctypes
import gc
import os
import pathlib
import sys
import traceback

import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
NO_DRIVER = "no-cuda-driver-in-this-test"
NO_SIMULATOR = (
    "The simulated CUDA driver was not found. Build it (cmake --build build/default --target cuda_sim) "
    "or set BI_TEST_CUDA_SIM to its libcuda.so.1."
)


def find_simulator():
    named = os.environ.get("BI_TEST_CUDA_SIM")
    built = ROOT / "build/default/tests/simulators/cuda_sim/libcuda.so.1"
    return named or (str(built) if built.exists() else None)


def choose_drivers():
    os.environ.setdefault("POCL_DEVICES", "pthread")
    os.environ.pop("BI_DEVICE", None)
    os.environ.pop("BI_CAI_SYNC", None)
    if os.environ.get("BI_TEST_CUDA") == "real":
        return
    os.environ["BI_CUDA_LIBRARY"] = find_simulator() or NO_DRIVER


choose_drivers()
sys.path.insert(0, str(HERE))

import cuda_sim  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "needs(what): simulator, opencl, libraries, setuptools or second device, which a real driver's machine may lack (tests/gpu)"
    )
    # An exception in a thread or in a function that C calls (ctypes) fails the test.
    for warning in ("PytestUnhandledThreadExceptionWarning", "PytestUnraisableExceptionWarning"):
        config.addinivalue_line("filterwarnings", f"error::pytest.{warning}")


def pytest_collection_modifyitems(config, items):
    """Leaves out the tests with a fixture that BI_TEST_LACKS names: the driver cannot do what the fixture stands for.

    Only tests/drivers/matrix.py sets it, if the driver fails in a program without this package.
    """
    lacks = os.environ.get("BI_TEST_LACKS")
    left_out = [item for item in items if lacks and lacks in item.fixturenames]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """The locals of a test that failed are let go, so that its views are not what the next test finds alive."""
    yield
    if call.excinfo is None:
        return
    traceback.clear_frames(call.excinfo.tb)
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            delattr(sys, name)


def collect():
    """Frees everything that nobody uses: cycles, released memories, and the contexts that the package keeps."""
    gc.collect()
    core = sys.modules.get("buffer_interface._core")
    if core is not None:
        core._close_contexts()


def freeze():
    """Existing objects are not visited again by each collect()."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish():
    freeze()


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    try:
        return (yield)
    except BaseException:
        pyfuncitem.stash[FAILED] = True
        raise


def begin_run(options):
    """A fresh run of the simulator, if it is one."""
    if os.environ.get("BI_CUDA_LIBRARY") == NO_DRIVER:
        pytest.fail(NO_SIMULATOR, pytrace=False)
    sim = cuda_sim.open_simulator()
    collect()
    if sim:
        sim.begin(**options)
    return sim


def end_run(sim, node):
    """A test that has failed says why itself."""
    if sim and sim.end() and not node.stash.get(FAILED, False):
        pytest.fail("the simulated driver reports:\n  " + "\n  ".join(sim.reports()), pytrace=False)


@pytest.fixture(autouse=True)
def no_reports(request):
    """What uses CUDA without a run of its own is watched too: nothing may be reported meanwhile."""
    has_run = {"cuda", "cuda_run"} & set(request.fixturenames)
    sim = None if has_run or os.environ.get("BI_CUDA_LIBRARY") == NO_DRIVER else cuda_sim.open_simulator()
    before = len(sim.reports()) if sim else 0
    yield
    new = sim.reports()[before:] if sim else []
    if new and not request.node.stash.get(FAILED, False):
        pytest.fail("the simulated driver reports:\n  " + "\n  ".join(new), pytrace=False)


def left_buffers():
    """cl_mem that were made and not deleted, counted by the loader layer of the tests if it is in (OPENCL_LAYERS)."""
    path = os.environ.get("BI_TEST_LAYER")
    if not path or "OPENCL_LAYERS" not in os.environ:
        return 0
    try:
        layer = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return 0  # nobody has used OpenCL
    layer.bi_layer_live_buffers.restype = ctypes.c_int64
    return layer.bi_layer_live_buffers()


def pytest_sessionfinish(session, exitstatus):
    """Nothing of OpenCL outlives the tests."""
    if exitstatus != 0:
        return
    gc.unfreeze()
    collect()
    if left_buffers():
        print(f"\n{left_buffers()} cl_mem were left behind", file=sys.stderr)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def cuda_options():
    """Options of the run that `cuda` begins (cuda_sim.Options); parametrize a test with it to change them. The schedule is
    that of the environment variable BI_TEST_SEED, else always the same."""
    return {"seed": int(os.environ.get("BI_TEST_SEED", "1"))}


@pytest.fixture
def cuda_run():
    """Runs of the simulator within one test: `with cuda_run(seed=2) as run:` gives run.cuda; afterwards run.reports."""
    if os.environ.get("BI_CUDA_LIBRARY") != NO_DRIVER and cuda_sim.open_simulator() is None:
        pytest.fail("this test needs the simulated driver, not a real one", pytrace=False)
    freeze()
    yield Run


class Run:
    def __init__(self, **options):
        self._options = options

    def __enter__(self):
        self._sim = begin_run(self._options)
        self.cuda = cuda_sim.Driver()
        return self

    def __exit__(self, kind, error, where):
        if error is not None:
            traceback.clear_frames(where.tb_next)
        collect()
        self.cuda.close()
        self._sim.end()
        self.reports = self._sim.reports()


@pytest.fixture
def cuda(request, cuda_options):
    """A cuda_sim.Driver of device 0, whose context is current."""
    sim = begin_run(cuda_options)
    driver = cuda_sim.Driver()
    try:
        yield driver
        request.node.funcargs.clear()  # pytest would keep the arrays of other fixtures until later
        collect()
        driver.close()
    finally:
        end_run(sim, request.node)


@pytest.fixture
def second(request, cuda):
    """Device 1, whose context is not current."""
    driver = cuda_sim.Driver(1, current=False)
    yield driver
    request.node.funcargs.clear()
    collect()
    driver.close()


@pytest.fixture
def pocl():
    """The device string of PoCL's asynchronous device."""
    return "opencl"


@pytest.fixture
def bi():
    """The package."""
    import buffer_interface

    return buffer_interface
