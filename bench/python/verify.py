"""Verifies what is timed: an exchange is correct only if both sides name the same memory."""


class WrongResult(Exception):
    """A measured operation had a wrong result."""


def equal(what, found, expected):
    if found != expected:
        raise WrongResult(f"{what}: {found!r} is not {expected!r}")


def same_array(what, view, address, shape, strides, typestr):
    """`view` is ours; the other arguments describe the producer's array."""
    equal(f"{what}, address", int(view.buffer) + view.offset, address)
    equal(f"{what}, shape", view.shape, tuple(shape))
    equal(f"{what}, strides", view.strides, tuple(strides))
    equal(f"{what}, typestr", view.typestr, typestr)
