"""The layouts that are copied into dense arrays, each for any size of the source and any item size."""

import math

from native import Layout

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def dense_strides(shape, item_size):
    strides, step = [], item_size
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return strides[::-1]


def split(count, axes):
    """Returns extents that are powers of two, about equal, whose product is the largest power of two up to `count`."""
    bits = int(math.log2(count))
    return [1 << (bits // axes + (axis < bits % axes)) for axis in range(axes)]


def contiguous(source_bytes, item_size):
    shape = split(source_bytes // item_size, 2)
    return Layout("contiguous", shape, dense_strides(shape, item_size), item_size)


def permuted(name, axes):
    def make(source_bytes, item_size):
        shape = split(source_bytes // item_size, len(axes))
        strides = dense_strides(shape, item_size)
        return Layout(name, [shape[axis] for axis in axes], [strides[axis] for axis in axes], item_size)
    return make


def columns_apart(step):
    def make(source_bytes, item_size):
        rows, columns = split(source_bytes // item_size, 2)
        return Layout(f"[:, ::{step}]", [rows, columns // step], [columns * item_size, step * item_size], item_size,
                      source_bytes=rows * columns * item_size)
    return make


def odd_transpose(source_bytes, item_size):
    """Odd extents: the rows have different phases in a cache line."""
    rows, columns = split(source_bytes // item_size, 2)
    return Layout("2-D transpose, odd extents", [columns - 1, rows - 1], [item_size, (columns - 1) * item_size],
                  item_size)


def left_half(source_bytes, item_size):
    """Long rows with a pitch."""
    rows, columns = split(source_bytes // item_size, 2)
    return Layout("left half", [rows, columns // 2], [columns * item_size, item_size], item_size,
                  source_bytes=rows * columns * item_size)


def reversed_rows(source_bytes, item_size):
    rows, columns = split(source_bytes // item_size, 2)
    step = columns * item_size
    return Layout("[::-1]", [rows, columns], [-step, item_size], item_size, offset=(rows - 1) * step)


def reversed_columns(source_bytes, item_size):
    rows, columns = split(source_bytes // item_size, 2)
    return Layout("[:, ::-1]", [rows, columns], [columns * item_size, -item_size], item_size,
                  offset=(columns - 1) * item_size)


LAYOUTS = {
    "2-D transpose": permuted("2-D transpose", (1, 0)),
    "[:, ::2]": columns_apart(2),
    "permute (0,2,1,3)": permuted("permute (0,2,1,3)", (0, 2, 1, 3)),
    "permute (3,2,1,0)": permuted("permute (3,2,1,0)", (3, 2, 1, 0)),
    "[::-1]": reversed_rows,
    "[:, ::-1]": reversed_columns,
    "contiguous": contiguous,
}
# Only GPUs treat these differently.
GPU_LAYOUTS = {"2-D transpose, odd extents": odd_transpose}
TRANSFERRED_LAYOUTS = {"[:, ::8]": columns_apart(8), "left half": left_half}


def padded(total_bytes, item_size, ndim):
    """A given number of axes that cannot be merged: each row, plane, … of the source is followed by a gap."""
    shape = split(total_bytes // item_size, ndim)
    outer = [extent + 1 for extent in shape]
    return Layout(f"{ndim} axes", shape, dense_strides(outer, item_size), item_size,
                  source_bytes=math.prod(outer) * item_size)


def turned(total_bytes, item_size, ndim):
    """All axes reversed."""
    shape = split(total_bytes // item_size, ndim)
    return Layout(f"{ndim} axes reversed", shape[::-1], dense_strides(shape, item_size)[::-1], item_size)


def flat(total_bytes, item_size=1):
    return Layout("dense", [total_bytes // item_size], [item_size], item_size)
