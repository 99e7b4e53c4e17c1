/* Internal functions on element types. */
#ifndef BI_COMMON_LAYOUT_DTYPE_H
#define BI_COMMON_LAYOUT_DTYPE_H

#include "common/base/status.h"

/* Checks a type whose members the caller may have set. Returns BI_EDTYPE if they are not valid together. */
int bi__dtype_check(struct bi_dtype dtype, struct bi_error *err);

/* The parts of the names of a type in DLPack and in the array interface that do not depend on the item size. */
struct bi__type_words {
	uint8_t code; /* of DLPack; BI__TYPE_OPAQUE: DLPack lacks the type */
	uint8_t bits; /* of a lane, for DLPack; 8 with BI__TYPE_OPAQUE */
	char order; /* of the bytes of a lane, in the array interface: '<', '>' or '|' */
};

#define BI__TYPE_OPAQUE 3

/* Indexed by the type, and by 0 for native or 1 for swapped bytes. */
extern const struct bi__type_words bi__type_words[BI_TYPE_COUNT][2];

/* Returns the words of a type that has passed bi__dtype_check. */
static inline struct bi__type_words bi__dtype_words(struct bi_dtype dtype)
{
	return bi__type_words[dtype.type][dtype.swapped];
}

/* Returns true for a character that may stand in front of a typestr: a byte order, or '|' for none. */
static inline int bi__dtype_is_order(char c)
{
	return c == '<' || c == '>' || c == '|' || c == '=';
}

/*
 * Reads a typestr of `length` characters. Names such as "float32" are not accepted. Returns BI_EDTYPE if the text is
 * malformed or the type is not supported.
 */
int bi__dtype_parse_typestr(const char *text, size_t length, struct bi_dtype *out, struct bi_error *err);

#endif
