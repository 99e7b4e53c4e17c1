/* Host waits: what the layer saw, what the contexts report and what the test expects must be one number. */
#include <stdio.h>
#include <stdlib.h>

#include "../opencl_layer/layer.h"
#include "bench.h"

static const char *const reasons[] = { "synchronize", "value", "map", "cross", "export", "close", "failure", "debug", "report" };

/* Rows of docs/ordering.md with the words **host wait**. */
static const int waiting_rows[] = { 11, 12, 16, 17, 19, 21 };

static struct bi_layer layer;

static struct {
	const char *name;
	int row;
	uint64_t own; /* calls with which the test itself waited */
	unsigned long expected[COUNT(reasons)];
	unsigned long seen[COUNT(reasons)];
} account;

static unsigned long strict_waits;

/* ------------------------------------------------------------------------------------------------------------- layer
 */

void accounts_open(void)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	int opencl;

	options.device = bench.spec;
	if (bi_context_open(&options, &context, &error) != BI_OK) {
		fprintf(stderr, "ordering: %s\n", error.message);
		exit(EXIT_FAILURE);
	}
	opencl = is_opencl(context);
	bi_context_release(context);
	if (!opencl || bi_layer_open(getenv("BI_TEST_LAYER"), &layer))
		return;
	fprintf(stderr, "ordering: the layer is not loaded: set OPENCL_LAYERS and BI_TEST_LAYER to its file\n");
	exit(EXIT_FAILURE);
}

uint64_t calls_of(const char *name)
{
	return layer.count ? layer.count(name) : 0;
}

uint64_t ordered(void)
{
	return calls_of("clEnqueueMarkerWithWaitList") + calls_of("clEnqueueBarrierWithWaitList");
}

static uint64_t sum_of(const char *prefix)
{
	uint64_t sum = 0;

	for (int i = 0; layer.entries && i < layer.entries(); i++)
		if (strncmp(layer.entry(i), prefix, strlen(prefix)) == 0)
			sum += layer.count(layer.entry(i));
	return sum;
}

uint64_t enqueued(void)
{
	return sum_of("clEnqueue");
}

uint64_t all_calls(void)
{
	return sum_of("cl");
}

int64_t live_buffers(void)
{
	return layer.live_buffers ? layer.live_buffers() : 0;
}

void arm(const char *name, unsigned nth)
{
	layer.arm(name, nth, nth ? CL_OUT_OF_RESOURCES : CL_SUCCESS);
}

uint64_t failures(void)
{
	return layer.fired();
}

uint64_t library_waits(void)
{
	return layer.host_waits ? layer.host_waits() - account.own : 0;
}

/* ------------------------------------------------------------------------------------------------------------ report
 */

static unsigned long read_member(const char *report, const char *member)
{
	char quoted[32];
	const char *found;

	snprintf(quoted, sizeof(quoted), "\"%s\": ", member);
	found = strstr(report, quoted);
	if (!found)
		fail_msg("the report has no member %s", member);
	return strtoul(found + strlen(quoted), NULL, 10);
}

/* From the last list of the report on: no operation's text can be mistaken for a member. */
static char *take_report(struct bi_context *context, const char **tail)
{
	char *report = NULL;

	OK(bi_context_report(context, &report, &error));
	*tail = strstr(report, "\"host_waits\"");
	assert_non_null(*tail);
	return report;
}

unsigned long reported(struct bi_context *context, const char *member)
{
	const char *tail;
	char *report = take_report(context, &tail);
	unsigned long value = read_member(tail, member);

	bi_free(report);
	return value;
}

void account_for(struct bi_context *context)
{
	const char *tail;
	char *report = take_report(context, &tail);

	for (size_t i = 0; i < COUNT(reasons); i++)
		account.seen[i] += read_member(tail, reasons[i]);
	bi_free(report);
}

/* ----------------------------------------------------------------------------------------------------------- account
 */

static int may_wait(int row)
{
	for (size_t i = 0; i < COUNT(waiting_rows); i++)
		if (waiting_rows[i] == row)
			return 1;
	return 0;
}

void accounts_begin(const char *name)
{
	memset(&account, 0, sizeof(account));
	account.name = name;
	if (sscanf(name, "row_%d_", &account.row) != 1)
		fail_msg("%s does not name its row", name);
	if (layer.reset)
		layer.reset();
}

void own_wait(void)
{
	account.own++;
}

void expect_waits(const char *reason, unsigned count)
{
	if (!may_wait(account.row))
		fail_msg("row %d has no host wait", account.row);
	for (size_t i = 0; i < COUNT(reasons); i++)
		if (strcmp(reasons[i], reason) == 0) {
			account.expected[i] += count;
			return;
		}
	fail_msg("%s is no reason", reason);
}

void accounts_end(void)
{
	unsigned long all = 0;

	for (size_t i = 0; i < COUNT(reasons); i++) {
		if (account.seen[i] != account.expected[i])
			fail_msg("%s: %lu host waits of reason %s are reported, not %lu", account.name, account.seen[i],
				 reasons[i], account.expected[i]);
		all += account.seen[i];
	}
	if (!may_wait(account.row))
		strict_waits += layer.host_waits ? library_waits() : all;
	if (layer.host_waits && library_waits() != all)
		fail_msg("%s: the driver was made to wait %lu times, %lu are reported", account.name,
			 (unsigned long)library_waits(), all);
}

unsigned long accounts_strict_waits(void)
{
	return strict_waits;
}
