"""Plots as SVG: panels of lines, and bars. Dark on white, every axis labelled, one legend for all panels."""

import math
from dataclasses import dataclass, field
from html import escape

from timing import amount

INK, FAINT, GRID = "#1a1a1a", "#595959", "#dddddd"
OURS = ("#0b5394", "#c0392b")  # the first two series; peers take the others
OTHERS = ("#8a6d00", "#3b7a57", "#7d5ba6", "#4d4d4d", "#a85c00")
CORNERS = {"diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)), "triangle": ((0, -1.3), (1.2, 1), (-1.2, 1))}
PEERS = ("memcpy, 1 thread", "NumPy", "clEnqueueCopyBuffer", "naive C")  # the same style in every plot
MARKS = ("circle", "square", "diamond", "triangle")
PANEL_WIDTH, PANEL_HEIGHT = 250, 175
LEFT, TOP, RIGHT, BOTTOM = 58, 30, 14, 44  # around the axes of one panel
LEGEND_HEIGHT = 26
FONT = "font-family=\"'DejaVu Sans', Verdana, Helvetica, Arial, sans-serif\""


@dataclass
class Panel:
    """Lines by name: lists of (x, y, lowest, highest)."""

    title: str
    lines: dict


@dataclass
class Axes:
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    ticks: dict = field(default_factory=dict)  # x: its text; else the numbers themselves


def text(x, y, words, size=11, anchor="middle", colour=INK, turn=None, weight="normal"):
    rotation = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn is not None else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
            f'font-weight="{weight}"{rotation}>{escape(words)}</text>')


def line(x1, y1, x2, y2, colour=INK, width=1.0, dash=""):
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"{dashes}/>')


def document(width, height, title, parts):
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" {FONT} role="img">')
    paper = f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", paper, *parts, "</svg>"]) + "\n"


def mark(shape, x, y, colour, size=3.2):
    if shape == "square":
        return f'<rect x="{x - size:.1f}" y="{y - size:.1f}" width="{2 * size}" height="{2 * size}" fill="{colour}"/>'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{colour}"/>'
    points = " ".join(f"{x + dx * size:.1f},{y + dy * size:.1f}" for dx, dy in CORNERS[shape])
    return f'<polygon points="{points}" fill="{colour}"/>'


def styles(names):
    """Colour, mark and dashes of each series: ours full, peers dashed; without peers all are full."""
    mine = [name for name in names if name.startswith("ours")]
    if not mine:
        return {name: ((OURS + OTHERS)[i % 7], MARKS[i % 4], "") for i, name in enumerate(names)}
    found = {name: (OURS[i % 2], MARKS[i % 2], "") for i, name in enumerate(mine)}
    order = [*PEERS, *(name for name in names if name not in PEERS and name not in found)]
    return found | {name: (OTHERS[i % 5], MARKS[(i + 2) % 4], "5 3") for i, name in enumerate(order)}


def nice(highest):
    """Returns three to six ticks from 0 up to at least `highest`."""
    step = 10 ** math.floor(math.log10(highest / 3)) if highest > 0 else 1
    for factor in (1, 2, 5, 10):
        if highest / (step * factor) <= 5:
            break
    step *= factor
    return [i * step for i in range(math.ceil(highest / step - 1e-9) + 1)]


def logarithmic(lowest, highest):
    """Returns ticks at 1, 2, 5, 10, … or, for more than three decades, at powers of ten, around all values."""
    first, last = math.floor(math.log10(lowest)), math.ceil(math.log10(highest))
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    ticks = [factor * 10.0 ** power for power in range(first, last + 1) for factor in steps]
    below = max(tick for tick in ticks if tick <= lowest * 1.0001)
    above = min(tick for tick in ticks if tick >= highest / 1.0001)
    return [tick for tick in ticks if below <= tick <= max(above, 2 * below)]


class Scale:
    """Converts numbers to pixels."""

    def __init__(self, lowest, highest, start, end, log=False):
        self.turn = math.log10 if log else float
        self.low, self.high = self.turn(lowest), self.turn(highest)
        self.start, self.end = start, end

    def __call__(self, value):
        share = (self.turn(value) - self.low) / (self.high - self.low or 1)
        return self.start + share * (self.end - self.start)


def number(value):
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= limit:
            return f"{value / limit:g}{unit}"
    return f"{value:g}"


def legend(names, found, width, y):
    """Draws rows of marks and names, centred. Returns the parts and the number of rows."""
    rows, used = [[]], 0.0
    for name in names:
        room = 44 + 6.6 * len(name)
        if rows[-1] and used + room > width - 40:
            rows.append([])
            used = 0.0
        rows[-1].append((name, room))
        used += room
    parts = []
    for i, row in enumerate(rows):
        x = (width - sum(room for _, room in row)) / 2
        for name, room in row:
            colour, shape, dash = found[name]
            at = y + i * 18
            parts += [line(x, at - 4, x + 24, at - 4, colour, 1.8, dash), mark(shape, x + 12, at - 4, colour),
                      text(x + 30, at, name, anchor="start")]
            x += room
    return parts, len(rows)


