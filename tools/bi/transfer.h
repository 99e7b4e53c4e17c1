/* The part of the command copy that uses the device: upload, view, copy on the device, download. */
#ifndef BI_TOOL_TRANSFER_H
#define BI_TOOL_TRANSFER_H

#include "buffer_interface.h"
#include "indexing.h"
#include "progress.h"

/* Elapsed seconds of each part, including waits. */
struct transfer_times {
	double upload;
	double copy;
	double download;
};

/* The input of a transfer. */
struct transfer_request {
	const struct bi_view *source; /* in host memory, dense in either order */
	const struct selection *selection;
	struct progress *progress;
};

/*
 * Makes *out: the selection of the source, in host memory, dense in C order. *out must be NULL before. The caller
 * releases it, also after a failure.
 */
int transfer(struct bi_context *context, const struct transfer_request *request, struct bi_view **out,
	     struct transfer_times *times, struct bi_error *err);

#endif
