"""The command `bi` from outside: its output against NumPy's own, its errors, its exit codes.

    test_bi.py COMMAND DEVICE...

COMMAND is the path of the command. BI_TEST_SEED makes the random cases those of an earlier run.
BI_TEST_EFFORT is the percentage of the random cases, and of the lengths of files and headers, that are run.
"""

import ctypes
import io
import json
import os
import pty
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

import numpy as np

COMMAND, *DEVICES = sys.argv[1:] if len(sys.argv) > 2 else ("bi", "host")
SEED = int(os.environ.get("BI_TEST_SEED") or time.time())
EFFORT = int(os.environ.get("BI_TEST_EFFORT", 100))

OK, FAILURE, USAGE, DIFFERS, INPUT = range(5)

DTYPES = [
    "|b1", "|i1", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "|u1", "<u2", ">u2", "<u4", ">u4", "<u8", ">u8",
    "<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<c8", ">c8", "<c16", ">c16",
    "|S1", "|S3", "|S16", "<U1", ">U1", "<U5", ">U5", "|V2", "|V3", "|V12",
    [("x", "<f4"), ("n", "|i1")],
    [("x", ">f8"), ("inner", [("a", "<i2"), ("b", "|S3")], (2,)), ("u", "<U2")],
    [(("a title", "name"), "<i4"), ("it's", "|u1"), ("é", "<f4", (2, 3))],
    [("λ", "<i2"), ("b", "|b1")],
    [("a\xa0b", "<i2"), ("\u200b\x1b", [("\U000e0001'", "|i1")]), ("é\x7f", "<f4")],
    {"names": ["a", "b"], "formats": ["<i2", "<f8"], "offsets": [2, 8], "itemsize": 24},
]


