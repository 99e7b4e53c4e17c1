"""The representation of an array in a notebook: a table, the elements, and a picture of the memory."""

import html
import itertools

from . import _array

# The picture shows at most this many cells of memory, in rows of WIDTH.
CELLS = 64
WIDTH = 16
SIZE = 26  # pixels of a cell
COLOURS = ["#9ecae1", "#fdd0a2", "#a1d99b", "#bcbddc", "#fa9fb5", "#d9d9d9"]


def _cells(array):
    """Returns {distance from the lowest element in items: index of the element} for elements whose cell is shown.

    Returns None if a stride is no multiple of the item size, or if there is no element.
    """
    if array.size == 0 or array.itemsize == 0 or any(stride % array.itemsize for stride in array.strides):
        return None
    steps = [stride // array.itemsize for stride in array.strides]
    lowest = sum(step * (extent - 1) for step, extent in zip(steps, array.shape) if step < 0)
    shown = {}
    # Along an axis whose step is not 0, only the CELLS elements at the lowest addresses can be in a cell that is shown.
    ranges = []
    for step, extent in zip(steps, array.shape):
        most = min(extent, CELLS) if step else 1
        ranges.append(range(extent - most, extent) if step < 0 else range(most))
    # The axis with the shortest step comes last, so that the elements of the first cells come first.
    order = sorted(range(len(steps)), key=lambda axis: -abs(steps[axis]))
    for chosen in itertools.islice(itertools.product(*(ranges[axis] for axis in order)), 100_000):
        numbers = dict(zip(order, chosen))
        index = tuple(numbers[axis] for axis in range(len(steps)))
        cell = sum(i * step for i, step in zip(index, steps)) - lowest
        if cell < CELLS:
            shown.setdefault(cell, index)
    return shown


def _picture(array):
    cells = _cells(array)
    if not cells:
        return ""
    count = max(cells) + 1
    rows = (count + WIDTH - 1) // WIDTH
    parts = [f'<svg width="{WIDTH * SIZE + 2}" height="{rows * SIZE + 2}" style="display:block;margin-top:4px">']
    for cell in range(count):
        x, y = 1 + cell % WIDTH * SIZE, 1 + cell // WIDTH * SIZE
        index = cells.get(cell)
        colour = "none" if index is None else COLOURS[(index[0] if index else 0) % len(COLOURS)]
        name = "not an element" if index is None else f"element {list(index)}"
        parts.append(
            f'<rect x="{x}" y="{y}" width="{SIZE}" height="{SIZE}" fill="{colour}" stroke="#888"><title>{name}</title></rect>'
        )
        if index is not None:
            text = ",".join(map(str, index))
            size = 11 if len(text) < 4 else 8
            parts.append(
                f'<text x="{x + SIZE / 2}" y="{y + SIZE / 2 + 4}" font-size="{size}" text-anchor="middle" '
                f'fill="#222">{text}</text>'
            )
    parts.append("</svg>")
    more = "" if array.size <= len(cells) else " (the first of them)"
    return f"<div>The memory in address order; each cell is an item, with the index of its element{more}:{''.join(parts)}</div>"


def page(array):
    device = array.device_spec if array.backend == "host" else f"{array.device_spec} ({array.device_name})"
    rows = [
        ("element type", _array.element_type(array)),
        ("shape", array.shape),
        ("strides in bytes", array.strides),
        ("bytes", array.nbytes),
        ("device", device),
        ("writable", "no" if array.readonly else "yes"),
    ]
    table = "".join(
        f'<tr><th style="text-align:left">{name}</th><td style="text-align:left">{html.escape(str(value))}</td></tr>'
        for name, value in rows
    )
    contents = f"<pre>{html.escape(_array.contents_text(array))}</pre>"
    return f"<div><b>BufferInterface</b><table>{table}</table>{contents}{_picture(array)}</div>"
