/* Arrays for consumers: plain ones, legal but unusual ones, and illegal ones. Their memory is host memory. */
#ifndef BI_TOOL_CHECK_CASES_H
#define BI_TOOL_CHECK_CASES_H

#include <buffer_interface/abi.h>
#include <stddef.h>

#define CASE_COUNT 24 /* numbers in the memory: 1, 2, 3, … */
#define CASE_AXES 6
#define CASE_ITEM_MAX 8 /* bytes */

/* A type of the numbers. */
struct case_type {
	const char *name;
	uint8_t code, bits;
};

extern const struct case_type case_types[]; /* the name NULL ends the table */

/* A member with another value than that of a plain array. */
struct case_change {
	size_t offset, size; /* of the member; size 0: none */
	uint64_t value;
};

struct check_case {
	const char *name;
	const char *rule; /* the rule that the array breaks; NULL: the array is legal */
	/*
	 * The rule by which a consumer must accept this array, or NULL. The base is the last array before this one
	 * whose `permits` is NULL. A consumer that accepts the base and refuses this array breaks the rule.
	 */
	const char *permits;
	/*
	 * -1: ndim, shape and strides are those of the plain array that the consumer accepts, except for axis 0: there
	 * `shape` and `strides` apply if they are not 0.
	 */
	int ndim;
	int64_t shape[CASE_AXES], strides[CASE_AXES]; /* strides in elements */
	uint64_t offset; /* in elements */
	uint64_t shift; /* bytes by which the memory begins earlier, so that elements are not aligned */
	const char *descr;
	struct case_change changes[3];
};

/* The first CASE_PLAIN cases are plain. The name NULL ends the table. */
#define CASE_PLAIN 2
extern const struct check_case check_cases[];

/* Writes an integer of 1, 2, 4 or 8 bytes, or nothing if the size is 0. */
void case_write_integer(void *at, size_t size, uint64_t value);
/* Writes a number of a type. */
void case_write_number(const struct case_type *type, void *at, int number);
/* Returns the number that has these bytes, or -1 if it is none of 1 to CASE_COUNT. */
int case_read_number(const struct case_type *type, const void *at);

#endif
