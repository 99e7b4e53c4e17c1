/* Native objects of the toy backend, and its numbers, for those who make such objects behind the library's back. */
#ifndef BI_TESTS_TOY_H
#define BI_TESTS_TOY_H

#include <stdatomic.h>

#include "common/backend/backend.h"

enum { HANDLE = 64, DEVICE_TYPE = 64, STREAM_KIND = 30 };

enum magic { CONTEXT = 0x746f7901, QUEUE, FILE_MEMORY, EVENT };

/* A native object. Objects of a context hold a reference to it. */
struct native {
	enum magic magic;
	atomic_uint refs;
	struct native *context; /* of which a context has none */
	int ordinal; /* context: of the device */
	int out_of_order; /* queue */
	char *bytes; /* file */
	size_t nbytes;
};

/* Objects are created with one reference. Without memory NULL is returned, with the reason. */
struct native *toy_create(enum magic magic, struct native *context, struct bi_error *err);
struct native *toy_create_file(struct native *context, size_t nbytes, struct bi_error *err);
struct native *toy_retain(struct native *native);
void toy_release(struct native *native);

extern const struct bi__backend bi__toy_backend;

#endif
