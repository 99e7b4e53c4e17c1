/*
 * Arrays for the tests of DLPack, and a producer that is not this library: it hands over tensors that it made itself,
 * of memory that it keeps, and counts the calls of their deleters.
 */
#ifndef BI_TESTS_DLPACK_TENSORS_H
#define BI_TESTS_DLPACK_TENSORS_H

#include <stdatomic.h>
#include <stdlib.h>

#include "buffer_interface/dlpack.h"
#include "fixture.h"

int is_backend(const char *name);
int between(int low, int high);

/* A dense array of numbered bytes. */
struct bi_view *numbered(const char *dtype, int ndim, const int64_t *shape, enum bi_memory_kind kind);
/* An array of a random layout (slices, flips, permutations, new axes) of a type that DLPack has, of random bytes. */
struct bi_view *random_view(void);
/* Both have the same elements. */
void assert_same_bytes(const struct bi_view *a, const struct bi_view *b);

/* A tensor of the producer's. He keeps `kept` until it is let go. */
struct tensor {
	struct bi_dl_managed_versioned versioned;
	struct bi_dl_managed plain;
	struct bi_view *kept;
	int64_t shape[BI_MAX_NDIM], strides[BI_MAX_NDIM];
	atomic_int deleted;
};

/* As the library describes the view, in arrays of the producer's own. Nothing is pending on the memory. */
void make_tensor(struct tensor *tensor, const struct bi_view *view);
/* Lets it go if no import has done so, and checks that it is let go once. */
void drop_tensor(struct tensor *tensor);

/* With BI_DLPACK_TRUSTED, so that it works on OpenCL. */
struct bi_dlpack_import_options trusting(void);
struct bi_view *imported(struct tensor *tensor, unsigned flags);

/* Memory of a device is pending when it is imported; after a wait it goes at once. */
void let_view_go(struct bi_view *view);

int exports_group(void);
int imports_group(void);

#endif
