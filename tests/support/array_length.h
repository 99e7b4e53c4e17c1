#ifndef BI_TESTS_SUPPORT_ARRAY_LENGTH_H
#define BI_TESTS_SUPPORT_ARRAY_LENGTH_H

/* The number of elements of an array (not of a pointer). */
#define ARRAY_LENGTH(array) (sizeof(array) / sizeof(*(array)))

#endif
