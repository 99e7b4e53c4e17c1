"""JAX beyond what every library does: what it computes from ours, and arrays that it gives up."""

import jax
import jax.numpy as jnp
import numpy as np

import buffer_interface as bi
from buffer_interface import buffer_interface


def test_it_computes_with_ours(peer):
    view = bi.from_numpy(np.arange(64, dtype="f4"), device="cuda:0")
    result = jax.jit(lambda x: jnp.sum(x * 2))(jax.dlpack.from_dlpack(view))
    assert float(result) == 2 * sum(range(64))


def test_a_donated_array_is_not_used_again(peer):
    """What another holds a view of does not change under the view."""
    array = jax.device_put(np.arange(64, dtype="f4"), jax.devices("gpu")[0])
    view = buffer_interface(array, protocol="dlpack")
    try:
        jax.jit(lambda x: x + 1, donate_argnums=0)(array).block_until_ready()
    except (RuntimeError, ValueError):
        pass  # it may refuse to give up what somebody else uses
    assert np.array_equal(np.asarray(view.to("host")), np.arange(64, dtype="f4"))
