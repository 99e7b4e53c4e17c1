#define _POSIX_C_SOURCE 200809L
#include "common/runtime/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/dispatch.h"
#include "common/base/fork.h"
#include "common/base/utf8.h"

struct bi__report {
	atomic_bool paused;
	pthread_mutex_t collecting; /* held while a report reads times: one report at a time. Taken before `lock` */
	pthread_mutex_t lock; /* guards the members below; not held during a wait for the device */
	atomic_uint lock_process; /* value of bi__fork_generation when `lock` was made */
	struct bi__record *records; /* only ever appended, so an index stays valid */
	atomic_size_t count, capacity; /* atomic for a child that is forked while a thread writes them */
	uint64_t lost; /* records for which there was no memory */
};

struct bi__report *bi__report_create(void)
{
	struct bi__report *report = calloc(1, sizeof(*report));

	if (!report)
		return NULL;
	pthread_mutex_init(&report->lock, NULL);
	atomic_init(&report->lock_process, bi__fork_generation);
	pthread_mutex_init(&report->collecting, NULL);
	return report;
}

void bi__report_free(struct bi__report *report, const struct bi__device *device)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->count; i++)
		bi__dispatch_event_release(device, report->records[i].event);
	free(report->records);
	pthread_mutex_destroy(&report->lock);
	pthread_mutex_destroy(&report->collecting);
	free(report);
}

int bi__report_is_recording(struct bi__report *report)
{
	return !report->paused;
}

/* In a forked child, makes the lock new before its first use there (fork.h). */
static void lock_report(struct bi__report *report)
{
	if (report->lock_process != bi__fork_generation)
		bi__fork_renew(&report->lock, &report->lock_process);
	pthread_mutex_lock(&report->lock);
}

/*
 * The process may be forked during this call, and the child uses the report. So the old records are freed after the
 * report has the new ones, and the capacity is never more than the number of records that fit into the array.
 */
static int grow_locked(struct bi__report *report)
{
	size_t capacity = report->capacity ? 2 * report->capacity : 64;
	struct bi__record *records, *old = report->records;

	if (report->count < report->capacity)
		return 1;
	records = malloc(capacity * sizeof(*records));
	if (!records)
		return 0;
	if (old)
		memcpy(records, old, report->count * sizeof(*records));
	report->records = records;
	report->capacity = capacity;
	free(old);
	return 1;
}

void bi__report_add(struct bi_context *context, const struct bi__record *record)
{
	struct bi__report *report = context->report;
	int added;

	lock_report(report);
	added = grow_locked(report);
	if (added) {
		report->records[report->count] = *record;
		report->count++;
	} else {
		report->lost++;
	}
	pthread_mutex_unlock(&report->lock);
	if (!added)
		bi__dispatch_event_release(&context->device, record->event);
}

void bi_context_profile_pause(struct bi_context *context)
{
	if (context && context->report)
		context->report->paused = true;
}

void bi_context_profile_resume(struct bi_context *context)
{
	if (context && context->report)
		context->report->paused = false;
}

void bi_report_free(char *report)
{
	free(report);
}

/* A text that grows. */
struct text {
	char *bytes;
	size_t used, capacity;
	int failed; /* 1: memory was missing, and the text is not complete */
};

static int grow_text(struct text *text, size_t needed)
{
	size_t capacity = needed * 2;
	char *bytes = realloc(text->bytes, capacity);

	if (!bytes)
		return 0;
	text->bytes = bytes;
	text->capacity = capacity;
	return 1;
}

BI__PRINTF(2, 3) static void put(struct text *text, const char *format, ...)
{
	va_list arguments, again;
	int length;

	va_start(arguments, format);
	va_copy(again, arguments);
	length = vsnprintf(NULL, 0, format, arguments);
	if (length < 0 ||
	    (text->used + (size_t)length >= text->capacity && !grow_text(text, text->used + (size_t)length + 1)))
		text->failed = 1;
	if (!text->failed)
		text->used += (size_t)vsnprintf(text->bytes + text->used, text->capacity - text->used, format, again);
	va_end(again);
	va_end(arguments);
}

/* Writes a JSON string. A name that comes from a driver may have any byte. A byte that is not UTF-8 becomes U+FFFD. */
static void put_string(struct text *out, const char *string)
{
	const char *end = string + strlen(string);
	size_t size;

	put(out, "\"");
	for (; string < end; string += size ? size : 1) {
		unsigned char c = (unsigned char)*string;

		size = bi__utf8_size(string, end);
		if (c == '"' || c == '\\')
			put(out, "\\%c", c);
		else if (c < 0x20)
			put(out, "\\u%04x", c);
		else
			put(out, "%.*s", size ? (int)size : 3, size ? string : "\xef\xbf\xbd");
	}
	put(out, "\"");
}

