/* The part of the command copy that uses the device: upload, view, copy on the device, download. */
#ifndef BI_TOOL_TRANSFER_H
#define BI_TOOL_TRANSFER_H

#include "array.h"
#include "indexing.h"

/* Elapsed seconds of each part, including waits. */
struct transfer_times {
	double upload;
	double copy;
	double download;
};

/* The input of a transfer. */
struct transfer_request {
	const struct array *source;
	const struct selection *selection;
	struct progress *progress;
};

/*
 * Fills out->npy and out->bytes with the view of the source in C order. The device may use the arrays `source` and
 * `out` until the context is released. After that the caller clears both arrays, also after a failure.
 */
int transfer(struct bi_context *context, const struct transfer_request *request, struct array *out,
	     struct transfer_times *times, struct bi_error *err);

#endif
