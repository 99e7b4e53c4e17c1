"""Writes docs/performance.md from recorded runs."""

import statistics
import textwrap

from timing import amount

GROUPS = {
    "exchange": ("Describing and exchanging",
                 "Nothing is copied. Per call; Python rows include the loop that runs them. A *view* of "
                 "`__buffer_interface_c__` takes no reference to the array; a managed tensor does, and is released. "
                 "Memory *from the pool* was allocated before; the driver's own calls allocate and free. A *first "
                 "read* is of a new object. At *later reads* ours copies a dictionary that it has kept, and NumPy "
                 "builds a new one. NumPy's dictionary also has `descr`."),
    "moving": ("Moving bytes",
               "Strided → contiguous, float32, a source of 64 MiB, a destination that has been written to before. "
               "GB/s read and written; in brackets the share of a one-thread `memcpy` of the same bytes. All copies "
               "of a row have the same source and the same destination, except libgpuarray's, which has its own."),
    "any": ("Any layout",
            "Layouts that programs use, into a dense array; in brackets the share of a one-thread `memcpy` of the "
            "same bytes. All copies of a row have the same source and the same destination."),
    "further": ("Further",
                "Small operations are enqueued 64 at a time, then waited for; *blocking* ones return when done. On a "
                "CPU device the library copies inline, on the calling thread, if no other code knows the memory; in "
                "rows of *shown memory* other code knows it, and the operations go to the driver. Memory *of the "
                "pool* was allocated and written before; `malloc`, NumPy and `clCreateBuffer` allocate new memory "
                "each time. In rows of memory *that was never written* the library has no pool either. The clock of "
                "the first copy of a process starts when the device is open and has both arrays. NumPy packs into "
                "dense memory, which the driver then transfers, or packs what the driver has transferred."),
    "launch": ("Launching kernels",
               "The kernels of `examples/heat`, beside the same kernels in plain OpenCL C, whose arguments are set "
               "for each launch. Launches are enqueued 64 at a time, then waited for. Uses are begun and ended by "
               "hand, on another stream than the home stream of their arrays; of *shown* arrays other code knows the "
               "memory. Ours and OpenCL's own calls have plates of their own. Where ours allocates the plate, "
               "OpenCL's own calls write into one that is kept."),
    "gpu": ("On a GPU",
            "1 GiB on the device, 256 MiB between host and device; in brackets the share of the device's own copy. How "
            "steady the processor was is judged in rows of which a figure is marked, and in no others."),
}
INTRODUCTION = """\
# Performance

`bench/report` makes this page from the records of `bench/run`; only the sections *Bounds* are written by hand.
`bench/run` measures your machine ([README](../README.md#speed)). Compare ratios between machines, not nanoseconds.

- The library and its peers run in one process, in turns. Every element that a copy, a fill or a kernel writes is
  compared before anything is timed (runs before commit 84cddce: every element that a copy writes).
- A figure is the median of its turns. Figures of several runs are separated by `·`; the column *runs* has their numbers.
  The target is that of the last of them.
- *Met* states whether the median reaches the target. *About*: the median does not, but its better quartile does. If the
  target is another figure of the row, the two are compared round by round, and the median of the differences counts. A
  clock that changes between two rounds changes both sides of each difference.
- Beside its best peer a row *wins* or *loses*, or is *even* if the quartiles overlap.
- Figures in *italics* are of other work, so a row neither wins nor loses beside them: a part of the operation, a copy of
  as many contiguous bytes, or what the section describes.

Before each round `bench/run` times work that is always the same: a loop of Python, and a copy of 32 MiB for rows that
move bytes. The figures of the rows do not influence the following:

- A round begins when the loop takes at most 15 % longer than in the faster quarter of the run. All rounds of a run
  together wait for at most two minutes; later rounds begin immediately.
- A row is unsteady if that work takes more than 15 % longer at one time of the row than at another (without the outer
  tenths), or during the whole row than in the faster quarter of the run. An unsteady row is measured again, up to three
  times and for one minute in all.
- The last measurement counts, whatever its figures. If it was unsteady, it is marked by †.
"""
RATIOS = ("Numbers of nanoseconds were chosen on another machine, beside another figure of the row. As the ratio to "
          "that figure, which says nothing about *met*:")
