/*
 * What the tests of DLPack stand on: a context per test, random arrays in it, and a producer that is not this library:
 * it hands over tensors that it made itself, of memory that it keeps, and counts how often they are let go.
 */
#ifndef BI_TESTS_DLPACK_BENCH_H
#define BI_TESTS_DLPACK_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "buffer_interface/dlpack.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct bench {
	const char *spec;
	const char *second_spec; /* or NULL */
	struct bi_context *context;
	struct bi_context *second; /* or NULL */
	struct test_random random;
};

extern struct bench bench;
extern struct bi_error error;

int open_bench(void **state);
int close_bench(void **state);

void check_ok(int rc, const char *call, const char *file, int line);
/* The message must have `reason` in it. */
void check_refused(int rc, int status, const char *reason, const char *call, const char *file, int line);

#define OK(call) check_ok((call), #call, __FILE__, __LINE__)
#define REFUSED(status, reason, call) check_refused((call), status, reason, #call, __FILE__, __LINE__)

int is_backend(const char *name);
int between(int low, int high);
struct bi_dtype dtype_of(const char *text);

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
