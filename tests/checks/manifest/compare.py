#!/usr/bin/env python3
"""api.json says what the library and the compilers say.

    compare.py MANIFEST SOURCE_DIR NM LIBRARY CLANG    functions beside the symbols of the library; their types, layouts,
                                                       enumerators and constants beside clang for each system of the manifest
    compare.py --break SOURCE_DIR                      headers that the manifest cannot express are refused, each for its reason
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Edits of buffer_interface.h, and words of the refusal. Each lacks what a reader of the manifest needs.
BREAKS = [
    ("Retains the memory.\n * BI_EBOUNDS: a byte that the layout can reach lies outside of the memory, or the offset of an empty layout does.\n * Owned.", "", '"Owned" of out'),
    ("/* Returns the device. Borrowed. */", "/* Returns the device. */", "bi_context_device says neither"),
    ("references are released and pending work is done. Ownership of release_data is transferred.", "", "bi_view_wrap_host does not say"),
    ("Takes ownership of *exchange on success", "Takes it on success", '"takes ownership of exchange"'),
    ("BI_API void bi_report_free(char *report);", "", "releases the result"),
    ("#define BI_MAX_THREADS 64", "#define BI_MAX_THREADS bi_threads()", "BI_MAX_THREADS is no constant"),
    ("BI_API int bi_threads(void);", "BI_API long bi_threads(void);", "'long' is not known"),
    ("{ sizeof(struct bi_foreign), BI_HANDLE_HOST, 0,", "{ sizeof(struct bi_foreign), BI_HANDLE_HOST,", "members, and its macro"),
    ("BI_API int bi_threads(void);", "BI_API int bi_threads(void)", "is expected"),
]


def symbols(nm, library):
    output = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[2] for line in output.splitlines() if re.search(r" T bi_[a-z]", line)}


def spell(kind, inner, callbacks):
    """Returns the declaration of `inner` in C."""
    if kind["kind"] == "pointer":
        return spell(kind["to"], ("const " if kind["const"] else "") + f"*{inner}", callbacks)
    if kind["kind"] == "callback":
        kind = {**callbacks[kind["name"]], "kind": "function"}
    if kind["kind"] == "function":
        return spell(kind["returns"], f"(*{inner})({spell_all(kind['parameters'], callbacks)})", callbacks)
    tag = f"{kind['kind']} " if kind["kind"] in ("struct", "enum") else ""
    return f"{tag}{kind.get('name', 'void')} {inner}"


def spell_all(parameters, callbacks):
    return ", ".join(spell(parameter["type"], parameter["name"], callbacks) for parameter in parameters) or "void"


def assertions(manifest, abi, skip):
    """A source that compiles if the headers have the functions, layouts, enumerators and constants of the manifest."""
    callbacks = {callback["name"]: callback for callback in manifest["callbacks"]}
    headers = sorted({entry["header"] for key in ("structs", "enums", "constants", "functions") for entry in manifest[key]} - skip)
    lines = [f'#include "{header}"' for header in headers]

    def same(what, value):
        lines.append(f'_Static_assert(({what}) == ({value}), "{what}");')

    for function in manifest["functions"]:  # another declaration of the same function has to agree
        parameters = spell_all(function["parameters"], callbacks)
        lines.append(spell(function["returns"], f"{function['name']}({parameters})", callbacks) + ";")
    for struct in manifest["structs"]:
        if struct["header"] in skip:
            continue
        name = f"struct {struct['name']}"
        same(f"sizeof({name})", struct["size"][abi])
        same(f"_Alignof({name})", struct["alignment"][abi])
        for member in struct["members"]:
            same(f"offsetof({name}, {member['name']})", member["offset"][abi])
    for enum in manifest["enums"]:
        same(f"sizeof(enum {enum['name']})", 4)
        for value in enum["values"]:
            same(value["name"], value["value"])
    for constant in manifest["constants"]:
        if isinstance(constant["value"], int) and constant["header"] not in skip:
            value = f"{constant['value']}LL" if constant["value"] > -(2**63) else "INT64_MIN"
            same(constant["name"], f"({constant['type']}){value}" if "type" in constant else value)
    return "\n".join(lines) + "\n"


def compare(manifest, source, nm, library, clang):
    functions = {function["name"] for function in manifest["functions"]}
    if functions != symbols(nm, library):
        return f"functions of the manifest and symbols of the library differ: {sorted(functions ^ symbols(nm, library))}"
    for abi in manifest["abis"]:
        text = assertions(manifest, abi["name"], {"buffer_interface/python.h", "buffer_interface/cuda.h", "buffer_interface/opencl.h"})
        for system in abi["systems"]:
            command = [clang, f"--target={system}", "-ffreestanding", "-std=c11", "-fsyntax-only"]
            done = subprocess.run([*command, f"-I{source}/include", "-x", "c", "-"], input=text, capture_output=True, text=True)
            if done.returncode:
                return f"{system} is not as the manifest says:\n{done.stderr[:3000]}"
    return None


def break_it(source):
    make = source / "scripts/make-manifest"
    for old, new, words in BREAKS:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(source / "include", Path(folder) / "include")
            path = Path(folder) / "include/buffer_interface.h"
            if path.read_text().count(old) != 1:
                return f"include/buffer_interface.h does not have once: {old}"
            path.write_text(path.read_text().replace(old, new))
            done = subprocess.run([sys.executable, make, "--include", path.parent, "-"], capture_output=True, text=True)
            if done.returncode == 0 or words not in done.stderr:
                return f"without {old!r} make-manifest says {done.stderr!r}, and not {words!r}"
    return None


def main():
    if sys.argv[1] == "--break":
        sys.exit(break_it(Path(sys.argv[2])))
    manifest, source, *tools = sys.argv[1:]
    sys.exit(compare(json.loads(Path(manifest).read_text()), source, *tools))


main()