# Sections written by hand, by the name of the machine and the group.
BOUNDS = {("h100", "gpu"): """\
#### Bounds

The first run has items of 4 bytes only, and both runs ended before their last rows: items of 2 bytes have three rows,
and pageable memory has none.

- **[:, ::2]** reads every sector of 32 bytes of the source, so three bytes are moved for two that count: at most 0.67 of
  the device's own copy. The targets of the second run count that; those of the first do not.
- **Strided, between device and pinned memory.** A kernel reads or writes the host's memory in place. [:, ::2] from the
  host reads twice the bytes of the result over the bus: at most 0.5. Transposes to the host reach 0.40 to 0.42 of a
  contiguous transfer, and 0.92 to 0.93 from the host. The cause is not known. A transpose into memory of the device, and
  a contiguous transfer of that, may be faster; this was not tried.
- **permute (3,2,1,0)** of 1 byte and **odd extents** were predicted to be slow (partial sectors, short pieces far apart).
  They are the layouts whose kernels have the most to gain.

""", ("x86-64-xeon-two-cores", "any"): """\
#### Bounds

**Random layouts, all cores.** The targets are .85 (median) and .60 (10th percentile) of a one-thread `memcpy`, for
layouts of 4 to 64 MiB. Both are met, with both seeds (runs 6 and 7), and no layout loses to a peer. 10th percentile /
median:

| bytes | layouts | host | OpenCL CPU | OpenCL CPU before |
|---|---|---|---|---|
| below 4 MiB | 17 | .36 / .81 | .39 / .78 | .35 / .54 |
| 4 to 6 MiB | 36 | .50 / 1.00 | .42 / 1.14 | .37 / .67 |
| 6 to 8 MiB | 26 | .59 / 1.20 | .58 / 1.20 | .47 / .76 |
| 8 to 12 MiB | 40 | .75 / 1.32 | .78 / 1.48 | .54 / .97 |
| 12 to 16 MiB | 24 | .84 / 1.48 | .82 / 1.62 | .64 / 1.10 |
| from 16 MiB on | 57 | .92 / 1.48 | .81 / 1.29 | .92 / 1.29 |
| from 4 MiB on, seed 1 | 91 | .68 / 1.34 | .70 / 1.26 | – |
| from 4 MiB on, seed 2 | 92 | .69 / 1.38 | .62 / 1.32 | – |
| all, seed 1 | 100 | .66 / 1.31 | .66 / 1.20 | .46 / .93 |
| all, seed 2 | 100 | .68 / 1.30 | .59 / 1.27 | .46 / .98 |

The last column is that of runs 2 and 3. There the driver made the copies: a caller that waits for one waits until a
thread of the driver and then the caller itself have been woken, 0.18 ms in the median. Since commit 73b193e6 the
calling thread makes copies of at most 16 MiB itself, with the threads of the engine, and since commit dff45514 a wait
for a stream without work calls no driver. Larger copies are the driver's, as before.

The slowest layouts are `tiles` of items of 1 to 8 bytes, with results of up to 11 MiB: .29 to .5. `transpose 1024²` has
.71 to .75 of a `memcpy` of 34 GB/s. The named layout `7 axes reversed` on the host was .92, .77, .65 and .83 in four
runs; why it varies was not found.""",
          ("x86-64-zen3-two-cores", "any"): """\
#### Bounds

**Random layouts.** Neither target is met here: .30 / .66 and .27 / .65 on the host, .29 / .65 and .22 / .61 on OpenCL
CPU. In the last run eight of the 30 rows above miss theirs, two more about. The machine of the last two runs moved
half as many bytes in a second as that of the runs before, and was not steady, so the shares of these runs cannot be
compared. The last-level cache has 32 MiB, so both arrays of a smaller `memcpy` can stay in it. 10th percentile /
median, all cores, both seeds, 200 layouts:

| bytes | layouts | host | OpenCL CPU | `memcpy`, read and written |
|---|---|---|---|---|
| below 8 MiB | 79 | .22 / .41 | .20 / .39 | 22 GB/s |
| 8 to 16 MiB | 64 | .44 / .73 | .46 / .75 | 11 GB/s |
| 16 to 32 MiB | 49 | .50 / .88 | .54 / .81 | 11 GB/s |
| from 32 MiB on | 8 | .63 / 1.44 | .68 / 1.56 | 10 GB/s |

Two things bound the copies. In the second-level cache, tiles of units of 1 to 6 bytes write 1.2 to 7.4 GB/s with one
thread (commit 347b4051), because the processor has no AVX-512, so registers transpose 16 bytes at a time. There planes,
and tiles of units of 12 bytes and more, write 2.5 to 26 GB/s, but 1.6 to 13.6 from 4 MiB on, half of them up to 4.2:
they wait for memory. A loop of its own, with one thread, read lines at random places of 64 MiB with 4 GB/s, runs of
1 KiB with 5 GB/s, runs of 4 KiB with 9 GB/s; `memcpy` read 7. The addresses of this guest are translated in pages of
4 KiB also where it has large ones.

Tried, by time against the engine as it is:

- the AVX2 set that was removed at commit 29029d43, of which this is the first processor: 1.01 for one thread, 1.04 for
  all (40 layouts); above 1: the AVX2 set takes less time
- prefetching the next runs of a tile: 1.03 to 1.09, too little for a path of its own
- the same for small results: 0.97
- runs of 2 and 4 KiB, rows of 64 and 128 bytes in tiles that are streamed: 0.72 to 1.02
- units of 3, 4, 6 and 8 bytes moved one by one: 0.94 in the cache, 0.82 outside
- ordinary stores at every size: for 30 layouts of seed 1 the median rises from .58 to .70, the 10th percentile falls
  from .36 to .31, and a transpose of 32 MiB takes three times as long
- lines of four pages in turn, as with AVX-512: a contiguous copy of 32 MiB .20 (and that was how it was until commit
  c3ca26d2)
- prefetching all lines of the next tile: 2.2 for items of 8 bytes in blocks of 896 bytes, 0.7 to 1.2 for nine others

Since commit 12725a35 planes are turned in blocks that fit the first-level cache, and most large ones without tiles. The
engine before that commit and the one of commit 981d2b62 in turns, fastest copies of three turns, ms:

| layout | 1 thread, before | now | all cores, before | now |
|---|---|---|---|---|
| transpose 512², float32 | .203 | .075 | .178 | .070 |
| transpose 512², float64 | .65 | .17 | .30 | .076 |
| transpose 1024², float32 | 1.54 | .68 | .63 | .35 |
| transpose 1000², float32 | .229 | .188 | .093 | .094 |
| transpose 2289 × 2287, float32 | 4.2 | 4.4 | 3.0 | 2.1 |
| 1000 planes of 8 × 1000, float32 | 7.5 | 3.3 | 4.6 | 2.0 |
| 15000 planes of 64 × 17, uint8 | 3.4 | 2.2 | 1.9 | 1.2 |
| 33 planes of 400000 into pixels, float32 | 13.3 | 11.0 | 11.1 | 7.1 |

After that, planes whose rows share few sets of the cache went to tiles, which takes less time on Zen 5 and more here.
Since commit fd8272d1 vectors of 16 bytes turn those of units of 4 and 8 bytes directly again. Tiles read runs directly
(commit 8ce1beed), and mirrored rows are shuffled and prefetched (commits c46c56e2 and e9963efa). The engines of commits
347b4051 and e9963efa in turns, fastest of 20, ms:

| layout | 1 thread, before | now | all cores, before | now |
|---|---|---|---|---|
| transpose 512², float32 | .158 | .096 | .161 | .094 |
| transpose 512², float64 | .233 | .206 | .186 | .171 |
| transpose 1024², float32 | .770 | .694 | .432 | .398 |
| transpose 1024², uint16 | .358 | .286 | .206 | .199 |
| transpose 1000², float32 | .270 | .266 | .183 | .188 |
| `[:, ::-1]` of 1080 × 1920, uint8 | .240 | .110 | .240 | .110 |
| `[:, ::-1]` of 4096², uint8 | 4.02 | 1.48 | 2.52 | .96 |
| `[:, ::-1]` of 20000 × 512, float32 | 15.0 | 4.60 | 8.07 | 2.96 |
| `[:, ::-1]` of 100000 × 64, float64 | 20.2 | 6.25 | 12.0 | 3.57 |
| `[:, ::-1]` of 4096² pixels of 3 bytes | 12.0 | 11.9 | 6.72 | 7.60 |
| `[:, ::2]` of 4096², uint8 | 1.73 | 1.26 | 1.20 | .78 |
| `[:, ::2]` of 4096², uint16 | 3.77 | 2.83 | 2.09 | 1.68 |
| (2, 3, 6, 4, 1024, 4), random 64 of seed 1 | .555 | .310 | .417 | .244 |
| (5, 2, 13, 128, 3, 128), random 26 of seed 2 | 5.22 | 3.74 | 2.84 | 1.95 |

How the code of a loop lies in memory changes its speed on this processor by a factor of up to two. The same loop of a
transpose took twice the time in one of three builds, whose sources differ elsewhere.""",
          ("x86-64-zen5-two-cores", "any"): """\
#### Bounds

**Random layouts.** Neither target is met here: .33 / .68 and .28 / .65 on the host, .24 / .53 and .22 / .50 on OpenCL
CPU. The targets are shares of a one-thread `memcpy`. A `memcpy` of few bytes stays in the last-level cache of 32 MiB,
where it is three times as fast as in memory. 10th percentile / median, all cores, both seeds, 200 layouts:

| bytes | layouts | host | OpenCL CPU | `memcpy`, read and written | ours, host, 1 thread |
|---|---|---|---|---|---|
| below 8 MiB | 79 | .23 / .52 | .19 / .35 | 122 GB/s | 39 GB/s |
| 8 to 16 MiB | 64 | .37 / .64 | .30 / .55 | 85 GB/s | 29 GB/s |
| 16 to 32 MiB | 49 | .44 / .74 | .37 / .66 | 53 GB/s | 24 GB/s |
| from 32 MiB on | 8 | .45 / 1.20 | .52 / 1.15 | 41 GB/s | 23 GB/s |

One thread nearly fills the memory: a contiguous copy with all cores has 1.2 of the speed with one, so 1.8 is out of
reach. From small to large arrays, the engine's speed falls by two fifths and that of `memcpy` by two thirds, so the
memory is not what limits the engine most. Tiles of 1, 3 and 6 bytes with short axes pass two transposes and two
buffers, or are moved unit by unit. They are the slowest class.

Tried for them, by time against the engine as it was on that day; above 1: the change takes less time:

- rows of 512 and 1024 bytes: 1.01 to 1.07; runs of 512 and 2048 bytes, 16384 positions for each tile: .98 to 1.02
- tiles turned once from rows of 32 to 96 bytes on: .99 to 1.01, and .45 to .85 for single layouts
- non-temporal stores from 2 MiB on: .82 to .87 for layouts of seed 1

Ten of the 200 layouts lose to a peer, all of them `linear` and `rows` of 2 to 17 MiB, seven to PyTorch with all cores
and three to NumPy. Nine of them have 8 MiB and more, which the engine streams to memory. The peers probably leave them
in the cache.

The engine of commit d6d57705 and that of this record in turns, three runs: the time of the old one divided by that of
the new one. The last columns are one run without AVX-512.

| layout | 1 thread | all cores | 1 thread, no AVX-512 | all cores, no AVX-512 |
|---|---|---|---|---|
| transpose 512², float32 | 1.42–1.54 | 1.52–1.56 | 1.48 | 1.49 |
| transpose 1024², float32 | 2.22–2.48 | 1.49–1.81 | 3.82 | 2.68 |
| transpose 512², float64 | 2.08–2.09 | 1.59–1.79 | 4.60 | 2.99 |
| transpose 8192 × 245, float32 | 2.17–2.91 | 1.89–2.35 | 2.26 | 2.21 |
| transpose 4096², float32 | 1.29–1.32 | 1.15–1.24 | 1.24 | 1.16 |
| transpose 3001 × 3003, float64 | 1.37–1.39 | 1.12–1.17 | .99 | 1.09 |
| transpose 2048², complex128 | 1.16–1.21 | 1.19–1.21 | 1.23 | 1.25 |
| complex128 (400, 100, 300) → (300, 400, 100) | 1.82–1.85 | 1.68–1.84 | 2.00 | 1.95 |
| NCHW → NHWC, 64 channels, float32 | 1.64–1.73 | 1.37–1.46 | 1.31 | 1.44 |
| NCHW → NHWC, 64 channels, uint8 | 2.57–2.97 | 2.05–2.23 | .98 | 1.03 |
| NHWC → NCHW, 64 channels, float32 | 1.35–1.43 | 1.27–1.28 | 1.43 | 1.54 |
| CHW → HWC, uint8 | 1.30–1.32 | 1.22–1.28 | 1.26 | 1.25 |
| BGR flip, uint8 | 1.23–1.28 | 1.22–1.25 | 1.24 | 1.26 |
| permute (0, 2, 1, 3) of 64⁴, float32 | 1.52–1.58 | 1.43–1.48 | 1.56 | 1.63 |
| rows of 768 bytes in another order | 3.72–3.97 | 2.12–2.18 | 3.65 | 2.06 |
| every other row of 768 bytes | 1.85–1.91 | 1.34–1.43 | 1.81 | 1.35 |
| a crop with rows of 8000 bytes of 12000 | 1.23–1.24 | 1.02–1.04 | 1.18 | 1.07 |

The gains have three causes:

- Rows whose pitch is near a multiple of 2048 bytes share few sets of the cache. Small results with many such rows were
  copied as planes, and are copied in tiles now.
- Where a result is streamed, rows, runs and units that are far apart in the source are prefetched. Rows of 128 bytes
  and more go to the destination directly, not through a buffer.
- Planes of most large results are written directly where the processor is AMD's. Intel's processors with AVX-512 fill
  tiles as before.

Prices: with 16-byte vectors, large transposes whose pitch is 16 bytes from a multiple of 4096 take up to half as long
again (three pitches measured). Layouts of 8 to 16 MiB with units of 12 bytes and more, whose arrays are in the cache,
take up to 15 % longer. Nothing of this was measured on other processors."""}
SLOWEST = 3
OF_A_RUN = ("devices", "load before", "commit", "date", "groups", "seed", "quick")  # facts of a run, not of the machine


