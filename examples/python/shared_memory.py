"""multiprocessing: two processes work on halves of one array in shared memory. Nothing is copied between them.

    python shared_memory.py
"""

import multiprocessing

import numpy as np

import buffer_interface as bi


def square(rows):
    elements = rows.numpy()
    np.multiply(elements, elements, out=elements)


def main():
    array = bi.shared_empty((1000, 1000))
    array.numpy()[:] = np.arange(1e6).reshape(1000, 1000)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.map(square, [array[::2], array[1::2]])
    np.testing.assert_array_equal(array.numpy(), np.arange(1e6).reshape(1000, 1000) ** 2)
    print("two processes squared one array in shared memory")


if __name__ == "__main__":
    main()
