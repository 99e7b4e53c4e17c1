"""Any layout: random ones by a seed, and named ones, each into a dense destination.

A random layout is a dense source of 2 to 7 axes in another order. Some axes are reversed, have a step of 2 or 3, or are
repeated (stride 0). Extents are tiny, odd, prime or powers of two.
"""

import math

from layouts import MIB, dense_strides
from native import Layout

ITEM_SIZES = (1, 2, 4, 4, 8, 16, 3, 6, 12, 24)
TINY = (2, 3, 4, 5, 7)
LARGE = (8, 13, 16, 17, 31, 32, 61, 64, 100, 127, 128, 255, 256, 509, 512, 1000, 1024)
LEAST, MOST = 4 * MIB, 32 * MIB


def view(name, item_size, dense, axes, flips=(), steps=(), repeats=()):
    """`dense` is the shape of the source, `axes` its order in the destination; the others hold axes of the source."""
    strides, shape, offset = dense_strides(dense, item_size), list(dense), 0
    source_bytes = math.prod(dense) * item_size
    for axis, step in steps:
        shape[axis] = (shape[axis] + step - 1) // step
        strides[axis] *= step
    for axis in flips:
        offset += (shape[axis] - 1) * strides[axis]
        strides[axis] = -strides[axis]
    shape, strides = [shape[axis] for axis in axes], [strides[axis] for axis in axes]
    for at, extent in repeats:
        shape.insert(at, extent)
        strides.insert(at, 0)
    # memcpy, beside which the copies are measured, reads as many bytes as the destination has.
    return Layout(name, shape, strides, item_size, offset, max(source_bytes, math.prod(shape) * item_size))


def extents(dice, ndim, count):
    """Returns extents whose product is about `count`; the largest axis takes what the others leave."""
    found, left = [], count
    for _ in range(ndim - 1):
        extent = dice.choice(TINY if dice.random() < .45 else LARGE)
        found.append(min(extent, max(left // 8, 2)))
        left = max(left // found[-1], 1)
    found.append(max(left, 2))
    dice.shuffle(found)
    return found


def random_layout(dice, number, least, most):
    item_size, ndim = dice.choice(ITEM_SIZES), dice.randint(2, 7)
    dense = extents(dice, ndim, int(least * (most / least) ** dice.random()) // item_size)
    axes = dice.sample(range(ndim), ndim)
    flips = [axis for axis in range(ndim) if dice.random() < .15]
    steps = [(dice.randrange(ndim), dice.choice((2, 3)))] if dice.random() < .15 else []
    repeats = [(dice.randint(0, ndim), dice.choice(TINY))] if dice.random() < .1 and ndim < 7 else []
    return view(f"random {number}", item_size, dense, axes, flips, steps, repeats)


def named(quick):
    """The layouts that programs use, at their usual sizes; small ones if `quick`."""
    n = 16 if quick else 1
    return [
        view("image HWC → CHW, uint8", 1, (4096 // n, 4096 // n, 3), (2, 0, 1)),
        view("image CHW → HWC, uint8", 1, (3, 4096 // n, 4096 // n), (1, 2, 0)),
        view("NCHW → NHWC, float32", 4, (8, 64, 128 // n, 128), (0, 2, 3, 1)),
        view("NHWC → NCHW, float32", 4, (8, 128 // n, 128, 64), (0, 3, 1, 2)),
        view("BGR flip [..., ::-1], uint8", 1, (4096 // n, 4096 // n, 3), (0, 1, 2), flips=(2,)),
        view("transpose 3001 × 3003, float64", 8, (3003 // n, 3001 // n), (1, 0)),
        view("transpose 2048², complex128", 16, (2048 // n, 2048 // n), (1, 0)),
        view("transpose 4095 × 4093, uint8", 1, (4093 // n, 4095 // n), (1, 0)),
        view("transpose 1024², float32", 4, (1024 // n, 1024 // n), (1, 0)),
        view("permute (1, 0, 2) of rows of 768 bytes, float32", 4, (64, 853 // n, 192), (1, 0, 2)),
        view("[::2] of rows of 768 bytes, float32", 4, (109226 // n, 192), (0, 1), steps=((0, 2),)),
        view("(4 M, 3).T, float32", 4, ((4 << 20) // n, 3), (1, 0)),
        view("(3, 4 M).T, float32", 4, (3, (4 << 20) // n), (1, 0)),
        view("7 axes reversed, float32", 4, (7, 9, 11, 13, 5, 8, 12) if not quick else (2, 3, 4, 3, 5, 4, 3),
             (6, 5, 4, 3, 2, 1, 0)),
        view("7 axes mixed, float32", 4, (7, 9, 11, 13, 5, 8, 12) if not quick else (2, 3, 4, 3, 5, 4, 3),
             (3, 0, 5, 1, 6, 2, 4)),
    ]
