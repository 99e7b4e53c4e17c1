/* An array in host memory, read from a NumPy file and written to one. */
#ifndef BI_TOOL_ARRAY_H
#define BI_TOOL_ARRAY_H

#include "file.h"
#include "npy.h"
#include "progress.h"

struct array {
	struct npy npy;
	unsigned char *bytes; /* npy.nbytes bytes, owned; NULL until the array is filled */
};

/*
 * Reads the header of the file. On failure *wrong_content is 1 if the file is not a valid NumPy file, and 0 if the file
 * cannot be read. On success the input is positioned at the first element.
 */
int array_read_header(struct array *array, struct input *input, int *wrong_content, struct bi_error *err);

/*
 * Reads the elements. *trailing becomes 1 if the file has bytes after the elements, else 0. These bytes are not read.
 * *wrong_content is as for array_read_header.
 */
int array_read_elements(struct array *array, struct input *input, struct progress *progress, int *wrong_content,
			int *trailing, struct bi_error *err);

int array_write(const struct array *array, struct output *output, struct progress *progress, struct bi_error *err);

/* Frees the members that the struct owns. */
void array_clear(struct array *array);

#endif