static void put_record(struct text *out, const struct bi__record *record)
{
	put(out, "{\"operation\": \"%s\", \"plan\": \"%s\", \"bytes\": %" PRIu64 ", \"stream\": %u, \"nanoseconds\": ",
	    record->operation, bi__plan_name(record->plan), record->bytes, record->stream);
	if (record->nanoseconds < 0)
		put(out, "null}");
	else
		put(out, "%" PRId64 "}", record->nanoseconds);
}

/*
 * Finds the first record from *index on that has an event, and sets *index to it. Takes the event out of the record and
 * returns it, or returns 0 if no record has one.
 */
static uintptr_t take_event(struct bi__report *report, size_t *index)
{
	uintptr_t event = 0;

	lock_report(report);
	while (*index < report->count && !report->records[*index].event)
		++*index;
	if (*index < report->count) {
		event = report->records[*index].event;
		report->records[*index].event = 0;
	}
	pthread_mutex_unlock(&report->lock);
	return event;
}

static int64_t wait_for_time(struct bi_context *context, uintptr_t event)
{
	int done = 0;

	if (bi__dispatch_poll(&context->device, event, 0, &done, NULL))
		return -1;
	if (!done) {
		bi__count_wait(context, BI__WAIT_REPORT);
		if (bi__dispatch_poll(&context->device, event, 1, &done, NULL))
			return -1;
	}
	return bi__dispatch_elapsed(&context->device, event);
}

/* Records of host contexts have no events. In a forked child, `collecting` of a host context may be held for ever. */
static void collect_times(struct bi_context *context, struct bi__report *report)
{
	size_t index = 0;
	uintptr_t event;

	if (context->device.backend->synchronous)
		return;
	pthread_mutex_lock(&report->collecting);
	while ((event = take_event(report, &index))) {
		int64_t nanoseconds = wait_for_time(context, event);

		bi__dispatch_event_release(&context->device, event);
		pthread_mutex_lock(&report->lock);
		report->records[index].nanoseconds = nanoseconds;
		pthread_mutex_unlock(&report->lock);
	}
	pthread_mutex_unlock(&report->collecting);
}

static void put_records(struct text *out, struct bi__report *report)
{
	lock_report(report);
	for (size_t i = 0; i < report->count; i++) {
		put(out, i ? ",\n    " : "\n    ");
		put_record(out, &report->records[i]);
	}
	put(out, "%s],\n  \"lost\": %" PRIu64 ",\n", report->count ? "\n  " : "", report->lost);
	pthread_mutex_unlock(&report->lock);
}

static void put_operations(struct text *out, struct bi_context *context)
{
	struct bi__report *report = context->report;

	put(out, "  \"profiling\": %s,\n  \"operations\": [", report ? "true" : "false");
	if (!report) {
		put(out, "],\n  \"lost\": 0,\n");
		return;
	}
	collect_times(context, report);
	put_records(out, report);
}

static void put_waits(struct text *out, struct bi_context *context)
{
	static const char *const reasons[] = {
#define REASON(name, words) [BI__WAIT_##name] = words,
		BI__WAIT_MAP(REASON)
#undef REASON
	};

	put(out, "  \"host_waits\": {");
	for (size_t i = 0; i < BI__WAIT_COUNT; i++)
		put(out, "%s\"%s\": %llu", i ? ", " : "", reasons[i], atomic_load(&context->waits[i]));
	put(out, "},\n");
}

static void put_pool(struct text *out, struct bi_context *context)
{
	struct bi__pool *pool = &context->pool;
	int is_locked = bi__fork_lock(&pool->lock, context->device.fork_generation);

	put(out, "  \"pool\": {\"bytes\": %zu, \"limit\": %zu, \"hits\": %" PRIu64 ", \"misses\": %" PRIu64 "},\n",
	    pool->bytes, pool->limit, pool->hits, pool->misses);
	if (is_locked)
		pthread_mutex_unlock(&pool->lock);
}

static void put_report(struct text *out, struct bi_context *context)
{
	uint64_t built, loaded;

	bi__dispatch_cache_state(&context->device, &built, &loaded);
	put(out, "{\n  \"version\": 1,\n  \"library\": \"%s\",\n  \"device\": \"%s\",\n  \"name\": ", BI_VERSION_STRING,
	    context->device.info->spec);
	put_string(out, context->device.info->name);
	put(out, ",\n");
	put_operations(out, context);
	put_waits(out, context);
	put_pool(out, context);
	put(out, "  \"retired\": %u,\n", atomic_load(&context->retired.count));
	put(out, "  \"programs\": {\"built\": %" PRIu64 ", \"loaded\": %" PRIu64 "}\n}\n", built, loaded);
}

int bi_context_report(struct bi_context *context, char **out, struct bi_error *err)
{
	struct text text = { NULL, 0, 0, 0 };

	if (bi__check_out(out, context != NULL, "context is NULL", err))
		return BI_EINVAL;
	if (bi__dispatch_alive(&context->device, err))
		return BI_EFORK;
	put_report(&text, context);
	if (text.failed) {
		free(text.bytes);
		return bi__fail(err, BI_ENOMEM, "no memory for the report");
	}
	*out = text.bytes;
	return BI_OK;
}
