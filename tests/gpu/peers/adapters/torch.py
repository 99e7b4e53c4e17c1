"""PyTorch: version 2 without a stream, and heedless of ours; DLPack of both kinds in both directions."""

import contextlib

import numpy as np
import torch

from adapters import CAI, DLPACK, Peer

# What NumPy and PyTorch both have. Unsigned types beyond a byte came to PyTorch late and do little.
COMMON = ("|b1", "|u1", "|i1", "<i2", "<i4", "<i8", "<f2", "<f4", "<f8", "<c8", "<c16")


class PyTorch(Peer):
    dtypes = {CAI: COMMON, DLPACK: (*COMMON, "bfloat16")}
    streamless = (CAI,)
    takes = {
        "as_tensor": lambda view: torch.as_tensor(view, device="cuda"),
        "from_dlpack": torch.from_dlpack,
    }
    heedless = ("as_tensor",)
    takes_dtypes = (*COMMON, "bfloat16")
    from_capsule = staticmethod(torch.utils.dlpack.from_dlpack)

    def why_not(self):
        return None if torch.cuda.is_available() else "PyTorch sees no GPU"

    def array(self, values):
        if values.dtype.name == "bfloat16":
            tensor = torch.from_numpy(values.view("i2").copy()).view(torch.bfloat16)
        else:
            tensor = torch.from_numpy(values.copy())
        tensor = tensor.to("cuda")
        torch.cuda.synchronize()
        return tensor

    def stream(self):
        return torch.cuda.Stream()

    def handle(self, stream):
        return stream.cuda_stream

    @contextlib.contextmanager
    def on(self, stream):
        with torch.cuda.stream(stream):
            yield

    def fill(self, tensor, value):
        tensor.fill_(value.item() if isinstance(value, np.generic) else value)

    def copied(self, tensor):
        return tensor.clone()

    def numpy(self, tensor):
        torch.cuda.synchronize()
        if tensor.dtype == torch.bfloat16:
            import ml_dtypes

            return tensor.view(torch.int16).cpu().numpy().view(ml_dtypes.bfloat16)
        return tensor.cpu().numpy()

    def layout(self, tensor):
        strides = tuple(stride * tensor.element_size() for stride in tensor.stride())
        return tensor.data_ptr(), tuple(tensor.shape), strides


peer = PyTorch()
