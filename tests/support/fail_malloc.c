#include "fail_malloc.h"

#include <stdatomic.h>
#include <stdlib.h>

static atomic_size_t failing;

void *__real_malloc(size_t nbytes);
void *__wrap_malloc(size_t nbytes);

void fail_malloc_of(size_t nbytes)
{
	atomic_store(&failing, nbytes);
}

void *__wrap_malloc(size_t nbytes)
{
	size_t expected = nbytes;

	if (nbytes && atomic_compare_exchange_strong(&failing, &expected, 0))
		return NULL;
	return __real_malloc(nbytes);
}
