"""Asks whether the library BI_GPU_PEER can be used: exit status 77 and a reason if it cannot."""

import sys

import adapters

NO_PEER = 77


def why_not():
    try:
        return adapters.chosen().why_not()
    except ImportError as error:
        return str(error).split("\n")[0] or type(error).__name__


reason = why_not()
if reason:
    print(reason)
    sys.exit(NO_PEER)
