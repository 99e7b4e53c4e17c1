#include "fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"

struct fixture fixture;
struct bi_error error;

int effort(int full)
{
	int cases = (int)((long long)full * fixture.share * fixture.effort / 10000);

	return cases > 0 ? cases : 1;
}

int is_thorough(void)
{
	return fixture.share * fixture.effort >= 10000;
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

static const char untouched[] = "untouched";

void mark_error(void)
{
	error.status = 77;
	error.vendor = 78;
	memcpy(error.message, untouched, sizeof(untouched));
}

void check_ok(int rc, const char *call, const char *file, int line)
{
	if (rc == BI_OK && error.status == 77 && error.vendor == 78 && strcmp(error.message, untouched) == 0)
		return;
	print_error("%s\n  returned %d (%s): %s\n", call, rc, bi_status_name(rc), error.message);
	_fail(file, line);
}

static int is_sentence(const char *message)
{
	const char *end = memchr(message, '\0', sizeof(error.message));

	return end && end > message && !strpbrk(message, "\n\r") && strcmp(message, untouched) != 0;
}

void check_refused(int rc, int status, const char *call, const char *file, int line)
{
	if (rc < 0 && (status == BI_OK || rc == status) && error.status == rc && is_sentence(error.message))
		return;
	print_error("%s\n  returned %d (%s), expected %s; error has %d: %.256s\n", call, rc, bi_status_name(rc),
		    status ? bi_status_name(status) : "a failure", error.status, error.message);
	_fail(file, line);
}

void count_release(void *data)
{
	atomic_fetch_add((atomic_int *)data, 1);
}

void let_go_of_retired(struct bi_context *context)
{
	OK(bi_stream_synchronize(bi_context_stream(context), &error));
	OK(bi_context_trim(context, SIZE_MAX, &error));
}

static int has_backend(const struct bi_context *context, const char *name)
{
	return strcmp(bi_context_device(context)->backend, name) == 0;
}

int is_opencl(const struct bi_context *context)
{
	return has_backend(context, "opencl");
}

int is_cuda(const struct bi_context *context)
{
	return has_backend(context, "cuda");
}

int is_device(const struct bi_context *context)
{
	return !has_backend(context, "host");
}

int can(const struct bi_context *context, unsigned capability)
{
	return (bi_context_device(context)->capabilities & capability) != 0;
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

void check_order(const struct bi_memory *memory)
{
	const struct outside *outside = outside_of(bi_memory_context(memory));

	if (outside && outside->is_ordered && !outside->is_ordered(memory))
		fail_msg("case %lu: the home of the memory does not wait for the work on it", fixture.cases);
}

void trim_randomly(struct bi_context *context)
{
	/* Of no byte the caches would be dropped as well. */
	if (test_between(&fixture.random, 0, 1))
		OK(bi_context_trim(context, 1, &error));
}

static void touch(const void *bytes, size_t nbytes, int writes)
{
	const struct outside *outside = outside_of(fixture.context);

	if (bytes && nbytes && outside && outside->touch)
		outside->touch(bytes, nbytes, writes);
}

void cpu_reads(const void *bytes, size_t nbytes)
{
	touch(bytes, nbytes, 0);
}

void cpu_writes(void *bytes, size_t nbytes)
{
	touch(bytes, nbytes, 1);
}

struct bi_view *view_of(const struct mirror *mirror, const struct bi_layout *layout, unsigned flags)
{
	struct bi_view *view = STALE(struct bi_view);

	OK(bi_view_create(mirror->memory, layout, flags, &view, &error));
	return view;
}

struct bi_view *bytes_of(struct bi_memory *memory)
{
	const int64_t shape[] = { (int64_t)bi_memory_nbytes(memory) };
	struct bi_layout layout;
	struct bi_view *view = STALE(struct bi_view);

	OK(bi_layout_init(&layout, dtype_of("uint8"), 1, shape, NULL, 0, &error));
	OK(bi_view_create(memory, &layout, 0, &view, &error));
	return view;
}

void random_bytes(unsigned char *bytes, size_t nbytes)
{
	for (size_t i = 0; i < nbytes; i++)
		bytes[i] = (unsigned char)test_next(&fixture.random);
}

int has_place(const struct bi_context *context, enum place place)
{
	return place != PLACE_UNIFIED || can(context, BI_CAP_SVM);
}

static struct bi_memory *wrap_copy(struct bi_context *context, const unsigned char *bytes, size_t nbytes)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory = STALE(struct bi_memory);
	unsigned char *own = malloc(nbytes ? nbytes : 1);

	assert_non_null(own);
	memcpy(own, bytes, nbytes);
	foreign.handle = (uintptr_t)own;
	foreign.nbytes = nbytes;
	foreign.release = free;
	foreign.release_data = own;
	OK(bi_memory_wrap(context, &foreign, &memory, &error));
	return memory;
}

static struct bi_memory *allocate_copy(struct bi_context *context, enum place place, const unsigned char *bytes,
				       size_t nbytes)
{
	static const enum bi_memory_kind kinds[] = {
		[PLACE_DEVICE] = BI_MEMORY_DEVICE,
		[PLACE_HOST] = BI_MEMORY_HOST,
		[PLACE_PINNED] = BI_MEMORY_PINNED,
		[PLACE_UNIFIED] = BI_MEMORY_UNIFIED,
	};
	struct bi_memory *memory = STALE(struct bi_memory);
	struct bi_view *all;

	OK(bi_memory_create(context, nbytes, kinds[place], &memory, &error));
	all = bytes_of(memory);
	OK(bi_view_write(all, bytes, nbytes, &error));
	bi_view_release(all);
	return memory;
}

void mirror_open(struct mirror *mirror, struct bi_context *context, enum place place, size_t nbytes)
{
	mirror->nbytes = nbytes;
	mirror->bytes = malloc(nbytes ? nbytes : 1);
	assert_non_null(mirror->bytes);
	random_bytes(mirror->bytes, nbytes);
	mirror->memory = place == PLACE_WRAPPED ? wrap_copy(context, mirror->bytes, nbytes)
						: allocate_copy(context, place, mirror->bytes, nbytes);
	assert_int_equal(bi_memory_nbytes(mirror->memory), nbytes);
}

/* As the CPU sees it; 0: there is no address that holds at any time. */
static int read_by_address(const struct bi_view *all, unsigned char *bytes, size_t nbytes)
{
	const void *address = bi_view_host_pointer(all);

	/* Where a driver maps, the address holds only while the memory is mapped. */
	if (!address || !is_cuda(bi_memory_context(bi_view_memory(all))))
		return 0;
	OK(bi_view_synchronize(all, &error));
	cpu_reads(address, nbytes);
	memcpy(bytes, address, nbytes);
	return 1;
}

void mirror_read(const struct mirror *mirror, unsigned char *bytes)
{
	struct bi_view *all = bytes_of(mirror->memory);

	if (test_between(&fixture.random, 0, 1) || !read_by_address(all, bytes, mirror->nbytes))
		OK(bi_view_read(all, bytes, mirror->nbytes, &error));
	bi_view_release(all);
}

void mirror_check(const struct mirror *mirror, const char *what)
{
	unsigned char *bytes = malloc(mirror->nbytes ? mirror->nbytes : 1);
	size_t i = 0;

	assert_non_null(bytes);
	memset(bytes, 0xa5, mirror->nbytes);
	mirror_read(mirror, bytes);
	while (i < mirror->nbytes && bytes[i] == mirror->bytes[i])
		i++;
	if (i < mirror->nbytes)
		fail_msg("case %lu: %s: byte %zu of %zu is 0x%02x and must be 0x%02x", fixture.cases, what, i,
			 mirror->nbytes, bytes[i], mirror->bytes[i]);
	free(bytes);
}

void mirror_close(struct mirror *mirror)
{
	bi_memory_release(mirror->memory);
	free(mirror->bytes);
}

static struct bi_stream *new_stream(struct bi_context *context, unsigned flags)
{
	struct bi_stream *stream = STALE(struct bi_stream);

	OK(bi_stream_create(context, flags, &stream, &error));
	return stream;
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
