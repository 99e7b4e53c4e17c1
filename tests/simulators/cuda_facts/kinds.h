/* Memory of each kind, for the questions about pointers. */
#ifndef BI_TESTS_CUDA_FACTS_KINDS_H
#define BI_TESTS_CUDA_FACTS_KINDS_H

#include "facts.h"

/* Kind, source of the answers about its pointers. */
#define KINDS(X) \
	X(device, documented) \
	X(pool, assumed) \
	X(own_pool, assumed) /* a pool that the program makes, as the library does */ \
	X(managed, documented) \
	X(pinned, documented) \
	X(registered, documented) \
	X(mapped, assumed) /* a segment of virtual memory */ \
	X(foreign, documented) /* of malloc */

/* Size of the memory that piece_make makes, except for segments. It is no multiple of 16. */
enum { KIND_BYTES = 1000 };

enum kind {
#define KIND_ENUM(name, source) KIND_##name,
	KINDS(KIND_ENUM)
#undef KIND_ENUM
};

/* As an offset: the last byte. */
#define LAST SIZE_MAX

struct piece {
	enum kind kind;
	bi__cu_pointer pointer;
	size_t nbytes; /* KIND_BYTES, or the granularity */
	uint64_t handle; /* of a segment */
	bi__cu_pool pool;
};

/* Makes memory of the kind. Returns NULL, or the reason why there is no such memory. */
const char *piece_make(struct objects *objects, enum kind kind, struct piece *piece);
void piece_free(struct objects *objects, struct piece *piece);

/* Makes a memory pool. The driver must have cuMemPoolCreate. */
bi__cu_result make_pool(const struct objects *objects, bi__cu_pool *pool);

/* Properties of memory of device 0, and the right to read and write it, as cuda.h declares them. */
struct segment_properties {
	int type, handle_types, location_type, location_id;
	void *windows;
	unsigned char compression, rdma;
	unsigned short usage;
	unsigned char reserved[4];
};
struct segment_access {
	int location_type, location_id, flags;
};
extern const struct segment_properties segment_properties;
extern const struct segment_access segment_access;
size_t segment_granularity(void);

#endif
