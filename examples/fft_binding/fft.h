/* Fourier transforms of arrays of any library, on the device on which they are. */
#ifndef FFT_H
#define FFT_H

#include "buffer_interface.h"

/*
 * Transforms the last axis of an array of complex64 in place. The array has any strides; the last extent is a power of
 * two. Takes ownership of *array on success, and also if the transform fails after the import: array->release is NULL
 * afterwards. One thread at a time may call it. On a device the function returns while the work may still run. Later
 * work of the producer on the array waits for it.
 */
int fft_forward(struct bi_exchange *array, struct bi_error *err);

#endif
