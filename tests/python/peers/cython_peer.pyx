# cython: language_level=3
"""A module with a typed memoryview."""


def increment(float[:] array):
    for i in range(array.shape[0]):
        array[i] += 1
