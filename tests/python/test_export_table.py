"""The structs behind `__dlpack_c_exchange_api__` are those of the published dlpack.h; unknown versions."""

import os
import pathlib
import subprocess
import sysconfig

import pytest
import tvm_ffi

import dlpack_structs as dl
from test_rules_exchange import table_of, to_py

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PUBLISHED = pathlib.Path(tvm_ffi.__file__).parent / "include"

PAIRS = """
bi_dl_device.device_type DLDevice.device_type
bi_dl_device.device_id DLDevice.device_id
bi_dl_type.code DLDataType.code
bi_dl_type.bits DLDataType.bits
bi_dl_type.lanes DLDataType.lanes
bi_dl_tensor.data DLTensor.data
bi_dl_tensor.device DLTensor.device
bi_dl_tensor.ndim DLTensor.ndim
bi_dl_tensor.dtype DLTensor.dtype
bi_dl_tensor.shape DLTensor.shape
bi_dl_tensor.strides DLTensor.strides
bi_dl_tensor.byte_offset DLTensor.byte_offset
bi_dl_managed_versioned.deleter DLManagedTensorVersioned.deleter
bi_dl_managed_versioned.flags DLManagedTensorVersioned.flags
bi_dl_managed_versioned.tensor DLManagedTensorVersioned.dl_tensor
bip_dlpack_header.previous DLPackExchangeAPIHeader.prev_api
bip_dlpack_table.allocate DLPackExchangeAPI.managed_tensor_allocator
bip_dlpack_table.from_object DLPackExchangeAPI.managed_tensor_from_py_object_no_sync
bip_dlpack_table.to_object DLPackExchangeAPI.managed_tensor_to_py_object_no_sync
bip_dlpack_table.describe_object DLPackExchangeAPI.dltensor_from_py_object_no_sync
bip_dlpack_table.current_work_stream DLPackExchangeAPI.current_work_stream
"""

CHECKS = """
#include <stddef.h>
#include "dlpack_table.h"
#include <dlpack/dlpack.h>
_Static_assert(DLPACK_MAJOR_VERSION == BI_DLPACK_MAJOR, "major version");
_Static_assert(BI_DL_READONLY == DLPACK_FLAG_BITMASK_READ_ONLY, "flag");
_Static_assert(BI_DL_COPIED == DLPACK_FLAG_BITMASK_IS_COPIED, "flag");
_Static_assert(BI_DL_PADDED == DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, "flag");
"""


def checks():
    text, sizes = CHECKS, set()
    for line in PAIRS.split("\n")[1:-1]:
        (ours, member), (theirs, published) = (name.split(".") for name in line.split())
        text += f'_Static_assert(offsetof(struct {ours}, {member}) == offsetof({theirs}, {published}), "{line}");\n'
        sizes.add((ours, theirs))
    for ours, theirs in sorted(sizes):
        text += f'_Static_assert(sizeof(struct {ours}) == sizeof({theirs}), "{theirs}");\n'
    return text


def compiles(text, folder):
    unit = folder / "unit.c"
    unit.write_text(text)
    command = [os.environ.get("CC", "cc"), "-std=c11", "-fsyntax-only", "-isystem", sysconfig.get_path("include")]
    command += ["-isystem", PUBLISHED, f"-I{ROOT / 'include'}", f"-I{ROOT / 'python/src'}", unit]
    return subprocess.run(command, capture_output=True, text=True)


def test_X2_layout_is_the_published_one(tmp_path):
    done = compiles(checks(), tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("ours, wrong", [("from_object", "to_object"), ("allocate", "current_work_stream")])
def test_X2_comparison_notices_another_order(tmp_path, ours, wrong):
    text = checks().replace(f"struct bip_dlpack_table, {ours})", f"struct bip_dlpack_table, {wrong})")
    assert "_Static_assert" in text and compiles(text, tmp_path).returncode != 0


def test_E2_X7_nothing_of_an_unknown_version_is_looked_at(bi):
    """Not even the device, for which a driver would be opened."""
    tensor = dl.Tensor(64, (1 << 62, 8), None, (99, 1, 0), (dl.CUDA, 77))
    tensor.block.major = 2
    with pytest.raises(bi.InvalidArrayError, match=r"version 2\.3.*E2"):
        to_py(table_of(bi), tensor.address)
    assert tensor.deleted == 1
