/* The functions that `bi check` needs of examples/independent/producer.c: one for each kind of array. */
#include "../../examples/independent/producer.c"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The array of a kind is made by the first call. */
static int acquire(const char *name, void **made, uint32_t wishes, struct bi_exchange *out)
{
	int rc = 0;

	out->release = NULL;
	if (wishes & 0xffff) /* no demand is known */
		return -1;
	pthread_mutex_lock(&lock);
	if (!*made)
		rc = producer_make(name, made);
	pthread_mutex_unlock(&lock);
	return rc ? rc : producer_acquire(*made, out);
}

#define KIND(function, name) \
	int function(uint32_t wishes, struct bi_exchange *out); \
	int function(uint32_t wishes, struct bi_exchange *out) \
	{ \
		static void *made; \
		return acquire(name, &made, wishes, out); \
	}

KIND(host, "host")
KIND(host_strides, "host, strides")
KIND(host_no_dimension, "host, no dimension")
KIND(host_no_element, "host, no element")
KIND(host_readonly, "host, read-only")
KIND(opencl, "opencl")
KIND(opencl_pending, "opencl, pending")
