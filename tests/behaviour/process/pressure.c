#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"

/*
 * Arrays are made, used and released in a loop that never waits and is faster than the device. The released arrays
 * whose work is pending stay below the limit of docs/ordering.md, row 15: 64 MiB in a context without a pool. One array
 * more may be released before the next allocation notices.
 */
#define ARRAYS 150
#define ARRAY_BYTES ((int64_t)8 << 20)
#define MOST_RETIRED (((int64_t)64 << 20) / ARRAY_BYTES + 1)

static unsigned long number_after(const char *text, const char *key, const struct bi_error *err)
{
	const char *found = strstr(text, key);

	if (!found)
		fail("a report lacks a key", err);
	return strtoul(found + strlen(key), NULL, 10);
}

static unsigned long reported(struct bi_context *context, const char *key)
{
	struct bi_error err;
	unsigned long number;
	char *report;

	if (bi_context_report(context, &report, &err))
		fail("no report", &err);
	number = number_after(report, key, &err);
	bi_report_free(report);
	return number;
}

static void use_one(struct bi_context *context, struct bi_dtype dtype)
{
	struct bi_native native;
	struct bi_view *view;
	struct bi_error err;
	int rc = bi_view_empty(context, dtype, 1, &(int64_t){ ARRAY_BYTES }, &view, &err);

	for (uint8_t value = 0; value < 4 && !rc; value++)
		rc = bi_fill(view, &value, NULL, &err);
	if (rc)
		fail("an array cannot be made", &err);
	/* An exported handle keeps the memory out of the pool. */
	bi_view_native(view, &native);
	bi_view_release(view);
}

void case_pressure(void)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi_dtype dtype;
	struct bi_error err;
	unsigned long most = 0;

	options.device = device;
	options.pool_limit = BI_POOL_NONE;
	if (bi_context_open(&options, &context, &err) || bi_dtype_parse("uint8", &dtype, &err))
		fail("a context does not open", &err);
	for (int i = 0; i < ARRAYS; i++) {
		unsigned long retired;

		use_one(context, dtype);
		retired = reported(context, "\"retired\": ");
		most = retired > most ? retired : most;
	}
	printf("%lu arrays were retired at most, %lu waits\n", most, reported(context, "\"pressure\": "));
	bi_context_release(context);
	if (most > MOST_RETIRED)
		fail("released memory grows without a bound", NULL);
}
