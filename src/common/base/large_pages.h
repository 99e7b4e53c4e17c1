/* Large pages for memory of this process. */
#ifndef BI_COMMON_BASE_LARGE_PAGES_H
#define BI_COMMON_BASE_LARGE_PAGES_H

#include <stddef.h>

/*
 * Requests large pages for new memory. The first write to such memory causes a fault for each page, and with small
 * pages the faults take several times as long as the copy. Blocks of less than 4 MiB get no request, because they
 * seldom contain a large page. The system may ignore the request. Does nothing on systems other than Linux.
 */
void bi__request_large_pages(char *bytes, size_t nbytes);

#endif
