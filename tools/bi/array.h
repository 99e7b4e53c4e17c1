/* An array in host memory, from a NumPy file and to one. */
#ifndef BI_TOOL_ARRAY_H
#define BI_TOOL_ARRAY_H

#include "file.h"
#include "npy.h"
#include "progress.h"

struct array {
	struct npy npy;
	unsigned char *bytes; /* npy.nbytes of them, owned; never NULL in an array that is filled */
};

/*
 * Reads the header. *wrong_content tells a file that is not what it should be from one that cannot be read. On success
 * the input stands at the first element.
 */
int array_read_header(struct array *array, struct input *input, int *wrong_content, struct bi_error *err);

/* Reads the elements. What comes after them is left alone; *trailing is 1 if there is something. */
int array_read_elements(struct array *array, struct input *input, struct progress *progress, int *wrong_content,
			int *trailing, struct bi_error *err);

int array_write(const struct array *array, struct output *output, struct progress *progress, struct bi_error *err);

/* Frees what the structure owns. */
void array_clear(struct array *array);

#endif
