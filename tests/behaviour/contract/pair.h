/* Copies between two oracles, in the library and in the model. */
#ifndef BI_TESTS_CONTRACT_PAIR_H
#define BI_TESTS_CONTRACT_PAIR_H

#include "contract.h"

struct side {
	struct oracle *oracle;
	struct bi_layout layout;
};

/* A random stream of a device memory involved, if there is one. Released by the caller. */
struct bi_stream *pair_stream(const struct side *dst, const struct side *src);

/* "copy to ... from ...", for messages; static storage. */
const char *pair_text(const struct side *dst, const struct side *src);

/* One copy and every byte of both memories compared; the views and the stream are gone before that. */
void copy_both(const struct side *dst, const struct side *src);

#endif
