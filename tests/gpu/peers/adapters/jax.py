"""JAX: arrays that never change, read-only in both protocols; streams of its own that nobody can name."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np

from adapters import CAI, DLPACK, NUMBERS, Peer

jax.config.update("jax_enable_x64", True)
MATRIX = 4096
PRODUCTS = 40


@jax.jit
def after_long_work(values):
    """`values`, once a product of matrices that takes long is done."""
    matrix = jnp.eye(MATRIX, dtype="float32")
    matrix = jax.lax.fori_loop(0, PRODUCTS, lambda i, product: product @ matrix, matrix)
    return values * matrix[0, 0].astype(values.dtype)


class Jax(Peer):
    dtypes = {CAI: NUMBERS, DLPACK: (*NUMBERS, "bfloat16")}
    streamless = (CAI,)
    readonly = (CAI, DLPACK)
    takes = {"from_dlpack": jax.dlpack.from_dlpack}
    takes_dtypes = (*NUMBERS, "bfloat16")
    strided = False

    def why_not(self):
        platforms = {device.platform for device in jax.devices()}
        return None if "gpu" in platforms else f"JAX sees no GPU, but {', '.join(sorted(platforms))}"

    def array(self, values):
        return jax.block_until_ready(jax.device_put(values, jax.devices("gpu")[0]))

    def copied(self, array):
        return jnp.add(array, 0)

    def numpy(self, array):
        return np.asarray(array)

    def layout(self, array):
        return array.unsafe_buffer_pointer(), array.shape, None

    def said(self, protocol, array, stream):
        """Nobody knows its streams, so the user waits where it does not say anything."""
        if protocol in self.streamless:
            array.block_until_ready()
        return {}

    @contextlib.contextmanager
    def pending(self, driver, values):
        after_long_work(values).block_until_ready()  # is compiled
        yield after_long_work(jax.device_put(values, jax.devices("gpu")[0])), None


peer = Jax()
