#include "fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct fixture fixture;
struct bi_error error;

int effort(int full)
{
	int cases = full * fixture.share / 100;

	return cases > 0 ? cases : 1;
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

int is_opencl(const struct bi_context *context)
{
	return strcmp(bi_context_device(context)->backend, "opencl") == 0;
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

void mirror_read(const struct mirror *mirror, unsigned char *bytes)
{
	struct bi_view *all = bytes_of(mirror->memory);

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
