#!/usr/bin/env python3
"""Every source file of the library has a unit test of its name, and every unit test has a source file.

The test of src/common/layout/index.c is tests/unit/test_index.c. Where two folders have a file of one name, the names of
the folders are part of it.

    sources.py SOURCE_DIR
"""
import pathlib
import sys

# Folders of src/ whose files are tested one by one.
FOLDERS = ["common/*", "host", "interop", "kernels"]

EXCEPTIONS = {
    "simd_avx512": "a table that simd.h declares; test_simd.c runs every table",
    "simd_portable": "as simd_avx512",
    "simd_v128": "as simd_avx512",
    "cai_export": "tests/behaviour/cai/exports.c, one test for each rule",
    "cai_import": "tests/behaviour/cai/imports.c",
    "dlpack_export": "tests/behaviour/dlpack/exports.c",
    "dlpack_import": "tests/behaviour/dlpack/imports.c",
    "exchange_export": "tests/behaviour/exchange/exchange.c, between programs that share no code",
    "exchange_import": "as exchange_export",
    "clone": "tests/behaviour/contract/conveniences.c, on every device",
    "arguments": "tests/behaviour/launch, on every device",
    "build": "as arguments",
    "program": "as arguments",
    "launch": "needs a driver that compiles: the contract suite, and test_strided.c for the kernels themselves",
}

# Unit tests of headers, of the command, and of backends as a whole.
OTHER_TESTS = {
    "indexing": "tools/bi/indexing.c and naive.c",
    "opencl_backend": "src/opencl, through its table",
    "opencl_fork": "src/opencl in a forked child",
    "strided": "src/kernels/strided.h",
}


def names_of(paths):
    stems = [path.stem for path in paths]
    return {path.stem if stems.count(path.stem) == 1 else f"{path.parent.name}_{path.stem}" for path in paths}


def main():
    root = pathlib.Path(sys.argv[1])
    sources = names_of([path for folder in FOLDERS for path in root.glob(f"src/{folder}/*.c")])
    tests = {path.stem.removeprefix("test_") for path in root.glob("tests/unit/test_*.c")}
    wrong = [f"{name}.c has no tests/unit/test_{name}.c" for name in sorted(sources - tests - EXCEPTIONS.keys())]
    wrong += [f"tests/unit/test_{name}.c has no source file of its name"
              for name in sorted(tests - sources - OTHER_TESTS.keys())]
    wrong += [f"the exception for {name} is not needed" for name in sorted(EXCEPTIONS.keys() & tests)]
    wrong += [f"the exception for {name} names no file" for name in sorted(EXCEPTIONS.keys() - sources)]
    wrong += [f"tests/unit/test_{name}.c is not there" for name in sorted(OTHER_TESTS.keys() - tests)]
    if not sources or not tests:
        wrong.append(f"{root} has no sources or no unit tests")
    print("\n".join(wrong) or f"{len(sources)} sources, {len(tests)} unit tests, {len(EXCEPTIONS)} exceptions")
    return bool(wrong)


sys.exit(main())
