/* Large pages for memory of this process. */
#ifndef BI_COMMON_BASE_LARGE_PAGES_H
#define BI_COMMON_BASE_LARGE_PAGES_H

#include <stddef.h>

/*
 * Requests large pages for new memory. The first write to new memory causes a fault for each page, which can take
 * longer than the copy itself. Nothing is requested for less than 4 MiB, which may not contain a large page. The system
 * may ignore the request. Does nothing on systems other than Linux.
 */
void bi__request_large_pages(char *bytes, size_t nbytes);

#endif