def some(values):
    """Every n-th value, from a random one on; BI_TEST_EFFORT says how many."""
    values = list(values)
    step = min(max(1, 100 // EFFORT), len(values))
    return values[random.Random(SEED).randrange(step)::step]


def saved(array, version=None):
    """The bytes that NumPy writes for an array."""
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if version:
            np.lib.format.write_array(out, array, version=version)
        else:
            np.save(out, array)
    return out.getvalue()


def filled(rng, dtype, shape):
    """An array whose bytes are random (bool: 0 and 1; text: ASCII)."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    if dtype.kind == "U":
        array = np.array(["".join(rng.choices("abcxyz", k=dtype.itemsize // 4)) for _ in range(count)], dtype=dtype)
        return array.reshape(shape)
    raw = bytes(rng.choices(range(2 if dtype.kind == "b" else 256), k=count * dtype.itemsize))
    return np.frombuffer(raw, dtype=dtype, count=count).reshape(shape).copy()


def random_slice(rng, shape):
    """Text for --slice, or None."""
    items = []
    for extent in shape:
        kind = rng.random()
        if kind < 0.15 and extent:
            items.append(str(rng.randrange(-extent, extent)))
            continue
        part = [rng.choice(["", str(rng.randint(-extent - 2, extent + 2))]) for _ in range(2)]
        text = ":".join(part)
        if rng.random() < 0.7:
            text += ":" + rng.choice(["", "1", "2", "-1", "-3", str(rng.choice([-9223372036854775807, 1 << 62]))])
        items.append(text)
    if rng.random() < 0.3:
        items.insert(rng.randint(0, len(items)), rng.choice(["None", "newaxis"]))
    keep = rng.randint(0, len(items))
    if rng.random() < 0.5:
        items[keep:rng.randint(keep, len(items))] = ["..."]
    else:
        items = items[:keep]
    return rng.choice([",", ", ", " , "]).join(items) if items else None


def expected_view(array, index, axes):
    """NumPy's view, as an array also where one element is left, with the padding of structured types."""
    dtype = array.dtype
    if dtype.names:
        array = array.view("V%d" % dtype.itemsize)
    if index is not None:
        array = eval("array[%s%s]" % (index, "" if "..." in index else ", ..."), {"array": array, "newaxis": None})
    if axes is not None:
        array = array.transpose(axes)
    return array.copy("C").view(dtype) if dtype.names else array


def obey_permissions():
    """The program that root starts next has no right to pass over the permissions of files."""
    for capability in (1, 2) if os.geteuid() == 0 else ():  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        if ctypes.CDLL(None).prctl(24, capability, 0, 0, 0):  # PR_CAPBSET_DROP
            raise PermissionError("root without CAP_SETPCAP")


class BiTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def bi(self, *words, env=None, **more):
        environment = {key: value for key, value in os.environ.items() if key not in ("BI_DEVICE", "COLUMNS")}
        environment.update(env or {})
        return subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                              env=environment, **more)

    def succeed(self, *words, **more):
        done = self.bi(*words, **more)
        self.assertEqual(done.returncode, OK, (words, done.stderr.decode()))
        return done

    def refuse(self, code, reason, *words, leaves=(), **more):
        """The command fails with this exit code and reason, and leaves nothing but `leaves` and what was there."""
        before = set(os.listdir(self.folder.name))
        done = self.bi(*words, **more)
        text = done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, code, (words, text))
        self.assertNotRegex(text, r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        self.assertRegex(text, re.compile("^bi: ", re.M))
        self.assertRegex(text, reason)
        self.assertEqual(set(os.listdir(self.folder.name)) - before, set(leaves))
        return text


class CopyTest(BiTest):
    def check(self, device, array, index=None, axes=None, version=None, data=None):
        self.write("in.npy", data if data is not None else saved(array, version))
        words = ["copy", self.path("in.npy"), self.path("out.npy"), "--device", device, "--verify"]
        words += ["--slice=" + index] if index is not None else []
        words += ["--transpose=" + (",".join(map(str, axes)) or "()")] if axes is not None else []
        with self.subTest(device=device, dtype=array.dtype, shape=array.shape, index=index, axes=axes):
            self.succeed(*words)
            view = expected_view(array, index, axes)
            self.assertEqual(self.read("out.npy"), saved(view if view.flags.c_contiguous else view.copy("C")))

    def test_every_dtype(self):
        rng = random.Random(1)
        for device in DEVICES:
            for dtype in some(DTYPES):
                self.check(device, filled(rng, dtype, (3, 4)), "::2, ::-1", (1, 0))

    def test_random_views(self):
        print("seed: %d" % SEED, file=sys.stderr)
        rng = random.Random(SEED)
        for device in DEVICES:
            for _ in some(range(60)):
                shape = tuple(rng.choice([0, 1, 2, 3, 4, 5, 7]) if rng.random() < 0.2 else rng.randint(1, 6)
                              for _ in range(rng.randint(0, 5)))
                array = filled(rng, rng.choice(DTYPES), shape)
                if rng.random() < 0.4:
                    array = array.copy("F")
                index = random_slice(rng, shape)
                ndim = expected_view(array, index, None).ndim
                axes = None
                if rng.random() < 0.6:
                    axes = [axis - ndim * (rng.random() < 0.3) for axis in rng.sample(range(ndim), ndim)]
                self.check(device, array, index, axes)

    def test_transpose_without_axes(self):
        self.check("host", np.array(5), None, ())

    def test_shapes_and_orders(self):
        for device in DEVICES:
            for shape in [(), (1,), (0,), (3, 0, 2), (1, 1, 1), (2, 3, 4, 5), (1,) * 32]:
                for order in "CF":
                    self.check(device, np.arange(np.prod(shape, dtype=int), dtype="<i4").reshape(shape).copy(order))

    def test_versions(self):
        array = np.arange(12, dtype="<i2").reshape(3, 4)
        for device in DEVICES:
            for version in [(1, 0), (2, 0), (3, 0)]:
                self.check(device, array, "1:", None, version)

    def test_long_header(self):
        dtype = [("a field with a rather long name %06d" % i, "|i1") for i in range(1500)]
        for device in DEVICES:
            self.check(device, np.zeros(2, dtype), data=saved(np.zeros(2, dtype)))
            self.assertEqual(self.read("out.npy")[6], 2)

    def test_header_of_every_length(self):
        """The padding, and the room that NumPy leaves for the first extent."""
        for length in some(range(1, 66)):
            self.check("host", np.zeros((3, 2), [("x" * length, "|i1")]))

    def test_unaligned_header(self):
        """Files of old versions of NumPy, and headers written by hand."""
        array = np.arange(6, dtype="<f8").reshape(2, 3)
        for text in [
            '{"shape": (2, 3), "descr": "<f8", "fortran_order": False}',
            "{'descr':'<f8','fortran_order':False,'shape':(2,3,),}\n",
            " { 'fortran_order' : False ,\n'shape' : ( 2 , 3 ) , 'descr' : 'f8' } ",
        ]:
            data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + array.tobytes()
            for device in DEVICES:
                self.check(device, array, data=data)

    def test_large_in_slabs(self):
        numbers = (np.arange(70 << 20, dtype=np.uint32) * np.uint32(2654435761) >> 24).astype(np.uint8)
        for shape in some([(70, 1 << 20), (1, 70 << 20), (70 << 20,)]):
            self.check(DEVICES[0], numbers.reshape(shape), "..., ::-1")
        for device in DEVICES[1:]:
            self.check(device, numbers.reshape(70, 1 << 20), "..., ::-1")

    def test_in_place(self):
        array = np.arange(6).reshape(2, 3)
        path = self.write("a.npy", saved(array))
        self.succeed("copy", path, path, "--transpose", "1,0", "--device", "host")
        self.assertEqual(self.read("a.npy"), saved(array.T.copy()))
        self.assertEqual(os.listdir(self.folder.name), ["a.npy"])

    def test_symbolic_link_stays(self):
        self.write("real.npy", b"old")
        os.symlink("real.npy", self.path("link.npy"))
        self.succeed("copy", self.write("in.npy", saved(np.arange(3))), self.path("link.npy"), "--device", "host")
        self.assertTrue(os.path.islink(self.path("link.npy")))
        self.assertEqual(self.read("real.npy"), saved(np.arange(3)))

    def test_dangling_link_is_refused(self):
        path = self.write("in.npy", saved(np.arange(3)))
        for target in ["nowhere.npy", "loop.npy"]:
            os.symlink(target, self.path("loop.npy"))
            self.refuse(FAILURE, "cannot follow the symbolic link: (No such|Too many)", "copy", path,
                        self.path("loop.npy"), "--device", "host")
            self.assertEqual(os.readlink(self.path("loop.npy")), target)
            os.remove(self.path("loop.npy"))

    def test_permissions(self):
        old = os.umask(0o027)
        self.addCleanup(os.umask, old)
        self.succeed("copy", self.write("in.npy", saved(np.arange(3))), self.path("out.npy"), "--device", "host")
        self.assertEqual(os.stat(self.path("out.npy")).st_mode & 0o777, 0o640)
        for mode in [0o600, 0o666] + [0o444] * (os.geteuid() == 0):
            os.chmod(self.path("out.npy"), mode)
            self.succeed("copy", self.path("in.npy"), self.path("out.npy"), "--device", "host")
            self.assertEqual(os.stat(self.path("out.npy")).st_mode & 0o777, mode)

    def test_owner_and_group(self):
        inner = self.path("in.npy")
        self.write("in.npy", saved(np.arange(3)))
        if os.geteuid() == 0:
            os.chown(inner, 4321, 4322)
        before = os.stat(inner)
        self.succeed("copy", inner, inner, "--device", "host")
        after = os.stat(inner)
        self.assertNotEqual(after.st_ino, before.st_ino)
        self.assertEqual((after.st_uid, after.st_gid), (before.st_uid, before.st_gid))

    def test_null_device(self):
        inner = self.write("in.npy", saved(np.arange(3)))
        with open(os.devnull, "wb") as null:
            done = subprocess.run([COMMAND, "copy", inner, os.devnull, "--device", "host", "--profile", os.devnull, "--json"],
                                  stdout=null, stderr=subprocess.PIPE, check=True)
        self.assertEqual(done.stderr, b"")

    def test_no_path(self):
        inner = self.write("in.npy", saved(np.arange(3)))
        self.refuse(FAILURE, "cannot write: No such file", "copy", inner, "", "--device", "host")

    def test_standard_streams(self):
        data = saved(np.arange(5))
        done = self.succeed("copy", "/dev/stdin", "/dev/stdout", "--device", "host", input=data)
        self.assertEqual(done.stdout, data)
        self.assertIn(b"/dev/stdout", done.stderr)
        done = self.succeed("copy", "-", "-", "--device", "host", "--slice", "::2", input=data, cwd=self.folder.name)
        self.assertEqual(done.stdout, saved(np.arange(5)[::2]))
        self.assertEqual(os.listdir(self.folder.name), [])
        done = self.succeed("copy", "-", "-", "--device", "host", "--json", input=data)
        self.assertEqual(done.stdout, data)
        self.assertEqual(json.loads(done.stderr)["output"], "-")
        with open(self.path("out.npy"), "wb") as out:
            done = subprocess.run([COMMAND, "copy", self.write("in.npy", data), "/dev/stdout"], stdout=out,
                                  stderr=subprocess.PIPE, check=True)
        self.assertEqual(self.read("out.npy"), data)

    def test_arrays_one_after_the_other(self):
        with open(self.write("in.npy", saved(np.arange(2)) + saved(np.arange(3))), "rb") as file:
            self.succeed("copy", "-", self.path("out.npy"), "--device", "host", stdin=file)
            done = self.succeed("copy", "-", self.path("out.npy"), "--device", "host", stdin=file)
            self.assertEqual(done.stderr, b"")
            self.assertEqual(self.read("out.npy"), saved(np.arange(3)))
            self.refuse(INPUT, "truncated: the file ends after 0 bytes", "copy", "-", self.path("out.npy"), stdin=file)

    def test_trailing_bytes_are_a_warning(self):
        path = self.write("in.npy", saved(np.arange(5)) + b"more")
        done = self.succeed("copy", path, self.path("out.npy"), "--device", "host")
        self.assertRegex(done.stderr.decode(), "bi: warning: .*bytes after the elements are ignored: 4")
        self.assertEqual(self.read("out.npy"), saved(np.arange(5)))

    def test_json(self):
        path = self.write("in \"quoted\" \xe9.npy", saved(np.arange(12, dtype="<i2").reshape(3, 4)))
        for device in DEVICES:
            done = self.succeed("copy", path, self.path("out.npy"), "--device", device, "--slice", "1:", "--json",
                                "--verify")
            report = json.loads(done.stdout)
            self.assertEqual(report["input"], path)
            self.assertEqual((report["dtype"], report["shape"], report["bytes"]), ("<i2", [2, 4], 16))
            self.assertEqual((report["input_shape"], report["input_bytes"]), ([3, 4], 24))
            self.assertTrue(report["device"].startswith(device.split(":")[0]))
            self.assertIs(report["verified"], True)
            self.assertEqual(set(report["milliseconds"]), {"upload", "copy", "download"})
        done = self.succeed("copy", path, self.path("out.npy"), "--device", "host", "--json")
        self.assertIsNone(json.loads(done.stdout)["verified"])

    def test_summary(self):
        """Both sides have a type, a shape and a size, and a long type does not break the line."""
        path = self.write("in.npy", saved(np.zeros((3, 4), "<i2")))
        done = self.succeed("copy", "in.npy", "out.npy", "--device", "host", "--slice", "0", cwd=self.folder.name)
        lines = done.stdout.decode().splitlines()
        self.assertEqual(lines[:2], ["in.npy  <i2 (3, 4), 24 bytes", "  -> out.npy  <i2 (4,), 8 bytes"])
        self.write("in.npy", saved(np.zeros(1, [("x", "<f4"), ("y", "|i1")])))
        done = self.succeed("copy", path, self.path("out.npy"), "--device", "host", env={"COLUMNS": "200"})
        self.assertEqual(done.stdout.decode().count("[('x', '<f4'), ('y', '|i1')] (1,), 5 bytes\n"), 2)
        self.write("in.npy", saved(np.zeros(1, [("\xe9" * 300, "|i1")])))
        done = self.succeed("copy", "in.npy", "out.npy", "--device", "host", cwd=self.folder.name)
        for line in done.stdout.decode().splitlines()[:2]:
            self.assertEqual(len(line), 80)
            self.assertRegex(line, r"\[\('\xe9+… \(1,\), 1 byte$")

    def test_profile(self):
        path = self.write("in.npy", saved(np.arange(12)))
        for device in DEVICES:
            self.succeed("copy", path, self.path("out.npy"), "--device", device, "--profile", self.path("p.json"))
            copies = [op for op in json.loads(self.read("p.json"))["operations"] if op["operation"] == "copy"]
            self.assertGreaterEqual(len(copies), 3)
        done = self.succeed("copy", path, self.path("out.npy"), "--device", "host", "--profile", "-")
        json.loads(done.stdout)
        os.symlink(path, self.path("link.npy"))
        self.refuse(USAGE, "--profile cannot be .*in.npy, which is read", "copy", path, self.path("new.npy"), "--profile",
                    self.path("link.npy"))
        self.assertEqual(self.read("in.npy"), saved(np.arange(12)))

    def test_device_of_the_environment(self):
        path = self.write("in.npy", saved(np.arange(12)))
        done = self.succeed("copy", path, self.path("out.npy"), "--json", env={"BI_DEVICE": "host"})
        self.assertEqual(json.loads(done.stdout)["device"], "host")
        self.refuse(FAILURE, "no-such.*; see 'bi devices'$", "copy", path, self.path("new.npy"),
                    env={"BI_DEVICE": "no-such"})
        self.succeed("copy", path, self.path("out.npy"), env={"BI_DEVICE": ""})

    def test_devices_that_were_passed_over(self):
        path = self.write("in.npy", saved(np.arange(12)))
        env = {"BI_CUDA_LIBRARY": "/nowhere.so", "BI_OPENCL_LIBRARY": "/nowhere.so"}
        done = self.succeed("copy", path, self.path("out.npy"), "--device", "auto", env=env)
        self.assertEqual(done.stderr, b"")

    def copy_on_a_terminal(self, array, columns=80):
        """What a copy writes to stderr when that is a terminal of this width."""
        path = self.write("in.npy", saved(array))
        master, slave = pty.openpty()
        process = subprocess.Popen([COMMAND, "copy", path, self.path("out.npy"), "--device", "host"],
                                   stdout=subprocess.DEVNULL, stderr=slave, env={**os.environ, "COLUMNS": str(columns)})
        os.close(slave)
        seen = b""
        more = b"something"
        while more:
            seen += more
            try:
                more = os.read(master, 65536)
            except OSError:
                break
        os.close(master)
        self.assertEqual(process.wait(), OK)
        return seen[len(b"something"):]

    def test_progress(self):
        large = np.zeros(40 << 20, np.uint8)
        seen = self.copy_on_a_terminal(large)
        for step in ["reading", "uploading", "downloading", "writing"]:
            self.assertIn(step, seen.decode())
        self.assertTrue(seen.endswith(b"\r\x1b[K"))
        for columns, width in (20, 8), (80, 30), (200, 50):
            bars = re.findall("[█░]+", self.copy_on_a_terminal(large, columns).decode())
            self.assertEqual(set(map(len, bars)), {width})
        self.assertEqual(self.copy_on_a_terminal(np.zeros(1000)), b"")
        path = self.write("in.npy", saved(large))
        self.assertEqual(self.succeed("copy", path, self.path("out.npy"), "--device", "host").stderr, b"")


class DeviceWorkTest(BiTest):
    """What the driver was asked to do, counted by the loader layer BI_TEST_LAYER."""

    def commands(self, device, **env):
        """Names and numbers of the driver's functions that one strided, transposed copy called."""
        layer, report = os.environ["BI_TEST_LAYER"], self.path("commands")
        self.write("in.npy", saved(np.arange(48, dtype="<i4").reshape(6, 8)))
        self.succeed("copy", self.path("in.npy"), self.path("out.npy"), "--device", device, "--slice", "::2,::-1",
                     "--transpose", "1,0", "--verify",
                     env=dict(env, OPENCL_LAYERS=layer, BI_TEST_LAYER_REPORT=report, BI_INLINE_LIMIT="0"))
        lines = self.read("commands").decode().split("\n")
        return {line.split()[0]: int(line.split()[1]) for line in lines if line}

    def test_device_gathers_the_elements(self):
        for device in [spec for spec in DEVICES if spec != "host"]:
            for mask, strided in ({}, "clEnqueueNativeKernel"), ({"BI_TEST_LAYER_MASK": "gpu"}, "clEnqueueNDRangeKernel"):
                with self.subTest(device=device, mask=mask):
                    commands = self.commands(device, **mask)
                    self.assertEqual(commands.get(strided), 1)
                    self.assertEqual(commands.get("clEnqueueWriteBuffer"), 1)
                    self.assertEqual(commands.get("clEnqueueReadBuffer"), 1)


class BadInputTest(BiTest):
    def refuse_file(self, data, reason, code=INPUT):
        path = self.write("bad.npy", data)
        self.assertIn("bad.npy", self.refuse(code, reason, "copy", path, self.path("out.npy"), "--device", "host"))

    def header(self, text, version=1, data=b""):
        length = len(text).to_bytes(2 if version == 1 else 4, "little")
        return b"\x93NUMPY" + bytes([version, 0]) + length + text + data

    def test_truncated_anywhere(self):
        for data in [saved(np.arange(4, dtype="<i2")), saved(np.arange(3, dtype="|u1"), (3, 0))]:
            for length in some(range(len(data))):
                self.refuse_file(data[:length], "truncated: ")

    def test_truncated_pipe(self):
        data = saved(np.arange(400))
        for length in (0, 5, 9, 60, len(data) - 1):
            self.refuse(INPUT, "truncated: ", "copy", "/dev/stdin", self.path("out.npy"), "--device", "host",
                        input=data[:length])

    def test_header_lies(self):
        array = np.arange(10, dtype="<i4")
        self.refuse_file(saved(array).replace(b"(10,)", b"(11,)"), "44 bytes of elements, the file holds 40")
        self.refuse_file(saved(array).replace(b"'<i4'", b"'<i8'"), "80 bytes of elements, the file holds 40")
        self.refuse_file(saved(array).replace(b"(10,), }" + b" " * 14, b"(1000000000000000,), }"),
                         "truncated: the header says that there are 4000000000000000 bytes")
        self.refuse_file(b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 90, "truncated: .*4294967307 bytes")

    def test_not_numpy(self):
        for data in [b"\x93NUMPZ\x01\x00", b"hello", b"\x92", b"PK is a text"]:
            self.refuse_file(data, r"not a .npy file: it does not begin with \\x93NUMPY")
        np.savez(self.path("archive.npz"), a=np.arange(3))
        self.refuse_file(self.read("archive.npz"), "an .npz archive; extract one array")
        for version in [b"\x00\x00", b"\x04\x00", b"\x01\x01", b"\xff\xff"]:
            self.refuse_file(b"\x93NUMPY" + version + saved(np.arange(3))[8:], "version .* is not known")

    def test_bad_headers(self):
        good = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }"
        for old, new, reason in [
            (good, "[1, 2]", "not a dict"),
            (good, "", "not a dict"),
            (good, good + "x", "nothing more"),
            ("(1,)", "(1)", "lacks its comma"),
            ("(1,)", "(-1,)", "negative extent -1"),
            ("(1,)", "[1]", "shape"),
            ("(1,)", "(1, 2", "an extent is expected"),
            ("(1,)", "(1LL,)", "',' is expected"),
            ("(1,)", "(1.5,)", "',' is expected"),
            ("(1,)", "(%s)" % ("1," * 65), "more than 64 dimensions"),
            ("(1,)", "(4611686018427387904, 4)", "9223372036854775807 elements"),
            ("(1,)", "(99999999999999999999,)", "99999999999999999999 is too large; the limit is 9223372036854775807"),
            ("(1,)", "(0, 99999999999999999999)", "99999999999999999999 is too large"),
            ("False", "0", "True or False"),
            ("False", "Falsehood", "True or False"),
            ("'<i4'", "'|O'", "objects"),
            ("'<i4'", "'O'", "objects"),
            ("'<i4'", "[('a', '|O')]", "objects"),
            ("'<i4'", "'<M8[ns]'", "dates"),
            ("'<i4'", "'<i3'", "i3"),
            ("'<i4'", "'bfloat16'", "typestr|array interface"),
            ("'<i4'", "5", "type string"),
            ("'<i4'", "[('a')]", "','"),
            ("'<i4'", "[('a', '<i4', 3.5)]", r"',' or '\)' is expected at byte 15"),
            ("'<i4'", "[" + "('a', [" * 40, "nested"),
            ("'<i4'", "'<i4", "not a typestr"),
            ("'descr'", "'decsr'", "unknown key"),
            ("'descr': '<i4', ", "", "'descr' is missing"),
            ("'shape': (1,), ", "", "'shape' is missing"),
            ("'fortran_order': False, ", "", "'fortran_order' is missing"),
            ("'shape': (1,), ", "'shape': (1,), 'shape': (1,), ", "twice"),
            ("False, ", "False ", "',' or '}'"),
            ("'shape':", "'shape'", "':'"),
            ("}", "\0}", "NUL"),
        ]:
            with self.subTest(new=new):
                self.refuse_file(self.header(good.replace(old, new).encode(), data=b"\0" * 64), reason)
        self.refuse_file(self.header(good.replace("<i4", "\xff").encode("latin1"), 3, b"\0" * 8), "UTF-8")

    def test_texts_of_a_file_do_not_control_the_terminal(self):
        for name in ("\x1b[31mred", "\x9b31mred", "bell\x07", "\x7f"):
            entry = "{'descr': %s, 'fortran_order': False, 'shape': (1,), }"
            for descr in ("'%s'" % name, "[('%s', '<f3')]" % name):
                self.refuse_file(self.header((entry % descr).encode("latin1"), data=b"\0" * 8), "typestr|type")
            self.write("in.npy", self.header((entry % ("[('%s', '<i4')]" % name)).encode("latin1"), data=b"\0" * 4))
            done = self.succeed("copy", self.path("in.npy"), self.path("out.npy"), "--device", "host")
            self.assertNotRegex(done.stdout.decode(), r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")

    def test_a_path_does_not_control_the_terminal(self):
        path = self.write("\x1b[31m\x9b\n.npy", saved(np.arange(3)))
        done = self.succeed("copy", path, self.path("\x07.npy"), "--device", "host")
        self.assertNotRegex(done.stdout.decode(), r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        self.assertEqual(len(done.stdout.splitlines()), 4)

    def test_a_path_that_is_not_text_is_printed_as_text(self):
        path = os.path.join(self.folder.name.encode(), b"a\xff\xe2\x82b.npy")
        with open(path, "wb") as file:
            file.write(saved(np.arange(3)))
        done = self.succeed("copy", path, self.path("out.npy"), "--device", "host")
        self.assertIn("a???b.npy", done.stdout.decode())

    def test_missing_input(self):
        self.refuse(FAILURE, "No such file", "copy", self.path("none.npy"), self.path("out.npy"))
        self.refuse(FAILURE, "Is a directory", "copy", self.folder.name, self.path("out.npy"))


class BadUsageTest(BiTest):
    def setUp(self):
        super().setUp()
        self.input = self.write("in.npy", saved(np.arange(12).reshape(3, 4)))

    def refuse_view(self, reason, *words):
        text = self.refuse(USAGE, reason, "copy", self.input, self.path("out.npy"), "--device", "host", *words)
        self.assertTrue(text.endswith("\nTry 'bi copy --help'.\n"), text)
        return text

    def test_slices(self):
        for text, reason in [
            ("3", "3 is outside of axis 0, whose extent is 3"), ("-4", "-4 is outside"),
            ("0,0,0", "3 axes are indexed, the array has 2"), ("::0", "zero"), ("..., ...", "only one '...'"),
            ("99999999999999999999", ": 99999999999999999999 is too large; the limit is 9223372036854775807"),
            ("", "an index is expected"), (",", "expected"), ("1 2", "','"),
            ("1:2:3:4", "at most three parts"), ("a", "expected"), ("[1]", "expected"), ("True", "expected"),
            ("1.5", 'an integer is expected, not "1.5"'), ("0x2", 'not "0x2"'), ("1e3:", 'not "1e3"'),
            ("Nonesuch", "expected"), ("None," * 200, "more than"), ("None," * 63, "64|dimensions"), ("1--1", "','"),
        ]:
            with self.subTest(text=text):
                said = self.refuse_view(reason, "--slice", text)
                self.assertTrue(said.startswith('bi: --slice "%s' % text[:24]), said)
        self.succeed("copy", self.input, self.path("out.npy"), "--slice", ":99999999999999999999", "--device", "host")

    def test_numbers_beyond_64(self):
        for ones in ("1," * 64 + "1", "(%s1)" % ("1," * 64)):
            self.refuse(USAGE, "more than 64 numbers", "show", "--shape", ones)
        for ones in ("1," * 63 + "1", "(%s)" % ("1," * 64)):
            self.succeed("show", "--shape", ones)
        self.refuse(USAGE, r"'\)' is expected", "show", "--shape", "(%s1" % ("1," * 63))

    def test_transposes(self):
        for text, reason in [("0", "names 1 axis, the array has 2$"), ("0,0", "axis 0 is repeated"),
                             ("0,2", "there is no axis 2; the array has 2 axes$"), ("0,-3", "no axis -3"),
                             ("", "axes are expected"), ("0,x", "expected"), ("0,1,2", "names 3 axes"),
                             ("0 1", "expected"), ("0,999", "no axis 999"), ("0,1.5", 'not "1.5"')]:
            with self.subTest(text=text):
                said = self.refuse_view(re.compile(reason, re.M), "--transpose", text)
                self.assertTrue(said.startswith('bi: --transpose "%s": ' % text), said)
        self.refuse_view("names 2 axes, the array has 1 after --slice", "--slice", "0", "--transpose", "0,1")

    def test_options(self):
        self.refuse_view("did you mean '--slice'", "--slise", "1")
        self.refuse_view("unknown option '--slise=1'; did you mean '--slice'", "--slise=1")
        self.refuse_view("lacks its value", "--slice")
        self.refuse_view("lacks its value FILE; a value that begins with -- is given by --profile=--json", "--profile", "--json")
        self.refuse_view("unknown option '-xjson'; did you mean '--json'", "-xjson")
        self.refuse_view("takes no value", "--verify=1")
        self.refuse_view("twice", "--json", "--json")
        for path in ["-", "/dev/stdout"]:
            self.refuse_view("--json and --profile", "--json", "--profile", path)
            done = self.bi("copy", self.input, path, "--device", "host", "--profile", "-")
            self.assertEqual((done.returncode, done.stdout), (USAGE, b""))
        self.refuse_view("unexpected argument", "third.npy")
        self.refuse(USAGE, "arguments are missing", "copy", self.input)
        self.refuse(USAGE, "did you mean 'copy'", "cpoy")
        self.refuse(USAGE, "unknown command", "frobnicate")
        self.refuse(USAGE, "unknown option", "--frobnicate")
        self.assertEqual(self.bi().returncode, USAGE)

    def test_long_texts_are_cut_between_characters(self):
        for text in ["a" + 40 * "\xe9", 40 * "\xe9", "ab" + 40 * "\u20ac"]:
            self.assertNotIn("?", self.refuse_view("is expected at", "--slice", text))
            self.assertNotIn("?", self.refuse(USAGE, "goes with --plan", "show", self.input, "--device", text))
            self.assertNotIn("?", self.refuse(FAILURE, "cannot use the directory", "copy", self.input,
                                              text * 2 + "/out.npy", "--device", "host"))

    def test_double_dash(self):
        self.write("-in.npy", saved(np.arange(3)))
        self.succeed("copy", "--device", "host", "--", "-in.npy", "-out.npy", cwd=self.folder.name)
        self.assertEqual(self.read("-out.npy"), saved(np.arange(3)))

    def test_unknown_devices(self):
        for spec in ["vulkan", "opencl:99:0", "opencl:no-such-platform", "#99", "host:7"]:
            with self.subTest(spec=spec):
                self.refuse(FAILURE, re.escape(spec) + ".*; see 'bi devices'\n$", "copy",
                            self.input, self.path("out.npy"), "--device", spec)

    def test_outputs(self):
        self.refuse(FAILURE, "cannot use the directory .*none: No such file", "copy", self.input,
                    self.path("none/out.npy"))
        self.refuse(FAILURE, "cannot use the directory .*…: No such file or directory", "copy", self.input,
                    self.path("x" * 200 + "/" + "y" * 200 + "/out.npy"))
        self.refuse(FAILURE, "/proc/o.npy: cannot create a file in the directory /proc: ", "copy", self.input,
                    "/proc/o.npy")
        self.refuse(FAILURE, "x: cannot write: File name too long", "copy", self.input, self.path("x" * 300), "--device",
                    "nix")  # before the device is opened
        self.refuse(FAILURE, "Not a directory", "copy", self.input, self.input + "/o.npy")
        self.refuse(FAILURE, "Is a directory", "copy", self.input, self.folder.name)
        self.refuse(FAILURE, "No space left", "copy", self.input, "/dev/full", "--device", "host")
        self.refuse(FAILURE, "No such file", "copy", self.input, self.path("out.npy"), "--profile",
                    self.path("none/p.json"))
        self.refuse(FAILURE, "No space left", "copy", self.input, self.path("out.npy"), "--device", "host",
                    "--profile", "/dev/full")
        for words in (["devices"], ["--help"], ["show", "--shape", "4,6"], ["show", "--shape", "99,99"],
                      ["copy", self.input, self.path("out.npy"), "--device", "host"]):
            with self.subTest(words=words), open("/dev/full", "wb") as full:
                done = subprocess.run([COMMAND, *words], stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, FAILURE)
                self.assertIn(b"bi: cannot write to standard output: No space left on device\n", done.stderr)

    def test_no_damage_to_an_existing_output(self):
        self.write("out.npy", b"precious")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        self.refuse(FAILURE, "File too large", "copy", self.input, self.path("out.npy"), "--device", "host",
                    preexec_fn=limit)
        self.assertEqual(self.read("out.npy"), b"precious")

    def test_no_permission(self):
        os.mkdir(self.path("locked"), 0o500)
        self.refuse(FAILURE, "cannot create a file in the directory .*locked: Permission denied", "copy", self.input,
                    self.path("locked/out.npy"), preexec_fn=obey_permissions)
        os.chmod(self.write("protected.npy", b"precious"), 0o444)
        self.refuse(FAILURE, "Permission denied", "copy", self.input, self.path("protected.npy"), "--device", "host",
                    preexec_fn=obey_permissions)
        self.assertEqual(self.read("protected.npy"), b"precious")

    def test_signals_leave_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGQUIT, signal.SIGXCPU):
            os.mkfifo(self.path("fifo"))
            process = subprocess.Popen([COMMAND, "copy", self.path("fifo"), self.path("out.npy"), "--device", "host"],
                                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
            with open(self.path("fifo"), "wb") as fifo:
                fifo.write(saved(np.arange(1000))[:200])
                fifo.flush()
                while not [name for name in os.listdir(self.folder.name) if name.startswith(".bi-")]:
                    self.assertIsNone(process.poll())
                    time.sleep(0.01)
                process.send_signal(number)
                self.assertEqual(process.wait(60), -number)
            os.remove(self.path("fifo"))
            self.assertEqual(os.listdir(self.folder.name), ["in.npy"])

    def test_closed_standard_descriptors(self):
        """No output gets the number of a standard descriptor: the messages of the command would be written into it."""
        data = saved(np.arange(12).reshape(3, 4)) + b"more"  # the command warns of it
        path, out = self.write("in.npy", data), self.path("out.npy")
        for closed, code in [((0,), OK), ((1,), FAILURE), ((2,), OK), ((0, 2), OK), ((1, 2), FAILURE), ((0, 1, 2), FAILURE)]:
            with self.subTest(closed=closed):
                done = subprocess.run([COMMAND, "copy", path, out, "--device", "host"], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, preexec_fn=lambda: list(map(os.close, closed)))
                self.assertEqual(done.returncode, code)  # it is a failure that the summary is lost
                self.assertEqual(self.read("out.npy"), saved(np.arange(12).reshape(3, 4)))
                os.remove(out)
        self.assertEqual(os.listdir(self.folder.name), ["in.npy"])
        self.refuse(FAILURE, "-: cannot read: Bad file descriptor", "copy", "-", out, preexec_fn=lambda: os.close(0))
        self.refuse(FAILURE, "-: cannot write: Bad file descriptor", "copy", path, "-", "--device", "host",
                    preexec_fn=lambda: os.close(1))

    def test_one_file_is_not_written_twice(self):
        os.symlink(".", self.path("link"))
        for there in (False, True):
            for name in ("out.npy", self.path("out.npy"), "./out.npy", "link/out.npy"):
                with self.subTest(name=name, there=there):
                    self.refuse(USAGE, "OUT and --profile cannot both be .*/out.npy", "copy", "in.npy", "out.npy", "--device",
                                "host", "--profile", name, cwd=self.folder.name)
            self.write("out.npy", b"precious")
        self.assertEqual(self.read("out.npy"), b"precious")
        for words in [("out.npy", "--profile", "-"), ("-", "--profile", "out.npy"), ("new.npy", "--profile", "out.npy", "--json")]:
            with self.subTest(words=words), open(self.path("out.npy"), "wb") as stdout:
                done = subprocess.run([COMMAND, "copy", "in.npy", *words, "--device", "host"], stdout=stdout,
                                      stderr=subprocess.PIPE, cwd=self.folder.name)
                self.assertEqual((done.returncode, self.read("out.npy")), (USAGE, b""))
                self.assertIn(b"standard output", done.stderr)
        with open(self.path("out.npy"), "wb") as stdout:
            subprocess.run([COMMAND, "copy", "in.npy", "new.npy", "--device", "host", "--profile", "out.npy"], stdout=stdout,
                           check=True, cwd=self.folder.name)
        json.loads(self.read("out.npy"))  # without the summary


class OtherCommandsTest(BiTest):
    def test_help(self):
        text = self.succeed("--help").stdout.decode()
        for word in ["devices", "copy", "show", "check", "BI_DEVICE", "Exit codes"]:
            self.assertIn(word, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        for command, words in [("devices", ["--json"]), ("copy", ["--slice", "--verify", "--profile", "in C order", "Exit codes"]),
                               ("show", ["--shape", "--strides"]), ("check", ["--producer", "--consumer", "Windows", "Exit codes", "takes precedence"])]:
            text = self.succeed(command, "--help").stdout.decode()
            self.assertTrue(text.startswith("Usage: bi " + command))
            for word in words:
                self.assertIn(word, text)
            self.assertLessEqual(max(map(len, text.splitlines())), 80)
            self.assertEqual(self.succeed("help", command).stdout.decode(), text)
        self.assertEqual(self.succeed("help").stdout, self.succeed("--help").stdout)
        for word in ["help", "--help", "-h"]:
            self.assertEqual(self.succeed("help", word).stdout, self.succeed("--help").stdout)
        self.refuse(USAGE, "unknown command '--version'", "help", "--version")
        self.refuse(USAGE, "unknown command 'cpoy'; did you mean 'copy'", "help", "cpoy")
        self.refuse(USAGE, "unexpected argument 'extra'", "help", "copy", "extra")
        self.refuse(USAGE, "unexpected argument 'extra'", "--help", "extra")

    def test_version(self):
        self.assertRegex(self.succeed("--version").stdout.decode(), r"^bi \d+\.\d+\.\d+\n$")
        self.refuse(USAGE, "unexpected argument 'extra'\nTry 'bi --help'", "--version", "extra")

    def test_devices(self):
        listing = json.loads(self.succeed("devices", "--json").stdout)
        usable = [device for device in listing["devices"] if device["usable"]]
        self.assertEqual(listing["auto"], usable[0]["spec"])
        self.assertIn("host", [device["spec"] for device in usable])
        self.assertEqual([device["position"] for device in usable], list(range(len(usable))))
        self.assertTrue(all(device["reason"] for device in listing["devices"] if not device["usable"]))
        text = self.succeed("devices").stdout.decode()
        for device in usable:
            self.assertRegex(text, r"(?m)^#%d +%s +" % (device["position"], re.escape(device["spec"])))
        self.assertIn("'auto' takes " + listing["auto"], text)
        for device in usable:
            path = self.write("in.npy", saved(np.arange(3)))
            done = self.succeed("copy", path, self.path("out.npy"), "--device", "#%d" % device["position"], "--json")
            self.assertEqual(json.loads(done.stdout)["device"], device["spec"])

    def test_devices_and_the_environment(self):
        said = lambda spec: self.succeed("devices", env={"BI_DEVICE": spec}).stdout.decode().splitlines()[-1]
        self.assertEqual(said("host"), "Without --device, BI_DEVICE=host selects host.")
        self.assertRegex(said("no-such"), '^BI_DEVICE "no-such" .*\\.$')
        self.assertNotIn("BI_DEVICE", said(""))
        for spec, default in [("host", "host"), ("", None)]:
            listing = json.loads(self.succeed("devices", "--json", env={"BI_DEVICE": spec}).stdout)
            self.assertEqual(listing["default"], default)

    def show(self, *words, **more):
        return self.succeed("show", *words, **more).stdout.decode()

    def cells(self, text):
        """The labels of the memory picture, row by row; rows that are left out come back as dots."""
        rows = text.split("memory")[1].split("index")[0].splitlines()
        width = max(len(row.split("│")[1].split()) for row in rows if "│" in row)
        cells = []
        for row in rows:
            empty = re.match(r" +…   (\d+) rows without an element$", row)
            if empty:
                cells += [["·"] * width] * int(empty.group(1))
            elif "│" in row:
                cells.append(row.split("│")[1].split())
        return cells

    def test_show_slice(self):
        text = self.show("--shape", "4,6", "--slice", "::2, ::-1")
        self.assertEqual(self.cells(text), [list("543210"), ["·"] * 6, "11 10 9 8 7 6".split(), ["·"] * 6])
        for word in ["<i4", "shape (2, 6)", "strides (48, -4)", "offset 20", "contiguous: no", "bytes 0..71",
                     "dense 48 bytes"]:
            self.assertIn(word, text)

    def test_show_against_numpy(self):
        """Every cell of small random views, found from the addresses of NumPy's elements."""
        rng = random.Random(SEED)
        for _ in range(40):
            shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
            base = np.zeros(shape, "<i4")
            axes = rng.sample(range(base.ndim), base.ndim)
            index = ", ".join("::%d" % rng.choice([1, 2, -1, -2]) for _ in shape)
            view = expected_view(base, index, axes)
            start = base.__array_interface__["data"][0]
            cells = ["·"] * base.size
            for number, place in enumerate(np.ndindex(view.shape)):
                address = view.__array_interface__["data"][0] + sum(i * s for i, s in zip(place, view.strides))
                cells[(address - start) // 4] = str(number)
            text = self.show("--shape", ",".join(map(str, shape)), "--slice", index, "--transpose",
                             ",".join(map(str, axes)))
            with self.subTest(shape=shape, index=index, axes=axes):
                self.assertEqual(sum(self.cells(text), []), cells)

    def test_show_special_layouts(self):
        self.assertIn("contiguous: F", self.show("--shape", "3,4", "--strides", "4,12"))
        self.assertIn("contiguous: C and F", self.show("--shape", "()"))
        self.assertIn("no elements", self.show("--shape", "0,5"))
        text = self.show("--shape", "1000000000000", "--dtype", "V0", "--strides", "8")
        self.assertIn("reaches no byte; dense 0 bytes", text)
        text = self.show("--shape", "4,3", "--strides", "0,4")
        self.assertEqual(self.cells(text), [["0+3", "1+3", "2+3"]])
        self.assertIn("; 12 bytes shared by several elements", text)
        text = self.show("--shape", "3", "--strides", "-8")
        self.assertEqual(self.cells(text), [["2", "·", "1", "·", "0"]])
        self.assertEqual(self.cells(self.show("--shape", "3", "--strides", "6")), [list("0─·1─·2─")])
        text = self.show("--shape", "100000,100000", "--dtype", "V12")
        self.assertIn("…", text)
        self.assertIn("more rows", text)
        self.assertLess(len(text.splitlines()), 40)
        self.assertIn("more blocks", self.show("--shape", "9,2,2"))

    def test_show_legend(self):
        """Signs are explained where they are drawn, and nowhere else."""
        rest, more, none = "─: the rest of the item before", "+n: n more elements share the cell", "· is no element"
        for words, signs in [
            (("--shape", "4,6"), []), (("--shape", "3", "--strides", "8"), [none]),
            (("--shape", "3", "--strides", "6"), [rest, none]), (("--shape", "3,2", "--strides", "4,4"), [more]),
            (("--shape", "3", "--strides", "2"), [rest, more]), (("--shape", "2", "--strides", "40001"), [rest, none]),
        ]:
            with self.subTest(words=words):
                text = self.show(*words)
                self.assertEqual([sign for sign in (rest, more, none) if sign in text], signs)

    def test_show_partial_overlap(self):
        """Each byte that elements share says so, and no other."""
        text = self.show("--shape", "3,3", "--strides", "5,3")
        covers = [0] * 20
        begins = {}
        for number, (i, j) in enumerate(np.ndindex(3, 3)):
            begins.setdefault(5 * i + 3 * j, number)
            for byte in range(4):
                covers[5 * i + 3 * j + byte] += 1
        expected = [str(begins.get(byte, "─")) + ("+%d" % (count - 1) if count > 1 else "")
                    for byte, count in enumerate(covers)]
        self.assertEqual([re.sub("─+", "─", cell) for cell in sum(self.cells(text), [])], expected)
        self.assertIn("%d bytes shared" % sum(count > 1 for count in covers), text)

    def check_overlap(self, shape, strides, *words):
        """Every label of bytes that elements share, against all elements. Returns the labels."""
        covers = np.zeros(sum((n - 1) * s for n, s in zip(shape, strides)) + 1, np.int64)
        begins = np.full(covers.size, -1)
        addresses = sum(np.ix_(*[np.arange(n) * s for n, s in zip(shape, strides)])).ravel()
        begins[addresses[::-1]] = np.arange(addresses.size)[::-1]
        np.add.at(covers, addresses, 1)
        text = self.show("--shape", ",".join(map(str, shape)), "--strides", ",".join(map(str, strides)), "--dtype", "u1",
                         *words)
        rows = re.findall(r"^ *(\d+) │(.*)$", text.split("index ")[0], re.M)
        labels = [(int(start) + at, label) for start, row in rows
                  for at, label in enumerate(row.split(" …")[0].split())]
        for byte, label in labels:
            if label != "?":
                count = covers[byte]
                self.assertEqual(label, "%d+%d" % (begins[byte], count - 1) if count > 1 else
                                 str(begins[byte]) if count else "·", (shape, strides, byte))
        uncounted = any(label == "?" for byte, label in labels)
        self.assertEqual("?: too many elements overlap here to be counted" in text, uncounted)
        return [label for byte, label in labels]

    def test_show_counts_or_says_that_it_does_not(self):
        for shape, strides in [((9,) * 5, (1,) * 5), ((30,) * 4, (1,) * 4), ((100,) * 3, (1,) * 3),
                               ((20,) * 4, (5, 3, 2, 1)), ((200, 200, 9), (7, 5, 3))]:
            labels = self.check_overlap(shape, strides)
            self.assertIn("0", labels)
            if shape == (30,) * 4:
                self.assertIn("?", labels)
        self.assertNotIn("rows without", self.show("--shape", "30,30,30,30", "--strides", "9,9,9,9", "--dtype", "u1"))

    def test_show_labels_do_not_run_together(self):
        """The last rows may have longer labels than the first."""
        text = self.show("--shape", "10000,10000", "--strides", "4,4")
        rows = re.findall(r"^ *(\d+) │(.*)$", text.split("index ")[0], re.M)
        self.assertEqual(rows[-1][1].split()[-1], "99999999")
        for start, row in rows:
            for at, label in enumerate(row.split(" …")[0].split()):
                place = int(start) // 4 + at
                first, count = max(0, place - 9999), min(place, 19998 - place) + 1
                self.assertEqual(label, str(first * 10000 + place - first) + ("+%d" % (count - 1) if count > 1 else ""))

    def test_show_elements_longer_than_rows(self):
        cells = sum(self.cells(self.show("--shape", "2", "--dtype", "V200", "--strides", "201")), [])
        self.assertEqual([re.sub("─+", "─", cell) for cell in cells],
                         ["0"] + ["─"] * 199 + ["·", "1"] + ["─"] * 199)

    def test_show_leaves_out_empty_rows(self):
        text = self.show("--shape", "3", "--strides", "100000")
        self.assertEqual(len(re.findall("rows without an element", text)), 2)
        cells = sum(self.cells(text), [])
        self.assertEqual([(at, cell) for at, cell in enumerate(cells) if cell != "·"],
                         [(0, "0"), (25000, "1"), (50000, "2")])
        text = self.show("--shape", "100,100", "--slice", "40:60")
        self.assertEqual(len(re.findall("40 rows without an element", text)), 2)
        self.assertIn("7 more rows", text)
        self.assertNotIn("rows without", self.show("--shape", "4,6", "--slice", "::3"))

    def test_show_the_largest(self):
        text = self.show("--shape", "9223372036854775807", "--dtype", "u1")
        self.assertIn("bytes 0..9223372036854775806", text)
        self.assertIn("9223372036854775806", self.cells(text)[-1])
        self.show("--shape", "2,2", "--strides", "4611686018427387904,1", "--dtype", "u1")

    def test_show_width(self):
        for columns in (40, 80, 200):
            for words in [("--shape", "500"), ("--shape", "40,500"), ("--shape", "3,40,500", "--dtype", "f8")]:
                lines = self.show(*words, env={"COLUMNS": str(columns)}).split("memory")[1].splitlines()[2:]
                self.assertLessEqual(max(len(line) for line in lines if "│" in line), columns)

    def test_show_of_a_structured_file(self):
        path = self.write("a.npy", saved(np.zeros(3, [("x", "<f4"), ("y", "|i1")])))
        lines = self.show(path, "--slice", "::2", env={"COLUMNS": "120"}).splitlines()
        self.assertEqual(lines[0], "[('x', '<f4'), ('y', '|i1')]  shape (2,)  strides (10,)  offset 0")
        self.assertIn("[('x', '<f4'), ('y', '|i1')]  shape (3,)", self.show(path, "--plan"))
        path = self.write("a.npy", saved(np.zeros(3, [("\xe9" * 300, "|i1")])))
        line = self.show(path).splitlines()[0]
        self.assertEqual(len(line), 80)
        self.assertRegex(line, r"^\[\('\xe9+…  shape \(3,\)  strides \(1,\)  offset 0$")
        path = self.write("a.npy", saved(np.zeros(1, [("bell\x07", "|i1")])))
        self.assertNotRegex(self.show(path), r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")

    def test_show_has_no_colour_in_a_pipe(self):
        self.assertNotIn("\x1b", self.show("--shape", "4,6"))

    def plan(self, *words):
        """Kind, reason and rows of the nest (extent, step of the destination, step of the source)."""
        text = self.show(*words, "--plan")
        kind = re.search(r"^copied into a dense array: (\w+)$", text, re.M).group(1)
        reason = re.search(r"^copied.*\n((?:  \S.*\n)+)", text, re.M).group(1)
        rows = re.findall(r"^ +\d+ +(\d+) +(\d+) +(-?\d+)$", text, re.M)
        self.assertNotIn("memory  bytes", text)
        return kind, " ".join(reason.split()), [tuple(map(int, row)) for row in rows]

    def test_show_plan_kinds(self):
        for words, kind, reason, nest in [
                (["--shape", "3,4"], "linear", "one run of 48 bytes", []),
                (["--shape", "0,4"], "nothing", "there are no elements", []),
                (["--shape", "9,6", "--slice", "::2"], "rows", "runs of 24 bytes", [(5, 24, 48)]),
                (["--shape", "9,64", "--slice", ":, ::-1"], "strided",
                 "along axis 1 the step is 4 bytes in the destination, -4 in",
                 [(9, 256, 256), (64, 4, -4)]),
                (["--shape", "20,30", "--dtype", "V5", "--transpose", "1,0"], "tiles",
                 "units of 5 bytes are reordered in tiles",
                 [(30, 100, 5), (20, 5, 150)]),
                (["--shape", "3,1000", "--transpose", "1,0"], "tiles",
                 "runs along axis 1 have only 12 bytes, and the steps of the source along axis 0 have 4",
                 [(1000, 12, 4), (3, 4, 4000)]),
                (["--shape", "30,30", "--dtype", "V64", "--transpose", "1,0"], "strided", "runs of 64 bytes and more",
                 [(30, 1920, 64), (30, 64, 1920)]),
                (["--shape", "6,70", "--strides", "4,0"], "broadcast", "4 bytes are written 70 times",
                 [(6, 280, 4), (70, 4, 0)]),
                (["--shape", "6,7", "--strides", "0,4"], "fill", "the same 28 bytes", [(6, 28, 0)]),
        ]:
            with self.subTest(words):
                got = self.plan(*words)
                self.assertEqual((got[0], got[2]), (kind, nest))
                self.assertIn(reason, got[1])

    def test_show_plan_of_the_largest(self):
        self.assertEqual(self.plan("--shape", "2,2", "--strides", "4611686018427387904,1", "--dtype", "u1"),
                         ("rows", "both sides are dense in runs of 2 bytes",
                          [(2, 2, 4611686018427387904)]))

    def test_show_plan_of_a_file(self):
        for order in "CF":
            path = self.write("a.npy", saved(np.zeros((20, 30), dtype="<f8", order=order)))
            axes = "1,0" if order == "C" else "0,1"
            text = self.show(path, "--transpose", axes, "--plan")
            self.assertRegex(text, r"array: tiles\n")
            self.assertRegex(text, r"<f8  shape \(%s\)  strides \(8, " % ("30, 20" if order == "C" else "20, 30"))
            self.assertIn("linear", self.show(path, "--transpose", axes[::-1], "--plan"))
            self.assertIn("memory  bytes 0..4799", self.show(path))
        with open(path, "rb") as file:
            self.assertIn("array: linear", self.show("-", "--plan", "--transpose", "1,0", stdin=file))

    def test_show_plan_on_devices(self):
        for spec in DEVICES:
            text = self.show("--shape", "40,50", "--transpose", "1,0", "--plan", "--device", spec)
            self.assertRegex(text, r"\non %s \(.+\) by " % spec)
            for what in ["this copy", "as many dense bytes"]:
                self.assertRegex(text, r"\n  %s +[\d.]+ us +[\d.]+ GB/s read and written\n" % what)
        self.show("--shape", "4", "--offset", str(1 << 60), "--plan", "--device", "host")  # allocates few bytes
        text = self.show("--shape", "40,0", "--plan", "--device", "host")
        self.assertIn("array: nothing", text)
        self.assertNotIn("GB/s", text)

    def test_show_plan_refusals(self):
        path = self.write("a.npy", saved(np.zeros(3)))
        for code, reason, *words in [
                (USAGE, r'--device is "host"; it goes with --plan', "--shape", "3", "--device", "host"),
                (USAGE, r"--shape is for arrays without a file; .*a.npy has its own", path, "--shape", "3"),
                (USAGE, r"--offset is for arrays without a file", path, "--offset", "3", "--plan"),
                (USAGE, r"--transpose", path, "--transpose", "1,0", "--plan"),
                (USAGE, r"unexpected argument 'two'", path, "two"),
                (FAILURE, r"no.npy: cannot open", self.path("no.npy"), "--plan"),
                (FAILURE, r"/%s/no.npy: cannot open" % ("x" * 200), self.path("x" * 200 + "/no.npy")),
                (INPUT, r"text: not a .npy file", self.write("text", b"no array"), "--plan"),
                (INPUT, r"truncated", self.write("short", saved(np.zeros(3))[:70]), "--plan"),
                (FAILURE, r'device "nix" names no backend', "--shape", "3", "--plan", "--device", "nix"),
                # No machine has so many addresses; fewer bytes may be promised and not be there.
                (FAILURE, r"4000000000000000000 bytes", "--shape", "1000000000,1000000000", "--plan", "--device", "host"),
        ]:
            with self.subTest(words):
                self.refuse(code, reason, "show", *words)

    def test_show_refusals(self):
        for words, reason in [
            ((), "--shape is missing"), (("--shape", "x"), "expected"), (("--shape", "-1"), "-1"),
            (("--shape", "2,2", "--strides", "4"), "--strides has 1"), (("--shape", "2", "--dtype", "O"), "objects"),
            (("--shape", "2", "--dtype", "floaty"), '--dtype: "floaty" is neither a typestr, such as <f4, nor a name'),
            (("--shape", "2", "--dtype", "void"), "--dtype: .* the size is missing; write .* such as void8"),
            (("--shape", "2", "--dtype", "float32x70000"), "--dtype: .* lanes is not in 1..65535"),
            (("--shape", "3", "--strides", "-4", "--offset", "4"), "at least 8"),
            (("--shape", "2", "--slice", "5"), '--slice "5": 5 is outside of axis 0, whose extent is 2'),
            (("--shape", "9223372036854775808"), "9223372036854775808 is too large; the limit is 9223372036854775807"),
            (("--shape", "0x2"), 'an integer is expected, not "0x2"'),
            (("--shape", ""), "--shape: an integer is expected"), (("--shape", " "), "--shape: an integer is expected"),
            (("--shape", "()", "--strides", ""), "--strides: an integer is expected"),
            (("--shape", "9223372036854775806,9"), "."), (("--shape", "3", "--offset", "-1"), "--offset"),
        ]:
            with self.subTest(words=words):
                self.refuse(USAGE, reason, "show", *words)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
