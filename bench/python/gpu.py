"""GPUs: each layout and item size at 1 GiB beside the device's own copy, strided transfers beside contiguous ones."""

import drivers
import gpu_peers
import native
from layouts import GIB, GPU_LAYOUTS, LAYOUTS, MIB, TRANSFERRED_LAYOUTS
from native import COPY, DEVICE, HOST, Missing, request
from report import share_of

GROUP = "gpu"
ITEM_SIZES = (1, 2, 4, 8, 16)
QUICK_BYTES = MIB // 16
SECTOR = 32
COPY_OF_DEVICE = "device's own copy"
PINNED = "pinned, contiguous"
# Both ways, of pinned and of pageable memory: source, destination, whether the memory is pinned.
TRANSFERS = {f"{words}, {memory}": (source, destination, pinned)
             for words, source, destination in (("host to device", HOST, DEVICE), ("device to host", DEVICE, HOST))
             for pinned, memory in ((1, "pinned"), (0, "pageable"))}


def run(report, here, quick):
    for spec in drivers.gpus(report, here, quick):
        for name, make in (LAYOUTS | GPU_LAYOUTS).items():
            for item_size in ITEM_SIZES:
                operation = f"{name}, {item_size} bytes an item, {spec}"
                if report.wants(operation):
                    with native.Array(here, make(QUICK_BYTES if quick else GIB, item_size)) as array:
                        on_device(report, array, spec, operation)
        for name, make in (LAYOUTS | TRANSFERRED_LAYOUTS).items():
            named = {f"{name}, {words}, {spec}": job for words, job in TRANSFERS.items()}
            chosen = {operation: job for operation, job in named.items() if report.wants(operation)}
            if chosen:
                with native.Array(here, make(QUICK_BYTES if quick else GIB // 4, 4)) as array:
                    transfers(report, array, spec, chosen)


def target_of(layout):
    """A share of the device's own copy, which reads no byte in vain: memory is read in sectors of 32 bytes. Items of 1
    and 2 bytes are harder, so they have a share of their own."""
    read = layout.bytes * min(min(map(abs, layout.strides)), SECTOR) // layout.item_size
    share = (.95 if layout.item_size >= 4 else .80) * 2 * layout.bytes / (layout.bytes + read)
    return share_of(COPY_OF_DEVICE, round(share, 2))


def on_device(report, array, spec, operation):
    runners = {"ours": drivers.verified(drivers.ours(array, spec, request(every=8)), operation),
               COPY_OF_DEVICE: drivers.verified(drivers.raw(array, spec, request(every=8)), COPY_OF_DEVICE)}
    if spec.startswith("cuda:"):
        gpu_peers.add_all(report, runners, array, int(spec.split(":")[1]))
    bounds = () if array.layout.name == "contiguous" else (COPY_OF_DEVICE,)
    report.measure(GROUP, operation, runners, target_of(array.layout), bounds, 2 * array.layout.bytes,
                   on_processor=False)


def transfers(report, array, spec, chosen):
    for operation, (source, destination, pinned) in chosen.items():
        array.release_jobs()
        transfer(report, array, spec, operation, request(COPY, source, destination, pinned=pinned))


def transfer(report, array, spec, operation, wanted):
    if wanted.pinned and not spec.startswith("cuda"):
        report.skip(operation, Missing("the driver's own transfer of pinned memory is written for CUDA alone"))
        return
    runners = {"ours": drivers.verified(drivers.ours(array, spec, wanted), operation),
               PINNED: drivers.verified(drivers.raw(array, spec, wanted), PINNED)}
    report.measure(GROUP, operation, runners, share_of(PINNED, .9), (PINNED,), 2 * array.layout.bytes,
                   on_processor=False)
