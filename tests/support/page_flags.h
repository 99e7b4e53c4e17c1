/* Tests if large pages were requested for memory of this process. */
#ifndef BI_TESTS_SUPPORT_PAGE_FLAGS_H
#define BI_TESTS_SUPPORT_PAGE_FLAGS_H

/*
 * Returns 1 if large pages were requested for the mapping that contains the address, otherwise 0, or -1 if the system
 * has no large pages or does not list the requests.
 */
int test_large_pages_at(const void *address);

#endif
