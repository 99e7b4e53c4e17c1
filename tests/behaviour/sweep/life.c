/* Contexts, and memory from its allocation to its end. */
#include <stdlib.h>
#include <string.h>

#include "raw.h"
#include "scenarios.h"

#define SIZE ((size_t)4096)

void open_and_close(struct trial *trial)
{
	trial_open(trial, "cuda:0");
}

/* Never fails for a driver's sake; what cannot be used is listed with the reason. */
void list_devices(struct trial *trial)
{
	struct bi_device devices[16];
	int count = 0;

	TRY(trial, bi_devices(devices, (int)ARRAY_LENGTH(devices), &count, trial->err));
	for (int i = 0; i < count && i < (int)ARRAY_LENGTH(devices); i++)
		if (!devices[i].usable && !*devices[i].reason)
			trial_wrong(trial, "%s is not usable and says not why", devices[i].spec);
	if (!trial->rc && !count)
		trial_wrong(trial, "not even the host is listed");
}

/* Both ends of an order: work before, work after. */
static void use(struct trial *trial, struct bi_context *context)
{
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, SIZE);

	trial_fill_all(trial, array, 0x31, trial_stream(trial, context));
	trial_consume(trial, array);
}

static struct bi_context *adopt(struct trial *trial, uintptr_t context, uintptr_t stream)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.device = "cuda";
	options.adopt_context = context;
	options.adopt_stream = stream;
	return trial_open_with(trial, &options);
}

void adopted_context(struct trial *trial)
{
	use(trial, adopt(trial, raw_context(trial, 0), 0));
}

void adopted_stream(struct trial *trial)
{
	uintptr_t primary = raw_primary(trial, 0);

	use(trial, adopt(trial, primary, raw_stream(trial, primary)));
}

void adopted_legacy_stream(struct trial *trial)
{
	use(trial, adopt(trial, raw_primary(trial, 0), 1));
}

static void allocate(struct trial *trial, enum bi_memory_kind kind)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *array = trial_array(trial, context, kind, SIZE);

	trial_fill_all(trial, array, 0x32, trial_stream(trial, context));
	trial_consume(trial, array);
	trial_fill_all(trial, array, 0x33, trial_stream(trial, context));
	trial_settle(trial);
	trial_check(trial, array);
}

void allocate_device(struct trial *trial)
{
	allocate(trial, BI_MEMORY_DEVICE);
}

void allocate_pinned(struct trial *trial)
{
	allocate(trial, BI_MEMORY_PINNED);
}

void allocate_managed(struct trial *trial)
{
	allocate(trial, BI_MEMORY_UNIFIED);
}

/* The next owner of the bytes comes behind what the last one did on another stream. */
void pool_reuse(struct trial *trial)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct bi_stream *stream = trial_stream(trial, context);
	struct array *array;

	for (int i = 0; i < 3; i++) {
		array = trial_array(trial, context, BI_MEMORY_DEVICE, SIZE);
		trial_fill_all(trial, array, (unsigned char)(0x40 + i), stream);
		trial_release(trial, array);
	}
	array = trial_array(trial, context, BI_MEMORY_DEVICE, SIZE);
	trial_consume(trial, array);
}

void trim(struct trial *trial)
{
	struct bi_context *context = trial_open(trial, "cuda:0");

	trial_release(trial, trial_array(trial, context, BI_MEMORY_DEVICE, SIZE));
	trial_release(trial, trial_array(trial, context, BI_MEMORY_PINNED, SIZE));
	TRY(trial, bi_context_trim(context, 0, trial->err));
	use(trial, context);
}

void report_and_profile(struct trial *trial)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	char *report = NULL;

	options.device = "cuda:0";
	options.profile = 1;
	context = trial_open_with(trial, &options);
	use(trial, context);
	if (TRY(trial, bi_context_report(context, &report, trial->err)))
		return;
	if (!strstr(report, "\"operation\": \"fill\""))
		trial_wrong(trial, "the report names no fill");
	bi_report_free(report);
}

void debug_option(struct trial *trial)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct array *from, *to;

	options.device = "cuda:0";
	options.debug = 1;
	context = trial_open_with(trial, &options);
	from = trial_pattern(trial, context, BI_MEMORY_DEVICE, SIZE);
	to = trial_array(trial, context, BI_MEMORY_DEVICE, SIZE);
	trial_copy_all(trial, to, from, NULL);
	trial_consume(trial, to);
	trial_consume(trial, from);
}
