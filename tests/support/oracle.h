/*
 * What memory must contain: the oracle of the random tests.
 *
 * An oracle is a memory together with a plain array of bytes that says what the memory must contain. A test applies
 * each operation to both, to the memory by the library and to the array by explicit index arithmetic (naive_copy,
 * naive_fill,
 * ...). oracle_check compares every byte of the two, so that a write outside of a view is seen as well.
 *
 * Random layouts and element types come from here too. All random numbers are those of `fixture`.
 */
#ifndef BI_TESTS_SUPPORT_ORACLE_H
#define BI_TESTS_SUPPORT_ORACLE_H

#include "fixture.h"

/* Element types of the random cases. */
struct item {
	const char *text;
	const char *descr; /* structured, or NULL */
};

#define SCALAR_ITEMS 16
extern const struct item element_types[];
extern const size_t item_count;

struct bi_dtype item_dtype(size_t item);
/* A random type of that size. */
size_t random_item(void);
size_t random_item_of_size(uint32_t size);

/* Random layouts. They are counted from offset 0 until settle gives them a place. */

enum spread {
	SPREAD_DENSE, /* C order */
	SPREAD_NESTED, /* axes in any order, gaps, any sign: no two elements share bytes */
	SPREAD_REPEAT, /* nested, with strides that became 0 */
	SPREAD_WILD /* any small strides */
};

int random_shape(int64_t *shape);
void random_layout(struct bi_layout *layout, size_t item, int ndim, const int64_t *shape, enum spread spread);
enum spread random_source_spread(void);
enum spread random_target_spread(void);

/* Sets the offset so that the first byte that is reached is at `start`; returns the end of the last one. */
size_t settle(struct bi_layout *layout, size_t start);
/* Settles behind a few unused bytes; returns the size of a memory that ends a few bytes later. */
size_t settle_randomly(struct bi_layout *layout);
/* "2-d <f4 offset 12 shape 3 2 strides -8 1", for messages; static storage, two at a time. */
const char *layout_text(const struct bi_layout *layout);

/* Naive reference. */

size_t naive_size(const struct bi_layout *layout);
/* Offset of each element in C order. Freed by the caller. */
int64_t *naive_offsets(const struct bi_layout *layout, size_t *count);
void naive_gather(const unsigned char *bytes, const struct bi_layout *layout, unsigned char *dense);
void naive_scatter(unsigned char *bytes, const struct bi_layout *layout, const unsigned char *dense);
/* As if the source had been copied aside first. */
void naive_copy(unsigned char *dst, const struct bi_layout *to, const unsigned char *src, const struct bi_layout *from);
void naive_fill(unsigned char *bytes, const struct bi_layout *layout, const void *element);
int naive_self_overlap(const struct bi_layout *layout, size_t nbytes);
int naive_overlap(const struct bi_layout *a, const struct bi_layout *b, size_t nbytes);

/* Oracles. */

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
/* Random bytes. */
void oracle_open(struct oracle *oracle, struct bi_context *context, enum place place, size_t nbytes);
void oracle_check(const struct oracle *oracle, const char *what);
void oracle_close(struct oracle *oracle);
/* Makes what the memory holds the expectation. */
void oracle_read(const struct oracle *oracle, unsigned char *bytes);

struct bi_view *view_of(const struct oracle *oracle, const struct bi_layout *layout, unsigned flags);
/* Dense bytes of the memory as they are. */
struct bi_view *bytes_of(struct bi_memory *memory);
void random_bytes(unsigned char *bytes, size_t nbytes);

/* Reports to the program that watches the driver that the CPU reads or writes these bytes now; NULL: nobody watches. */
extern void (*oracle_cpu_access)(const void *bytes, size_t nbytes, int writes);

#endif
