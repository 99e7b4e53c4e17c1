#include "contract.h"

#include <stdio.h>
#include <stdlib.h>

#include "driver.h"

struct share share;

int effort(int full)
{
	int cases = (int)((long long)full * share.context * share.effort / 10000);

	return cases > 0 ? cases : 1;
}

int is_thorough(void)
{
	return share.context * share.effort >= 10000;
}

int chosen(int i, int full)
{
	return effort(full) >= full ? i % full : (int)test_between(&fixture.random, 0, full - 1);
}

/* The drivers of the devices under test, each once. */
static size_t outsides(const struct bi_context **contexts)
{
	size_t count = 0;

	if (outside_of(fixture.context))
		contexts[count++] = fixture.context;
	if (fixture.second && outside_of(fixture.second) &&
	    (!count || outside_of(fixture.second) != outside_of(fixture.context)))
		contexts[count++] = fixture.second;
	return count;
}

int begin_test(void **state)
{
	const struct bi_context *contexts[2];
	size_t count = outsides(contexts);

	(void)state;
	for (size_t i = 0; i < count; i++)
		if (outside_of(contexts[i])->begin_test)
			outside_of(contexts[i])->begin_test(contexts[i]);
	return 0;
}

int end_test(void **state)
{
	const struct bi_context *contexts[2];
	size_t count = outsides(contexts);
	unsigned long complaints = 0;

	for (size_t i = 0; i < count; i++)
		if (outside_of(contexts[i])->end_test)
			complaints += outside_of(contexts[i])->end_test(*state);
	return complaints ? -1 : 0;
}

void let_go_of_retired(struct bi_context *context)
{
	OK(bi_stream_synchronize(bi_context_stream(context), &error));
	OK(bi_context_trim(context, SIZE_MAX, &error));
}

int is_device(const struct bi_context *context)
{
	return bi_context_device(context)->kind != BI_DEVICE_KIND_HOST;
}

struct bi_context *open_with(const char *spec, struct bi_options options)
{
	struct bi_context *context = STALE(struct bi_context);

	options.device = spec;
	OK(bi_context_open(&options, &context, &error));
	return context;
}

struct bi_context *open_context(const char *spec)
{
	return open_with(spec, (struct bi_options)BI_OPTIONS_INIT);
}

/* A native context that was made here. */
struct apart {
	const struct outside *outside;
	uintptr_t handle;
};

static void close_apart(void *data)
{
	struct apart *apart = data;

	apart->outside->release(DRIVER_CONTEXT, 0, apart->handle);
	free(apart);
}

struct bi_context *open_apart(void)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct apart *apart;

	if (!outside_of(fixture.context))
		return open_context(fixture.spec);
	apart = malloc(sizeof(*apart));
	assert_non_null(apart);
	apart->outside = outside_of(fixture.context);
	apart->handle = apart->outside->new_context(fixture.context);
	options.adopt_context = apart->handle;
	options.release = close_apart;
	options.release_data = apart;
	return open_with(apart->outside->backend, options);
}

void check_order(struct bi_memory *memory)
{
	const struct outside *outside = outside_of(bi_memory_context(memory));

	if (outside && outside->is_ordered && !outside->is_ordered(memory))
		fail_msg("case %lu: work that comes next does not wait for the work on the memory", fixture.cases);
}

void trim_randomly(struct bi_context *context)
{
	/* Of no byte the caches would be dropped as well. */
	if (test_between(&fixture.random, 0, 1))
		OK(bi_context_trim(context, 1, &error));
}

void cpu_accesses(const void *bytes, size_t nbytes, int writes)
{
	const struct outside *outside = outside_of(fixture.context);

	if (bytes && nbytes && outside && outside->touch)
		outside->touch(bytes, nbytes, writes);
}

void cpu_reads(const void *bytes, size_t nbytes)
{
	cpu_accesses(bytes, nbytes, 0);
}

void cpu_writes(void *bytes, size_t nbytes)
{
	cpu_accesses(bytes, nbytes, 1);
}

static struct bi_stream *new_stream(struct bi_context *context, unsigned flags)
{
	struct bi_stream *stream = STALE(struct bi_stream);

	OK(bi_stream_create(context, flags, &stream, &error));
	return stream;
}

static void ignore_release(struct bi_exchange *self)
{
	self->release = NULL;
}

struct bi_exchange exchange_of(const unsigned char bytes[3])
{
	static const int64_t shape[] = { 3 }, strides[] = { 1 };

	return (struct bi_exchange){ .version = BI_ABI_VERSION,
				     .struct_size = sizeof(struct bi_exchange),
				     .release = ignore_release,
				     .shape = shape,
				     .strides = strides,
				     .handle = (uintptr_t)bytes,
				     .size = 3,
				     .device_type = BI_EXCHANGE_DEVICE_CPU,
				     .item_size = 1,
				     .type_code = 1,
				     .type_bits = 8,
				     .type_lanes = 1,
				     .ndim = 1,
				     .handle_kind = BI_HANDLE_HOST };
}

struct bi_stream *random_stream(const struct bi_memory *memory)
{
	struct bi_context *context = bi_memory_is_host(memory) ? fixture.host : bi_memory_context(memory);

	switch (test_between(&fixture.random, 0, 3)) {
	case 0:
		return NULL;
	case 1:
		return bi_stream_retain(bi_context_stream(context));
	case 2:
		return new_stream(context, BI_STREAM_IN_ORDER);
	default:
		return new_stream(context,
				  can(context, BI_CAP_OUT_OF_ORDER) ? BI_STREAM_OUT_OF_ORDER : BI_STREAM_IN_ORDER);
	}
}
