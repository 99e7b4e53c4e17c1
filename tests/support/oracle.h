/*
 * The oracle of the random tests
 *
 * An oracle is a memory together with an array of the bytes that the memory must contain. A test applies each operation
 * to both: to the memory by the library, and to the array by index arithmetic (naive_copy, naive_fill and others).
 * oracle_check compares all bytes of the two, so it also detects a write outside of a view.
 *
 * This file also makes random layouts and element types. Their random numbers come from `fixture`.
 */
#ifndef BI_TESTS_SUPPORT_ORACLE_H
#define BI_TESTS_SUPPORT_ORACLE_H

#include "fixture.h"

/* Element types of the random cases. */
struct item {
	const char *text;
	const char *descr; /* text of the fields of a structured type, or NULL */
};

#define SCALAR_ITEMS 16
extern const struct item element_types[];
extern const size_t item_count;

struct bi_dtype item_dtype(size_t item);
/* Return the index of a random type in element_types; random_item_of_size one of this item size. */
size_t random_item(void);
size_t random_item_of_size(uint32_t size);

/* Random layouts. Their offset is 0 until settle sets it. */

enum spread {
	SPREAD_DENSE, /* C order */
	SPREAD_NESTED, /* axes in any order, gaps, any sign: no two elements share bytes */
	SPREAD_REPEAT, /* nested, with some strides set to 0 */
	SPREAD_WILD /* any small strides */
};

int random_shape(int64_t *shape);
void random_layout(struct bi_layout *layout, size_t item, int ndim, const int64_t *shape, enum spread spread);
enum spread random_source_spread(void);
enum spread random_target_spread(void);

/* Sets the offset so that the lowest byte of an element is at `start`. Returns the end of the highest byte. */
size_t settle(struct bi_layout *layout, size_t start);
/* Settles behind up to 9 bytes or 4 items. Returns a size of memory that has up to 9 bytes behind the elements. */
size_t settle_randomly(struct bi_layout *layout);
/* Returns text such as "2-d float32 offset 12 shape x strides 3x-8 2x4". It is valid until the call after the next. */
const char *layout_text(const struct bi_layout *layout);

/* Naive reference */

size_t naive_size(const struct bi_layout *layout);
/* Offset of each element in C order. Freed by the caller. */
int64_t *naive_offsets(const struct bi_layout *layout, size_t *count);
void naive_gather(const unsigned char *bytes, const struct bi_layout *layout, unsigned char *dense);
void naive_scatter(unsigned char *bytes, const struct bi_layout *layout, const unsigned char *dense);
/* The source and the destination may overlap. */
void naive_copy(unsigned char *dst, const struct bi_layout *to, const unsigned char *src, const struct bi_layout *from);
void naive_fill(unsigned char *bytes, const struct bi_layout *layout, const void *element);
int naive_self_overlap(const struct bi_layout *layout, size_t nbytes);
int naive_overlap(const struct bi_layout *a, const struct bi_layout *b, size_t nbytes);

/* Oracles */

enum place {
	PLACE_DEVICE,
	PLACE_HOST, /* allocated on the host by the library */
	PLACE_WRAPPED, /* the test's own host bytes */
	PLACE_PINNED,
	PLACE_UNIFIED,
	PLACE_COUNT
};

struct oracle {
	struct bi_memory *memory;
	unsigned char *bytes;
	size_t nbytes;
};

int has_place(const struct bi_context *context, enum place place);
/* Makes a memory with random bytes. */
void oracle_open(struct oracle *oracle, struct bi_context *context, enum place place, size_t nbytes);
void oracle_check(const struct oracle *oracle, const char *what);
void oracle_close(struct oracle *oracle);
/* Reads all bytes of the memory. */
void oracle_read(const struct oracle *oracle, unsigned char *bytes);

struct bi_view *view_of(const struct oracle *oracle, const struct bi_layout *layout, unsigned flags);
/* Returns a view of all bytes of the memory. */
struct bi_view *bytes_of(struct bi_memory *memory);
void random_bytes(unsigned char *bytes, size_t nbytes);

/* Called when the CPU accesses these bytes, for a simulated driver that searches for races. NULL: not called. */
extern void (*oracle_cpu_access)(const void *bytes, size_t nbytes, int writes);

#endif
