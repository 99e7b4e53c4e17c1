"""Rules C7, C8 and C15, gone through wait by wait and call by call on the simulated driver.

A wait that is dropped must be missed by somebody, else nobody needed it. A call that fails must become an exception, with
nothing left behind and the producer let go.
"""

import gc
import weakref

import pytest

import dlpack_structs as dl
from consumers import CaiConsumer, DLPackConsumer
from producers import CuPyLike, Naming, NumbaLike, TorchLike

N = 64


def import_and_write(bi, cuda):
    producer = CuPyLike(cuda)
    producer.fill(1)
    view = bi.buffer_interface(producer)
    view.fill(2)
    producer.fill(3)


def user_stream(bi, cuda):
    producer = CuPyLike(cuda)
    producer.fill(1)
    stream = cuda.stream()
    with bi.buffer_interface(producer, stream=stream):
        cuda.fill(producer.pointer, 2, N, stream)
    producer.fill(3)


def copy_between(bi, cuda):
    source, target = CuPyLike(cuda), CuPyLike(cuda)
    source.fill(1)
    target.fill(2)
    bi.copyto(target, source)
    source.fill(3)
    target.fill(4)


def dlpack_there(bi, cuda):
    producer = TorchLike(cuda)
    producer.fill(1)
    view = bi.buffer_interface(producer, protocol="dlpack")
    view.fill(2)
    view.synchronize()


def export_cai(bi, cuda):
    producer = CuPyLike(cuda)
    producer.fill(1)
    view = bi.buffer_interface(producer)
    view.fill(2)
    consumer = CaiConsumer(cuda).take(view)
    consumer.fill(3)
    consumer.hand_back()
    view.fill(4)
    producer.fill(5)


def export_dlpack(bi, cuda):
    producer = CuPyLike(cuda)
    producer.fill(1)
    view = bi.buffer_interface(producer)
    consumer = DLPackConsumer(cuda).take(view)
    consumer.fill(2)
    view.hand_back(consumer.stream)
    consumer.delete()
    producer.fill(3)


def join_streams(bi, cuda):
    producer = CuPyLike(cuda)
    producer.fill(1)
    view = bi.buffer_interface(producer)
    streams = [cuda.stream() for _ in range(3)]
    for index, stream in enumerate(streams):
        view.acquire(stream)
        cuda.fill(producer.pointer + 16 * index, 2, 16, stream)
    view.join(*streams)
    producer.fill(3)


def per_thread(bi, cuda):
    producer = Naming(cuda, stream=2)
    producer.named = 2
    producer.fill(1)
    bi.buffer_interface(producer).fill(2)


SCENARIOS = [
    import_and_write,
    user_stream,
    copy_between,
    dlpack_there,
    export_cai,
    export_dlpack,
    join_streams,
    per_thread,
]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_C7_no_race(bi, cuda_run, scenario, seed):
    with cuda_run(seed=seed) as run:
        scenario(bi, run.cuda)
    assert run.reports == []


def count_waits(bi, cuda_run, scenario):
    with cuda_run() as run:
        before = run.cuda.counts().waits
        scenario(bi, run.cuda)
        return run.cuda.counts().waits - before


@pytest.mark.parametrize("scenario", [one for one in SCENARIOS if one is not import_and_write])  # it waits for nothing
def test_C7_no_wait_is_superfluous(bi, cuda_run, scenario):
    count = count_waits(bi, cuda_run, scenario)
    assert count > 0
    for number in range(1, count + 1):
        with cuda_run() as run:
            run.cuda.sim.arm(drop_wait=number)
            scenario(bi, run.cuda)
            run.cuda.sim.arm()
        assert any(report.startswith("race") for report in run.reports), f"wait {number} of {scenario.__name__}"


class Keeping:
    """Keeps its capsules, which have no destructor, and lets go what nobody took: a failing import drops them while an
    exception is set, when no destructor in Python may run."""

    capsules = []

    def _capsule(self, tensor):
        capsule = dl.plain_capsule(tensor.address, tensor.name)
        self.capsules.append(capsule)
        return capsule

    @classmethod
    def let_go(cls):
        while cls.capsules:
            capsule = cls.capsules.pop()
            if dl.capsule_name(capsule) not in dl.USED.values():
                dl.call_deleter(dl.borrow(capsule))


class KeepingCuPyLike(Keeping, CuPyLike):
    pass


class KeepingTorchLike(Keeping, TorchLike):
    pass


def make_importer(kind, protocol):
    def use(bi, producer):
        view = bi.buffer_interface(producer, protocol=protocol)
        view[1:].__cuda_array_interface__
        view.fill(2)
        view.release()

    use.__name__ = protocol
    return kind, use


FAULTS = [
    make_importer(CuPyLike, "cuda_array_interface"),
    make_importer(NumbaLike, "cuda_array_interface"),
    make_importer(KeepingCuPyLike, "dlpack"),
    make_importer(KeepingTorchLike, "dlpack"),
]


@pytest.mark.parametrize("kind, use", FAULTS, ids=lambda value: value.__name__)
def test_C8_C15_no_failure_of_the_driver_keeps_the_producer(bi, cuda_run, kind, use):
    """Every call of the driver fails once, from the opening of the context on."""
    number, failed = 0, 1
    while failed:
        number += 1
        with cuda_run() as run:
            producer = kind(run.cuda)
            alive = weakref.ref(producer)
            run.cuda.sim.arm(fail_call=number)
            try:
                use(bi, producer)
            except (bi.DriverError, BufferError, MemoryError, RuntimeError):
                pass
            failed = run.cuda.counts().failed_calls
            run.cuda.sim.arm()
            run.cuda.synchronize()
            Keeping.let_go()
            del producer
            bi._core._close_contexts()
            gc.collect()
            assert alive() is None, f"call {number}"
        assert run.reports == [], f"call {number}"
    assert number > 5
