"""
The end of a process, and children of it: whatever is alive, taken or pending, the exit code is 0 and nothing crashes.
Each script runs in an interpreter of its own. What the simulated CUDA driver finds wrong by then is exit code 97.
"""

import os

import pytest

from peers import child, compiled

IMPORTS = """
import gc, os, sys, threading
import numpy as np
import buffer_interface as bi
from buffer_interface import buffer_interface, empty
"""

DEVICES = {"host": "host", "opencl": "opencl", "cuda": "cuda"}
devices = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture(scope="module", autouse=True)
def compiled_before():
    """Not by each child."""
    compiled.foreign()


def run(script, device="host", **options):
    simulator = os.environ.get("BI_CUDA_LIBRARY") if device == "cuda" else None
    return child.run(IMPORTS + f"device = {device!r}\n" + script, cuda_sim=simulator, **options)


ENDS = {
    "live views": "a = empty((4, 4), 'f4', device=device); b = a[1:]; c = a.T",
    "views in a cycle": "a = empty(4, 'f4', device=device); l = [a]; l.append(l); del a, l; gc.disable()",
    "untaken capsules": "c = empty(4, 'f4', device=device).__dlpack__(max_version=(1, 3))",
    "taken capsules": """
from peers import dlpack
block = dlpack.take(empty(4, 'f4', device=device).__dlpack__(max_version=(1, 3)))
""",
    "pending work": """
a = empty(1 << 20, 'f4', device=device)
a.fill(1)
b = a.copy()
""",
    "pending copies from the host": """
a = empty(1 << 20, 'f4', device=device)
a[...] = np.zeros(1 << 20, 'f4')
""",
    "an open map": "a = empty(4, 'f4', device=device); m = a.map('rw'); n = np.asarray(m.__enter__())",
    "imports of an object with __del__": """
class Producer:
    array = np.zeros(4)
    __array_interface__ = array.__array_interface__
    def __del__(self):
        buffer_interface(np.zeros(3)).release()
view = buffer_interface(Producer())
""",
    # The driver is opened before: PoCL cannot be loaded while the process ends.
    "a thread that works": """
empty(4, 'f4', device=device).release()
def work():
    while True:
        buffer_interface(empty(4, 'f4', device=device))[1:].release()
threading.Thread(target=work, daemon=True).start()
import time; time.sleep(0.05)
""",
    "views in the modules that go last": "import builtins; builtins.view = sys.view = empty(4, 'f4', device=device)",
    "atexit functions that use arrays": """
import atexit
a = empty(4, 'f4', device=device)
atexit.register(lambda: (a.fill(2), a.to('host').release()))
atexit.register(lambda: a[1:].release())
""",
    "an exception": """
a = empty(4, 'f4', device=device)
def hook(*rest): pass
sys.excepthook = hook
threading.excepthook = hook
t = threading.Thread(target=lambda: a[9]); t.start(); t.join()
""",
}


# Nobody lets go of what these hold: a consumer that never calls the deleter, a thread that is stopped in the middle.
LEAVES = {"taken capsules", "a thread that works"}


@devices
@pytest.mark.parametrize("end", ENDS)
def test_the_end_with(end, device):
    run(ENDS[end], device, leaves=end in LEAVES)


def test_os_exit_and_sys_exit():
    run("a = empty(4, 'f4', device='opencl'); a.fill(1); os._exit(0)")
    run("a = empty(4, 'f4', device='opencl'); a.fill(1); sys.exit(0)")


# PoCL crashes, without this library as well, if the process ends while it compiles a kernel: they are compiled before.
PYOPENCL = """
import pyopencl, pyopencl.array, warnings
warnings.filterwarnings('ignore', category=pyopencl.CompilerWarning)
context = pyopencl.create_some_context(interactive=False)
queue = pyopencl.CommandQueue(context)
array = pyopencl.array.zeros(queue, 64, 'f4')
view = buffer_interface(array)[1:]
bi.pyopencl_array(view, queue).fill(2)
queue.finish()
"""


@pytest.mark.parametrize(
    "end",
    [
        "",
        "del array, queue",
        "view.fill(3)",
        "bi.pyopencl_array(view, queue).fill(3)",
        "back = bi.pyopencl_array(view, queue); del array, queue, view",
        "gate = pyopencl.UserEvent(queue.context)\n"
        "pyopencl.enqueue_barrier(queue, wait_for=[gate])\n"
        "view.fill(3)\nview.release()\ngate.set_status(0)",
    ],
)
def test_the_end_with_arrays_of_pyopencl(end):
    run(PYOPENCL + end)


