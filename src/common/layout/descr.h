/*
 * Reads and writes the descr text of the array interface: a Python list of fields, as repr writes it.
 *
 *     [('x', '<f4'), (('title', 'y'), [('a', '|u1'), ('', '|V3')]), ('z', '<i2', (3, 4))]
 *
 * A field is (name, type) or (name, type, shape). Fields follow each other without gaps: a gap is a field named ''.
 * No function allocates. A nested descr in a result points into the text that was read.
 *
 * The exchange structure has the same list in JSON, without titles (docs/specification.md, section 3):
 *
 *     [["x", "<f4"], ["y", [["a", "|u1"], ["", "|V3"]]], ["z", "<i2", [3, 4]]]
 */
#ifndef BI_COMMON_LAYOUT_DESCR_H
#define BI_COMMON_LAYOUT_DESCR_H

#include "common/base/status.h"

/*
 * The deepest nesting of lists that is read, the outermost list included. A list nests as deep in JSON as in Python's
 * notation, so each type that is read can be written in both.
 */
#define BI__DESCR_DEPTH 16

/* The most bytes of a JSON text that is read or written, without the final NUL. */
#define BI__DESCR_JSON_MAX 65536

enum bi__descr_notation { BI__DESCR_PYTHON, BI__DESCR_JSON };

struct bi__descr_field {
	int64_t offset; /* bytes from the start of the item */
	struct bi_dtype dtype; /* type of one element; VOID for a nested list */
	const char *descr; /* start of the nested list in the text, without a final NUL; or NULL */
	size_t descr_length;
	int ndim; /* dimensions of an array field, 0 for a single element */
	int64_t shape[BI_MAX_NDIM];
};

/*
 * Checks the whole text and writes the size of an item in bytes. Returns BI_EDTYPE if the text is malformed, is not
 * UTF-8, contains a NUL, names a type that is not supported, has more than BI_MAX_NDIM extents in a shape, or is nested
 * too deep. Returns BI_EOVERFLOW if the size or the length of the text exceeds 32 bits, or an extent int64_t.
 */
int bi__descr_size(const char *text, size_t length, uint32_t *size, struct bi_error *err);

/*
 * Checks the whole text like bi__descr_size, and writes the first field of the outermost list with this name to *out.
 * Returns BI_EINVAL if no field of this list has the name. The name '' matches no field.
 */
int bi__descr_find(const char *text, size_t length, const char *name, struct bi__descr_field *out,
		   struct bi_error *err);

/*
 * Checks a text in the notation `from`, and writes it in the other notation. *room is the number of bytes that may be
 * written, and becomes the length of the whole result. No NUL is written. JSON gets no titles. The failures are those
 * of bi__descr_size.
 */
int bi__descr_translate(const char *text, size_t length, enum bi__descr_notation from, char *out, size_t *room,
			struct bi_error *err);

/*
 * Reads the list that begins at *at, and writes it as Python's repr writes it, with titles and complete typestrs. The
 * result has at most twice as many bytes. *room is as in bi__descr_translate. *at becomes the end of the list, which
 * other text may follow. *item_size becomes the size of an item. The failures are those of bi__descr_size.
 */
int bi__descr_print(const char **at, const char *end, char *out, size_t *room, uint32_t *item_size,
		    struct bi_error *err);

/*
 * Reads the digits of an extent and moves *at behind them. Returns BI_EINVAL, and does not move *at, if there are no
 * digits, or if the first of several is 0. Returns BI_EOVERFLOW if the number is above INT64_MAX.
 */
int bi__descr_read_extent(const char **at, const char *end, int64_t *out);

/* Reads a JSON text that is one string: the typestr of a type without fields, such as ">f4". */
int bi__descr_read_word(const char *json, size_t length, struct bi_dtype *out, struct bi_error *err);

#endif
