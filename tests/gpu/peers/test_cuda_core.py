"""cuda.core beyond what every library does: what its view says of ours, and streams by their protocol."""

import numpy as np
from cuda.core import Device
from cuda.core.utils import StridedMemoryView

import buffer_interface as bi
from buffer_interface import buffer_interface


def test_its_view_says_what_ours_says(peer):
    view = bi.from_numpy(np.arange(48, dtype="f4").reshape(6, 8), device="cuda:0")
    for part in (view, buffer_interface(view, writable=False), view[::2, 1:]):
        seen = StridedMemoryView.from_any_interface(part, stream_ptr=-1)
        assert (seen.ptr, seen.device_id, seen.readonly) == (int(part.buffer), 0, part.readonly)
        assert seen.is_device_accessible and seen.dtype == part.dtype
        assert tuple(seen.shape) == part.shape


def test_streams_by_protocol_alone(peer, driver):
    Device(0).set_current()
    stream = Device(0).create_stream()

    class Named:
        def __cuda_stream__(self):
            return stream.__cuda_stream__()

    view = bi.zeros(64, "u1", device="cuda:0")
    view.acquire(Named())
    driver.fill(int(view.buffer), 5, 64, int(stream.handle))
    view.hand_back(Named())
    assert bytes(np.asarray(view.to("host"))) == bytes([5]) * 64
