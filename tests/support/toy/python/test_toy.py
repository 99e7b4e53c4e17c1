"""The package on a backend that it has never heard of: an extension that was built with the toy backend."""

import numpy as np
import pytest

import buffer_interface as bi

VALUES = np.arange(24, dtype=np.float32).reshape(4, 6)


def to_numpy(view):
    there = np.empty(view.shape, view.dtype)
    bi.copyto(there, view)
    return there


@pytest.fixture(params=["toy", "toy:0", "toy:1", "toy:mapped files"])
def view(request):
    return bi.from_numpy(VALUES, device=request.param)


def test_it_is_listed_and_named(view):
    assert view.backend == "toy"
    assert view.device_spec in {device.spec for device in bi.devices() if device.usable}
    assert view.device == (0, int(view.device_spec[-1]))
    assert view.context


def test_there_and_back(view):
    assert np.array_equal(to_numpy(view), VALUES)
    assert np.array_equal(to_numpy(view[1:, ::2]), VALUES[1:, ::2])
    assert np.array_equal(to_numpy(view.T), VALUES.T)
    assert view.item(2, 3) == VALUES[2, 3]


def test_copies_between_devices(view):
    for device in ("host", "toy:0", "toy:1", "opencl"):
        there = bi.empty(VALUES.shape, "<f4", device=device)
        bi.copyto(there, view)
        assert np.array_equal(to_numpy(there), VALUES)


def test_a_view_names_its_device(view):
    assert bi.empty(3, "<i4", device=view).device_spec == view.device_spec


def test_its_handle_is_an_object(view):
    part = view[1:]
    assert part.offset == VALUES.strides[0]
    assert int(part.buffer) == int(view.buffer)


def test_it_gives_no_host_interface(view):
    with pytest.raises((BufferError, TypeError)):
        memoryview(view)
    assert not hasattr(view, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match="O7"):
        view.cl_context


def test_exchange_by_struct(view):
    other = bi.buffer_interface(view)
    assert other.device_spec == view.device_spec
    assert np.array_equal(to_numpy(other), VALUES)


@pytest.mark.parametrize("text", ["toy:", "toy:0:0", "toys"])
def test_what_is_no_device_string(text):
    with pytest.raises(ValueError, match="not a device string"):
        bi.empty(1, "<i4", device=text)


def test_there_is_no_third():
    with pytest.raises(bi.DriverError, match="toy"):
        bi.empty(1, "<i4", device="toy:2")
