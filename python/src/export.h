/* What the exports share. */
#ifndef BIP_EXPORT_H
#define BIP_EXPORT_H

#include "extension.h"

/* 1: the CPU uses the memory as its own, host or pinned; managed memory is the device's as long as it works on it. */
int bip_is_host(const struct bi_view *view);

/* Address of element [0, ..., 0] of such memory; arrays without elements have one too, so that nobody meets 0 [H4]. */
void *bip_host_address(const struct bi_view *view);

/*
 * Host wait until nothing is pending on the memory, for consumers that know of no stream of ours. Without the GIL: the
 * object may lose the view meanwhile, so who goes on to use it holds it.
 */
int bip_settle(struct bi_view *view);

/* UnsupportedError if the array has a mask, which consumers of host memory would not see [H5]. */
int bip_refuse_host_mask(PyObject *self);

/* Lets go of a tensor of bi_dlpack_export that nobody took, by who has the GIL: it may be the last that holds its view. */
void bip_delete_export(struct bi_dl_managed_versioned *tensor);

/* Dictionaries ---------------------------------------------------------------------------------- export_pattern.c */

/*
 * Each access of an array interface gives a dictionary of its own, and what stands in it is always the same but for the
 * stream. So an array that is asked again keeps a dictionary that nobody else sees, to give copies of it: one with keys
 * and values at once is faster than one that grows. An array that is asked once keeps nothing.
 *
 * `is_cuda`: of __cuda_array_interface__, with None for the stream; else of __array_interface__. Memory that has both
 * keeps the one that was asked for twice first.
 */

/* A new dictionary; or NULL without an exception: nothing is kept. The caller has seen to the order of work. */
PyObject *bip_copy_pattern(PyObject *self, int is_cuda);

/* The same if nothing is pending, so that there is nothing to see to; else NULL. */
PyObject *bip_copy_idle_pattern(PyObject *self, int is_cuda);

/* A dictionary that was just made, and is about to be given away. It is not taken. */
void bip_keep_pattern(PyObject *self, PyObject *dict, int is_cuda);

#endif
