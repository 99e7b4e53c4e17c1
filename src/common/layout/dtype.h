/* What the other files need of element types beyond the public functions. */
#ifndef BI_COMMON_LAYOUT_DTYPE_H
#define BI_COMMON_LAYOUT_DTYPE_H

#include "common/base/status.h"

/* Checks a type that a caller may have filled in himself: BI_EDTYPE if its members do not fit each other. */
int bi__dtype_check(struct bi_dtype dtype, struct bi_error *err);

/* Byte order of one lane, as the array interface writes it: '<', '>' or '|'. For types that it cannot name, too. */
char bi__dtype_order(struct bi_dtype dtype);

/* What an exchange says of a type besides its size, in a word: DLPack's code and bits, kind and order as in abi.h. */
struct bi__type_words {
	uint8_t code; /* BI__TYPE_OPAQUE: DLPack has none */
	uint8_t bits;
	char kind, order;
};

#define BI__TYPE_OPAQUE 3

/* Of native and of swapped bytes. */
extern const struct bi__type_words bi__type_words[BI_TYPE_COUNT][2];

/* Of a type that is known to be sound. */
static inline struct bi__type_words bi__dtype_words(struct bi_dtype dtype)
{
	return bi__type_words[dtype.type][dtype.swapped];
}

/* Reads a typestr of `length` characters; names are not accepted. BI_EDTYPE. */
int bi__dtype_parse_typestr(const char *text, size_t length, struct bi_dtype *out, struct bi_error *err);

#endif
