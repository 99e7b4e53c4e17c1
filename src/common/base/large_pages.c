#ifdef __linux__
#define _DEFAULT_SOURCE /* madvise */
#endif

#include "common/base/large_pages.h"

#include <stdint.h>

#ifdef __linux__
#include <sys/mman.h>
#endif

/* A multiple of the usual page sizes. */
#define PAGE ((size_t)1 << 16)
#define REQUEST_FROM ((size_t)4 << 20)

void bi__request_large_pages(char *bytes, size_t nbytes)
{
#ifdef MADV_HUGEPAGE
	size_t skip = -(uintptr_t)bytes % PAGE;

	if (nbytes >= REQUEST_FROM)
		(void)madvise(bytes + skip, (nbytes - skip) / PAGE * PAGE, MADV_HUGEPAGE);
#else
	(void)bytes;
	(void)nbytes;
#endif
}