def lines_plot(title, axes, panels, columns):
    """Draws panels side by side, with one scale for the measured values."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    found = styles(names)
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    cell_width, cell_height = PANEL_WIDTH + LEFT + RIGHT, PANEL_HEIGHT + TOP + BOTTOM
    width = max(columns * cell_width + 10, 640)
    start = (width - columns * cell_width) / 2
    entries, legend_rows = legend(names, found, width, 54)
    top = 54 + 18 * legend_rows
    parts = [text(width / 2, 26, title, 15, weight="bold"), *entries]
    points = [point for panel in panels for series in panel.lines.values() for point in series]
    lowest, highest = min(point[2] for point in points), max(point[3] for point in points)
    y_ticks = logarithmic(lowest, highest) if axes.log_y else nice(highest)
    for i, panel in enumerate(panels):
        at = start + i % columns * cell_width, top + i // columns * cell_height
        parts += draw_panel(panel, axes, y_ticks, found, *at)
    return document(width, top + rows * cell_height + 4, title, parts)


def draw_panel(panel, axes, y_ticks, found, left, top):
    x0, x1, y0, y1 = left + LEFT, left + LEFT + PANEL_WIDTH, top + TOP + PANEL_HEIGHT, top + TOP
    xs = [point[0] for series in panel.lines.values() for point in series]
    across = Scale(min(xs), max(xs), x0 + 8, x1 - 8, axes.log_x)
    up = Scale(y_ticks[0], y_ticks[-1], y0, y1, axes.log_y)
    parts = [text((x0 + x1) / 2, top + TOP - 9, panel.title, 12, weight="bold")]
    for tick in y_ticks:
        parts += [line(x0, up(tick), x1, up(tick), GRID), text(x0 - 6, up(tick) + 4, number(tick), 10, "end")]
    for tick in sorted(axes.ticks or set(xs)):
        if min(xs) <= tick <= max(xs):
            words = axes.ticks.get(tick, number(tick))
            parts += [line(across(tick), y0, across(tick), y0 + 4), text(across(tick), y0 + 16, words, 10)]
    parts += [line(x0, y0, x1, y0), line(x0, y0, x0, y1),
              text((x0 + x1) / 2, y0 + 33, axes.x_label, 11, colour=FAINT),
              text(left + 14, (y0 + y1) / 2, axes.y_label, 11, colour=FAINT, turn=-90)]
    for name, series in panel.lines.items():
        parts += draw_series(sorted(series), found[name], across, up)
    return parts


def draw_series(series, style, across, up):
    """Draws the line, a mark at each point, and a thin line between the quartiles."""
    colour, shape, dash = style
    path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y, _, _ in series)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dashes}/>']
    for x, y, low, high in series:
        parts += [line(across(x), up(low), across(x), up(high), colour), mark(shape, across(x), up(y), colour)]
    return parts


def bars_plot(title, axis_label, groups):
    """Draws groups of (title, rows), rows of (operation, [(name, value, colour), …]); the first one is ours."""
    label_width, bar_width, bar_height, gap = 430, 300, 13, 9
    width, y = label_width + bar_width + 270, 50
    parts = [text(width / 2, 26, title, 15, weight="bold")]
    for group, rows in groups:
        highest = nice(max(value for _, bars in rows for _, value, _ in bars))
        across = Scale(0, highest[-1], label_width, label_width + bar_width)
        bottom = y + 22 + sum(len(bars) * bar_height + gap for _, bars in rows)
        parts.append(text(12, y + 8, group, 12, "start", weight="bold"))
        parts += [line(across(tick), y + 14, across(tick), bottom, GRID) for tick in highest]
        y += 22
        for operation, bars in rows:
            parts.append(text(label_width - 8, y + len(bars) * bar_height / 2 + 4, operation, 11, "end"))
            for i, (name, value, colour) in enumerate(bars):
                parts += [f'<rect x="{label_width}" y="{y + 1:.1f}" width="{max(across(value) - label_width, 1):.1f}" '
                          f'height="{bar_height - 2}" fill="{colour}"/>',
                          text(across(value) + 6, y + bar_height - 3, f"{name} {amount(value)}", 10, "start",
                               INK if i == 0 else FAINT, weight="bold" if i == 0 else "normal")]
                y += bar_height
            y += gap
        parts += [text(across(tick), bottom + 14, number(tick), 10) for tick in highest]
        parts.append(text(label_width + bar_width / 2, bottom + 30, axis_label, 11, colour=FAINT))
        y = bottom + 56
    return document(width, y - 8, title, parts)
