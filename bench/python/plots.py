"""Makes the plots from the points and rows of a recorded run."""

import statistics

import svg

SIZE_TICKS = {1 << power: text for power, text in
              ((3, "8 B"), (10, "1 KiB"), (16, "64 KiB"), (20, "1 MiB"), (24, "16 MiB"), (28, "256 MiB"),
               (30, "1 GiB"))}


def gigabytes(point, figure):
    return tuple(point["moved"] / figure[key] for key in ("median", "upper", "lower"))


def nanoseconds(point, figure):
    return figure["median"], figure["lower"], figure["upper"]


def panels(run, plot, values):
    """Returns the panels in the order of measurement."""
    found = {}
    for point in run["points"]:
        if point["plot"] == plot:
            panel = found.setdefault(point["panel"], svg.Panel(point["panel"], {}))
            for name, figure in point["figures"].items():
                panel.lines.setdefault(name, []).append((point["x"], *values(point, figure)))
    return list(found.values())


def layouts(run):
    axes = svg.Axes("bytes of the source", "GB/s read + written", log_x=True, log_y=True,
                    ticks={size: SIZE_TICKS[size] for size in (1 << 16, 1 << 20, 1 << 24, 1 << 28)})
    return svg.lines_plot("Strided → contiguous, float32, by layout and size", axes,
                          panels(run, "layouts", gigabytes), 3)


def sizes(run):
    axes = svg.Axes("bytes copied", "nanoseconds", log_x=True, log_y=True,
                    ticks={size: SIZE_TICKS[size] for size in (1 << 3, 1 << 10, 1 << 20, 1 << 30)})
    return svg.lines_plot("A contiguous copy, from 8 bytes to 1 GiB; NumPy is called from Python", axes,
                          panels(run, "sizes", nanoseconds), 3)


def dimensions(run):
    axes = svg.Axes("dimensions", "GB/s read + written")
    return svg.lines_plot("The same bytes in 1 to 8 dimensions, float32", axes, panels(run, "dimensions", gigabytes), 2)


def items(run):
    axes = svg.Axes("bytes of an item", "GB/s read + written", log_x=True,
                    ticks={size: str(size) for size in (1, 2, 3, 4, 6, 8, 12, 16)})
    return svg.lines_plot("By size of an item", axes, panels(run, "items", gigabytes), 2)


def cores(run):
    """One panel: the share of memcpy for each layout."""
    lines = {}
    for point in run["points"]:
        if point["plot"] == "cores":
            ours, memcpy = point["figures"]["ours"], point["figures"]["memcpy, 1 thread"]["median"]
            share = tuple(memcpy / ours[key] for key in ("median", "upper", "lower"))
            lines.setdefault(point["panel"], []).append((point["x"], *share))
    axes = svg.Axes("threads", "share of a one-thread memcpy")
    return svg.lines_plot("From one to all cores, float32", axes, [svg.Panel("all layouts", lines)] if lines else [], 1)


def any_layout(run):
    """The random layouts by the size of an item: the median share of memcpy, and its 10th to 90th percentile."""
    found = {}
    for point in run["points"]:
        if point["plot"] == "any":
            times = {name: figure["median"] for name, figure in point["figures"].items()}
            memcpy = times.pop("memcpy, 1 thread")
            shares = {name: memcpy / times.pop(name) for name in list(times) if name.startswith("ours")}
            if times:
                shares["best peer"] = memcpy / min(times.values())
            for name, share in shares.items():
                sizes_ = found.setdefault(point["panel"], {}).setdefault(name, {})
                sizes_.setdefault(point["x"], []).append(share)
    axes = svg.Axes("bytes of an item", "share of a one-thread memcpy", log_x=True,
                    ticks={size: str(size) for size in (1, 2, 3, 4, 6, 8, 12, 16, 24)})
    panels_ = [svg.Panel(place, {name: [spread(size * 1.07 ** i, shares) for size, shares in by_size.items()]
                                 for i, (name, by_size) in enumerate(lines.items(), -1)})
               for place, lines in found.items()]
    return svg.lines_plot("Random layouts, 4 to 32 MiB: median, and 10th to 90th percentile", axes, panels_, 2)


def spread(x, values):
    values = sorted(values)
    return x, statistics.median(values), values[len(values) // 10], values[-1 - len(values) // 10]


def exchange(run):
    """Bars of the operations that take less than five microseconds."""
    groups = {"In C": [], "In Python": []}
    for row in run["rows"]:
        if row["group"] != "exchange" or row["ours"]["unit"] != "ns" or row["ours"]["median"] > 5000:
            continue
        language, operation = row["operation"].split(": ", 1)
        bars = [("ours", row["ours"]["median"], svg.OURS[0])]
        for others, colour in ((row["peers"], "#a9a9a9"), (row["bounds"], "#dedede")):
            bars += [(name, figure["median"], colour) for name, figure in others.items()]
        groups[f"In {language}"].append((operation, bars))
    return svg.bars_plot("Nanoseconds per exchange: ours, peers, and other work (pale)", "nanoseconds",
                         [pair for pair in groups.items() if pair[1]])


# Name of the file, words beside it, and the drawing function.
PLOTS = {
    "exchange": ("what describing and exchanging costs", exchange),
    "layouts": ("bandwidth by layout and size", layouts),
    "sizes": ("cost by size", sizes),
    "dimensions": ("cost by dimensions", dimensions),
    "items": ("bandwidth by the size of an item", items),
    "any": ("random layouts by the size of an item", any_layout),
    "cores": ("from one to all cores", cores),
}


def has_data(run, name):
    return any(row["group"] == name for row in run["rows"]) if name == "exchange" else any(
        point["plot"] == name for point in run["points"])


def draw(runs):
    """Returns the plots, each of the newest run that has data for it: {name: (words, text of the SVG)}."""
    newest = {name: next((run for run in reversed(runs) if has_data(run, name)), None) for name in PLOTS}
    return {name: (words, make(newest[name])) for name, (words, make) in PLOTS.items() if newest[name]}