def test_D14_a_deleter_that_is_called_after_the_interpreter():
    """atexit of C runs when Python is gone: the memory leaks, and nothing crashes."""
    run("""
import ctypes
from peers import compiled, dlpack
blocks = [dlpack.take(buffer_interface(np.zeros(4)).__dlpack__(max_version=(1, 3))) for _ in range(3)]
block = blocks[0]
compiled.foreign().peer_at_exit(ctypes.c_void_p(block.deleter), ctypes.c_void_p(dlpack.address(block)))
""")


@pytest.mark.parametrize("milliseconds", [0, 1, 5, 20, 60])
def test_D14_a_deleter_on_a_foreign_thread_while_python_ends(milliseconds):
    run(f"""
from peers import compiled, dlpack
keep = [dlpack.take(buffer_interface(np.zeros(4)).__dlpack__(max_version=(1, 3)))]
compiled.foreign().peer_call_later(keep[0].deleter, dlpack.address(keep[0]), {milliseconds})
import atexit, time
atexit.register(time.sleep, {milliseconds} / 1000)
""")


@devices
def test_import_without_use(device):
    out = run("print([name for name in ('libcuda', 'libOpenCL') if name in open('/proc/self/maps').read()])", device)
    assert out.strip() == "[]", "importing opens no driver"


# Children by fork

FORK = """
def in_child(function):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            function()
            code = 0
        except BaseException as error:
            import traceback; traceback.print_exc()
            code = 1
        if code or not ends:
            os._exit(code)
        sys.exit(0)
    status = os.waitpid(pid, 0)[1]
    assert os.waitstatus_to_exitcode(status) == 0, status
"""


@pytest.mark.parametrize("ends", [False, True], ids=["_exit", "exit"])
def test_a_forked_child_uses_host_arrays(ends):
    run(f"ends = {ends}\n" + FORK + """
a = buffer_interface(np.arange(6))
def child():
    b = buffer_interface(a)[1:]
    assert np.asarray(b.copy()).tolist() == [1, 2, 3, 4, 5]
    a[0] = 9
    assert a.item(0) == 9
    a.release(); b.release()
in_child(child)
assert a.item(0) == 0
""")


@pytest.mark.parametrize("ends", [False, True], ids=["_exit", "exit"])
@pytest.mark.parametrize("device", ["opencl", "cuda"])
def test_a_forked_child_is_told_that_devices_are_not_there(device, ends):
    run(
        f"ends = {ends}\n" + FORK + """
a = empty(6, 'f4', device=device)
a.fill(1)
b = a[2:]
h = buffer_interface(np.zeros(3))
def child():
    for use in (lambda: a.fill(2), lambda: a.to('host'), lambda: a.synchronize(), lambda: a.copy(),
                lambda: a.map('r').__enter__(), lambda: empty(3, 'f4', device=device)):
        try:
            use()
        except bi.DriverError as error:
            assert 'without fork' in str(error), error
        else:
            raise AssertionError('a device call in a forked child')
    assert a.shape == (6,) and b[1:].shape == (3,)
    b.release()
    h.copy().release()
in_child(child)
assert a.to('host').item(3) == 1
""",
        device,
    )


def test_a_forked_child_releases_what_came_from_pyopencl():
    run("ends = False\n" + FORK + PYOPENCL + """
view.fill(1)
def child():
    view.release()
in_child(child)
assert array.get()[1] == 1
""")


def test_multiprocessing_with_fork():
    run("""
import multiprocessing
def work(n):
    return int(np.asarray(buffer_interface(np.arange(n))).sum())
a = empty(4, 'f4', device='opencl')
with multiprocessing.get_context('fork').Pool(2) as pool:
    assert pool.map(work, [3, 4, 5]) == [3, 6, 10]
""")


def test_subinterpreters_are_refused():
    out = run("""
try:
    import _interpreters as interpreters
    run_in = interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    run_in = interpreters.run_string
one = interpreters.create()
run_in(one, f'''
import sys
sys.path[:] = {sys.path!r}
try:
    import buffer_interface
except ImportError as error:
    print(error, flush=True)
''')
interpreters.destroy(one)
assert buffer_interface(np.zeros(3)).shape == (3,)
""")
    assert "subinterpreter" in out.replace("-", "")


def test_the_module_is_loaded_once():
    run("""
del sys.modules['buffer_interface'], sys.modules['buffer_interface._core']
try:
    import buffer_interface
except ImportError as error:
    assert 'once in a process' in str(error)
else:
    raise AssertionError
""")
