"""Masked arrays: what counts for the array counts for its mask, and nobody gets one without the other."""

import gc
import weakref

import numpy as np
import pytest

from buffer_interface import InvalidArrayError, UnsupportedError
from producers import DeviceArray


class Masked(DeviceArray):
    """Version 3; a stream only where one is given."""

    def __init__(self, cuda, mask=None, named=None, typestr="|u1"):
        super().__init__(cuda, (64,), typestr)
        self.mask, self.named = mask, named

    @property
    def __cuda_array_interface__(self):
        members = {**self._members(), "version": 3, "stream": self.named}
        return members if self.mask is None else {**members, "mask": self.mask}


@pytest.fixture
def masked(cuda):
    """A function that makes an array and its mask."""

    def make(**members):
        return Masked(cuda, Masked(cuda, typestr="|b1", **members), **members)

    return make


def test_H5_masked_host_array_is_in_no_host_protocol(bi, masked):
    host = bi.buffer_interface(masked(), mask="keep").to("host")
    assert host.mask.backend == "host"
    for ask in (np.asarray, memoryview, lambda array: array.__array__(), lambda array: array.__dlpack__()):
        with pytest.raises(UnsupportedError, match="masked"):
            ask(host)
    for name in ("__array_interface__", "__array_struct__"):
        assert not hasattr(host, name)
        with pytest.raises(AttributeError, match="H5"):
            getattr(host, name)
    host.synchronize()


def test_C3_end_of_with_waits_for_the_mask(bi, cuda, masked):
    array = masked()
    with bi.buffer_interface(array, mask="keep") as view:
        view.mask.fill(1)
    assert cuda.ordered(cuda.stream(), array.mask.pointer, 64)


def test_C3_stream_is_ordered_for_the_mask(bi, cuda, masked):
    array, stream = masked(), cuda.stream()
    array.named, array.mask.named = array.stream, array.mask.stream
    array.fill(1)
    array.mask.fill(1)
    view = bi.buffer_interface(array, mask="keep", stream=stream)
    assert cuda.ordered(stream, array.pointer, 64)
    assert cuda.ordered(stream, array.mask.pointer, 64)
    cuda.fill(array.mask.pointer, 0, 64, stream)
    view.release()
    assert cuda.ordered(array.mask.stream, array.mask.pointer, 64)


@pytest.mark.parametrize("how", ["acquire", "synchronize"])
def test_C3_what_is_pending_on_the_mask_comes_first(bi, cuda, masked, how):
    array, stream = masked(), cuda.stream()
    view = bi.buffer_interface(array, mask="keep")
    view.mask.fill(1)
    getattr(view, how)(*[] if how == "synchronize" else [stream])
    assert cuda.ordered(stream, array.mask.pointer, 64)


@pytest.mark.parametrize("export", ["__buffer_interface__(1)", "cuda_array_interface(2)", "cuda_array_interface(synchronize=True)"])
def test_B38_P17_an_export_that_waits_also_waits_for_the_mask(bi, cuda, masked, export):
    array = masked()
    view = bi.buffer_interface(array, mask="keep")
    view.mask.fill(1)
    eval(f"view.{export}", {"view": view})
    assert cuda.ordered(0, array.mask.pointer, 64)


def test_P17_an_export_that_opts_out_does_not_wait_for_the_mask(bi, cuda, masked):
    view = bi.buffer_interface(masked(), mask="keep")
    view.mask.fill(1)
    waits = len(cuda.sim.host_waits())
    view.cuda_array_interface(2, sync=False)
    assert len(cuda.sim.host_waits()) == waits and view.mask.stream is not None


def test_B38_an_object_of_ready_memory_has_a_mask_that_names_no_stream(bi, cuda, masked):
    view = bi.buffer_interface(masked(), mask="keep")
    view.mask.fill(1)
    bi.buffer_interface(view.mask, protocol="dlpack").release()
    view.mask.synchronize()
    assert view.mask.stream is not None
    ready = view.__buffer_interface__(1)
    assert (ready.stream, ready.mask.stream) == (None, None)
    assert ready.__buffer_interface__().mask.stream == view.mask.stream
    assert ready.mask.buffer == view.mask.buffer and view.__buffer_interface__() is view


@pytest.mark.parametrize("how", ["hand_back", "join"])
def test_C3_what_is_handed_back_counts_for_the_mask(bi, cuda, masked, how):
    array, stream = masked(), cuda.stream()
    view = bi.buffer_interface(array, mask="keep")
    cuda.fill(array.mask.pointer, 1, 64, stream)
    assert view.mask.stream is None
    getattr(view, how)(stream)
    assert cuda.ordered(view.mask.stream, array.mask.pointer, 64)


def test_L1_release_lets_the_mask_go(bi, masked):
    array = masked()
    view = bi.buffer_interface(array, mask="keep")
    gone = weakref.ref(array), weakref.ref(array.mask)
    view.release()
    with pytest.raises(InvalidArrayError, match="L1"):
        view.mask
    del array
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


class Releases:
    """An argument of asarray() that releases the array when it is read."""

    def __init__(self, view):
        self.view = view

    def __bool__(self):
        self.view.release()
        return True

    @property
    def spec(self):
        self.view.release()
        return "host"


@pytest.mark.parametrize("name", ["copy", "device"])
def test_L1_array_that_is_released_before_its_copy_is_not_copied_without_its_mask(bi, masked, name):
    view = bi.buffer_interface(masked(), mask="keep")
    with pytest.raises(InvalidArrayError, match="L1"):
        bi.asarray(view, **{name: Releases(view)})


def test_C3_mask_of_a_released_array_lives_on(bi, masked):
    view = bi.buffer_interface(masked(), mask="keep")
    mask = view.mask
    view.release()
    assert mask.shape == (64,)


def test_C3_copy_copies_the_mask(bi, masked):
    array = masked()
    view = bi.buffer_interface(array, mask="keep", copy=True)
    assert int(view.buffer) != array.pointer
    assert int(view.mask.buffer) != array.mask.pointer


def test_C3_readonly_is_the_mask_as_well(bi, masked):
    view = bi.buffer_interface(masked(), mask="keep", writable=False)
    assert (view.readonly, view.mask.readonly) == (True, True)


def test_C3_masked_is_said(bi, masked):
    assert repr(bi.buffer_interface(masked(), mask="keep")).endswith(", masked>")


@pytest.mark.parametrize("call", ["broadcast_to(array, (2, 4, 16))", "expand_dims(array)", "flip(array)", "moveaxis(array, 0, 1)",
                                  "ravel(array)", "squeeze(array)"])
def test_C3_functions_keep_the_mask_of_a_view(bi, masked, call):
    producer = masked()
    host = bi.buffer_interface(producer, mask="keep").to("host")
    host.mask.fill(0)
    host.mask[1] = host.mask[37] = True
    host = host.reshape(4, 16)
    apart = bi.from_numpy(host.mask, device="host")
    result = eval(f"bi.{call}", {"bi": bi, "array": host})
    assert result.mask.tolist() == eval(f"bi.{call}", {"bi": bi, "array": apart}).tolist()
    with pytest.raises(UnsupportedError, match="mask"):
        eval(f"bi.{call}", {"bi": bi, "array": producer})
