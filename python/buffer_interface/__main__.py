"""The command `python -m buffer_interface`.

    python -m buffer_interface devices [--json]
    python -m buffer_interface show FILE.npy
    python -m buffer_interface check MODULE:FACTORY
    python -m buffer_interface --version

`devices` prints the same list as the command `bi devices`. `show` prints the layout and the elements of a NumPy file.
`check` judges the arrays of another library by the rules of the protocols that they have.
"""

import argparse
import contextlib
import json
import os
import sys
import tokenize

from . import DriverError, __version__, _array, buffer_interface, devices, empty
from .check import command as check

UNITS = ["B", "KiB", "MiB", "GiB", "TiB"]
TITLES = ("", "device", "name", "platform", "memory", "capabilities")
RIGHT = TITLES.index("memory")


def memory_text(nbytes):
    if nbytes is None:
        return "-"
    unit = 0
    while nbytes >= 1024 and unit + 1 < len(UNITS):
        nbytes /= 1024
        unit += 1
    return f"{nbytes:.1f} {UNITS[unit]}"


def row(position, device):
    capabilities = " ".join(device.capabilities) or "-"
    return (f"#{position}", device.spec, device.name, device.platform or "-", memory_text(device.memory), capabilities)


def print_rows(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]
    widths[-1] = 0
    for cells in rows:
        aligned = [
            cell.rjust(width) if column == RIGHT else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths))
        ]
        print("  ".join(aligned))


def auto_text(usable, default):
    """Says which device 'auto' opens. The library itself applies BI_DEVICE."""
    if not default:
        return f"'auto' takes {usable[0].spec}, the first of the list, or the next one that opens."
    try:
        return f"'auto' takes {empty(0, 'u1').device_spec}, which BI_DEVICE={default} selects."
    except DriverError as error:
        return f"'auto' takes no device: {error}."


def print_table(found, default):
    usable = [device for device in found if device.usable]
    print_rows([TITLES, *(row(position, device) for position, device in enumerate(usable))])
    for device in found:
        if not device.usable:
            print(f"{device.spec} cannot be used: {device.reason}")
    print()
    print(auto_text(usable, default) if usable else "No device can be used.")


def entry(position, device):
    common = {"spec": device.spec, "backend": device.backend, "usable": device.usable}
    if not device.usable:
        return {**common, "reason": device.reason}
    return {
        **common,
        "position": position,
        "kind": device.kind,
        "platform": device.platform_number,
        "ordinal": device.ordinal,
        "name": device.name,
        "platform_name": device.platform,
        "memory": device.memory,
        "capabilities": device.capabilities,
    }


def print_json(found, default):
    usable = [device for device in found if device.usable]
    # The keys of `bi devices --json`: "auto" is the best device; "default" is BI_DEVICE, which overrides "auto".
    document = {
        "auto": usable[0].spec if usable else None,
        "default": default,
        "devices": [entry(position, device) for position, device in enumerate(found)],
    }
    print(json.dumps(document, indent=2, ensure_ascii=False))


def print_file(path):
    """Reads only the elements that are printed. Returns the exit status."""
    try:
        numpy = _array._numpy_module("show")
        with open(path, "rb") as file:
            if file.read(6) != b"\x93NUMPY":
                raise ValueError("no .npy file; numpy.save() writes one array into such a file")
        array = buffer_interface(numpy.load(path, mmap_mode="r"))
    except OSError as error:
        print(f"{path}: {error.strerror or error}", file=sys.stderr)
        return 1
    except (ImportError, ValueError, TypeError, OverflowError, SyntaxError, tokenize.TokenError) as error:
        print(f"{path}: {error}", file=sys.stderr)
        return 1
    print(f"{path}: {_array.element_type(array)}  shape {array.shape}  strides {array.strides}  {array.nbytes} bytes")
    print(array)
    return 0


def list_devices(as_json):
    default = os.fsencode(os.environ.get("BI_DEVICE", "")).decode(errors="replace") or None
    found = devices()
    (print_json if as_json else print_table)(found, default)
    return 0


def parse(arguments):
    parser = argparse.ArgumentParser(prog="python -m buffer_interface", description="Arrays on the devices of this machine.")
    parser.add_argument("--version", action="version", version=f"buffer_interface {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("devices", help="list the devices, the best first, and backends that cannot be used")
    listing.add_argument("--json", action="store_true", help="print one JSON object")
    show = commands.add_parser("show", help="print the layout and the elements of a NumPy file; needs NumPy")
    show.add_argument("file", metavar="FILE.npy")
    checking = commands.add_parser(
        "check",
        help="check a producer or a consumer of arrays, rule by rule",
        description=check.HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check.add_arguments(checking)
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse(arguments)
    is_check = options.command == "check"  # its status 1 says that a rule is broken
    if sys.stdout is None:
        print("standard output: it is closed", file=sys.stderr)
        return 2 if is_check else 1
    status = 2 if is_check else 0  # if the reader closes the pipe before the result is known
    try:
        if is_check:
            status, text = check.main(options)
            print(text, end="")
        else:
            status = print_file(options.file) if options.command == "show" else list_devices(options.json)
        sys.stdout.flush()
    except (OSError, UnicodeEncodeError) as error:
        # The flush at exit would fail again, so it goes to the null device.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # a reader that closes the pipe has read enough
            status = 2 if is_check else 1
            with contextlib.suppress(OSError):
                print(f"standard output: {error}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