def wrapped(part):
    """The lines that are no rows of a table, in 120 columns. The further lines of a list's item are indented."""
    lines = []
    for line in part.split("\n"):
        if len(line) > 120 and not line.startswith("|"):
            indent = " " * (line.index(" ") + 1) if line.startswith("* ") or line[0].isdigit() else ""
            line = textwrap.fill(line, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        lines.append(line)
    return "\n".join(lines)


class Page:
    """One machine's runs, the newest last. `stem` is the name of its file, and of its plots."""

    def __init__(self, stem, runs, plots):
        self.stem, self.runs, self.plots = stem, runs, plots

    def text(self):
        parts = [f"## {self.stem}", *map(wrapped, (self.machine(), self.summary(), self.slowest()))]
        for group, (title, words) in GROUPS.items():
            table = self.table(group)
            if table:
                parts += [f"### {title}", wrapped(words), table, wrapped(self.ratios(group)),
                          self.texts() if group == "any" else "", BOUNDS.get((self.stem, group))]
        parts += [*self.drawn(), self.not_run()]
        return "\n\n".join(part for part in parts if part) + "\n"

    def machine(self):
        facts = self.runs[-1]["machine"]
        lines = [f"* {name}: {value}" for name, value in facts.items() if name not in OF_A_RUN]
        lines += [f"* device {device['spec']}: {device['name']}" + (f", {device['driver']}" if device["driver"] else "")
                  for device in facts["devices"]]
        lines.append(f"* runs: {'; '.join(self.run_words(run['machine']) for run in self.runs)}")
        return "\n".join(lines)

    def run_words(self, facts):
        words = f"{facts['date']}, commit {facts['commit']}, load {facts['load before']} before"
        # Records before version 4 have no groups.
        words += f", {facts['groups']}" if "groups" in facts else ""
        words += f", seed {facts['seed']}" if "seed" in facts else ""
        return words + (", quick: its figures mean nothing" if facts.get("quick") else "")

    def operations(self, group):
        return list(dict.fromkeys(row["operation"] for run in self.runs for row in run["rows"]
                                  if row["group"] == group))

    def rows(self, operation):
        return [row for run in self.runs for row in run["rows"] if row["operation"] == operation]

    def table(self, group):
        lines = [self.line(self.rows(operation)) for operation in self.operations(group)]
        if not lines:
            return ""
        return "\n".join(["| operation | runs | target | ours | met | beside its best peer | peers, *bounds* |",
                          "|---|---|---|---|---|---|---|", *lines])

    def numbers(self, operation):
        """Returns the numbers of the runs that have the row."""
        return ", ".join(str(number) for number, run in enumerate(self.runs, 1)
                         if any(row["operation"] == operation for row in run["rows"]))

    def texts(self):
        """Returns the distributions over random layouts. Records before version 4 have none."""
        return "\n\n".join(f"Run {number}:\n\n```\n{text}\n```" for number, run in enumerate(self.runs, 1)
                           for text in run.get("texts", ()))

    def ratios(self, group):
        """Lists targets in nanoseconds with the peer from which they were derived."""
        lines = []
        for operation in self.operations(group):
            rows = [row for row in self.rows(operation) if row.get("as_ratio")]
            if rows:
                target = rows[-1]["as_ratio"]
                ours = " · ".join(f"{row['as_ratio']['ours']:.2f}{mark(row)}" for row in rows)
                lines.append(f"| {operation} | {target['peer']} | ≤ {target['target']:.2f} | **{ours}** |")
        if not lines:
            return ""
        return "\n".join([RATIOS, "", "| operation | other figure | target | ours |", "|---|---|---|---|", *lines])

    def line(self, rows):
        newest = rows[-1]
        others = [f"{name} {each(rows, lambda row, name=name: cell(row, row['peers'][name]), 'peers', name)}"
                  for name in newest["peers"]]
        others += [f"*{name} {each(rows, lambda row, name=name: cell(row, row['bounds'][name]), 'bounds', name)}*"
                   for name in newest["bounds"]]
        ours = each(rows, lambda row: marked(row, cell(row, row["ours"])))
        cells = [newest["operation"], self.numbers(newest["operation"]), target_words(newest), f"**{ours}**",
                 same(row["met"] or "–" for row in rows), same(verdict(row) for row in rows), "; ".join(others)]
        return "| " + " | ".join(words.replace("|", "\\|") for words in cells) + " |"

    def summary(self):
        lines = []
        for number, run in enumerate(self.runs, 1):
            with_target = [row for row in run["rows"] if row["met"]]
            met = sum(row["met"] == "yes" for row in with_target)
            about = sum(row["met"] == "about" for row in with_target)
            losing = [row for row in run["rows"] if row["verdict"] == "loses"]
            compared = sum(row["verdict"] is not None for row in run["rows"])
            lines.append(f"* Run {number}: {met} of {len(with_target)} targets met, {about} about; "
                         f"{len(losing)} of {compared} rows lose to their best peer.{steadiness(run['rows'])}")
        newest = self.newest()
        losing = [row["operation"] for row in newest if row["verdict"] == "loses"]
        missed = [row["operation"] for row in newest if row["met"] == "no"]
        lines.append(f"* Missed, of {len(newest)} rows, each in its last run: {'; '.join(missed) or 'none'}.")
        lines.append(f"* Losing, likewise: {'; '.join(losing) or 'none'}.")
        return "\n".join(lines)

    def newest(self):
        """Returns each row as the last run with it has it."""
        return list({row["operation"]: row for run in self.runs for row in run["rows"]}.values())

    def slowest(self):
        """Lists, for each row's last run and one row of each kind, the ratio to the target or to the best peer."""
        found = {}
        for row in self.newest():
            factor, words = slowness(row)
            kind = row["operation"].split(",")[0]
            if factor > found.get(kind, (1.0,))[0]:
                found[kind] = factor, f"{row['operation']}: {factor:.2f} times {words}"
        ranked = sorted(found.values(), reverse=True)[:SLOWEST]
        if not ranked:
            return "### The slowest things left\n\nNone: every target is met, and no row loses."
        return "\n".join([f"### The {SLOWEST} slowest things left", "",
                          *(f"{i}. {words}" for i, (_, words) in enumerate(ranked, 1))])

    def drawn(self):
        return [f"![{words}](performance/{self.stem}-{name}.svg)" for name, (words, _) in self.plots.items()]

    def not_run(self):
        entries = self.runs[-1]["not_run"]
        lines = [f"* {entry['what']}: {entry['why']}" for entry in entries]
        return "\n".join(["### Not run", "", *lines]) if lines else ""


def steadiness(rows):
    """Describes the steadiness of a run. Records before version 3 have none."""
    timed = [row["steady"] for row in rows if row.get("steady")]
    if not timed:
        return ""
    within = statistics.quantiles([steady["within"] for steady in timed], n=10)[-1] if len(timed) > 1 else 1.0
    return (f" The same work took up to {within:.2f} times as long within a row, in nine rows of ten; "
            f"{sum(steady['again'] > 0 for steady in timed)} rows were measured again, "
            f"{sum(not steady['is_steady'] for steady in timed)} are marked.")


def mark(row):
    return "†" if row.get("steady") and not row["steady"]["is_steady"] else ""


def marked(row, pair):
    value, unit = pair
    return value + mark(row), unit


def slowness(row):
    ours = row["ours"]["median"]
    candidates = [(0.0, "")]
    if row["met"] == "no":
        candidates.append((1 + row["excess"]["median"] / row["limit"], f"its target ({row['target']})"))
    if row["verdict"] == "loses":
        candidates.append((ours / row["peers"][row["best_peer"]]["median"], f"its best peer ({row['best_peer']})"))
    return max(candidates)


def verdict(row):
    if not row["verdict"]:
        return "–"
    return {"wins": f"wins over {row['best_peer']}", "loses": f"loses to {row['best_peer']}",
            "even": f"even with {row['best_peer']}"}[row["verdict"]]


def same(words):
    words = list(words)
    return words[0] if len(set(words)) == 1 else " · ".join(words)


def each(rows, make, member=None, name=None):
    """Joins the cells of all runs; a dash for a run without the row. The unit is written once."""
    cells = [make(row) if member is None or name in row[member] else ("–", "") for row in rows]
    units = {unit for _, unit in cells if unit}
    shares = " · ".join(value for value, _ in cells)
    return f"{shares} {' '.join(sorted(units))}".strip()


def cell(row, figure):
    """(number, unit): bandwidth and its share of memcpy where bytes are moved."""
    if not row["moved"]:
        return amount(figure["median"]), figure["unit"]
    words = f"{row['moved'] / figure['median']:.1f}"
    reference = reference_of(row)
    if reference and figure is row["ours"]:
        words += f" ({reference['median'] / figure['median']:.2f})"
    return words, "GB/s"


def reference_of(row):
    """Returns the reference that the target is a share of."""
    for name, figure in (row["bounds"] | row["peers"]).items():
        if row["target"].endswith(f" of {name}"):
            return figure
    return None


def target_words(row):
    if row["limit"] is None or row["moved"] or row["target"].endswith(f" {row['ours']['unit']}"):
        return row["target"]
    return f"{row['target']} = {amount(row['limit'])} {row['ours']['unit']}"
