/* Host waits: what the drivers saw, what the contexts report and what the test expects must be one number. */
#include <stdio.h>
#include <stdlib.h>

#include "raw_driver.h"

static const char *const reasons[] = { "synchronize", "value",    "map",     "cross", "staging", "export",
				       "close",       "pressure", "failure", "debug", "report" };

/* The rows of docs/ordering.md that block the calling thread. */
static const int waiting_rows[] = { 11, 12, 15, 16, 17, 18, 19, 21, 25 };

static struct {
	const char *name;
	int row;
	uint64_t own; /* with which the test itself waited */
	unsigned long expected[ARRAY_LENGTH(reasons)];
	unsigned long seen[ARRAY_LENGTH(reasons)];
	const char *violation;
} account;

static unsigned long strict_waits, compared_waits;

/* ---------------------------------------------------------------------------------------------------------- drivers */

int is_counted(void)
{
	const struct raw_driver *driver;

	for (size_t i = 0; (driver = raw_driver(i)); i++)
		if (!driver->counts())
			return 0;
	return 1;
}

static uint64_t driver_waits(void)
{
	const struct raw_driver *driver;
	uint64_t sum = 0;

	for (size_t i = 0; (driver = raw_driver(i)); i++)
		sum += driver->host_waits();
	return sum;
}

uint64_t library_waits(void)
{
	return is_counted() ? driver_waits() - account.own : 0;
}

uint64_t calls_of(const char *name)
{
	return setting.driver ? setting.driver->calls(name) : 0;
}

static uint64_t count_of(enum counted what)
{
	return setting.driver ? setting.driver->count(what) : 0;
}

uint64_t records(void)
{
	return count_of(COUNT_RECORDS);
}

uint64_t waits(void)
{
	return count_of(COUNT_WAITS);
}

uint64_t queries(void)
{
	return count_of(COUNT_QUERIES);
}

uint64_t ordered(void)
{
	return records() + waits();
}

uint64_t enqueued(void)
{
	return count_of(COUNT_ENQUEUED);
}

uint64_t all_calls(void)
{
	return count_of(COUNT_ALL);
}

int64_t live_memory(void)
{
	return setting.driver->live_memory();
}

void arm(const char *name, unsigned nth)
{
	setting.driver->arm(name, nth);
}

void arm_from(unsigned nth)
{
	setting.driver->arm_from(nth);
}

uint64_t failures(void)
{
	return setting.driver->failures();
}

static void tell_waits(void)
{
	const struct raw_driver *driver;

	for (size_t i = 0; (driver = raw_driver(i)); i++)
		if (driver->tell_waits)
			driver->tell_waits();
}

void check_waits(uint64_t before, uint64_t more)
{
	if (!is_counted() || library_waits() == before + more)
		return;
	tell_waits();
	fail_msg("the library has waited %llu times, not %llu", (unsigned long long)(library_waits() - before),
		 (unsigned long long)more);
}

void check_more(uint64_t now, uint64_t before, uint64_t more, const char *what, const char *file, int line)
{
	if (now == before + more || !is_counted())
		return;
	print_error("%s has become %llu more, not %llu\n", what, (unsigned long long)(now - before),
		    (unsigned long long)more);
	_fail(file, line);
}

/* ----------------------------------------------------------------------------------------------------------- report */

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

	bi_report_free(report);
	return value;
}

void account_for(struct bi_context *context)
{
	const char *tail;
	char *report = take_report(context, &tail);

	for (size_t i = 0; i < ARRAY_LENGTH(reasons); i++)
		account.seen[i] += read_member(tail, reasons[i]);
	bi_report_free(report);
}

/* ---------------------------------------------------------------------------------------------------------- account */

static int may_wait(int row)
{
	for (size_t i = 0; i < ARRAY_LENGTH(waiting_rows); i++)
		if (waiting_rows[i] == row)
			return 1;
	return 0;
}

void accounts_begin(const char *name)
{
	const struct raw_driver *driver;

	memset(&account, 0, sizeof(account));
	account.name = name;
	if (sscanf(name, "row_%d_", &account.row) != 1)
		fail_msg("%s does not name its row", name);
	for (size_t i = 0; (driver = raw_driver(i)); i++)
		driver->begin();
}

void own_waits(uint64_t count)
{
	account.own += count;
}

void expect_waits(const char *reason, unsigned count)
{
	if (!may_wait(account.row))
		fail_msg("row %d has no host wait", account.row);
	for (size_t i = 0; i < ARRAY_LENGTH(reasons); i++)
		if (strcmp(reasons[i], reason) == 0) {
			account.expected[i] += count;
			return;
		}
	fail_msg("%s is no reason", reason);
}

void note_violation(const char *words)
{
	account.violation = words;
}

/* What contexts report and what the test expects, reason by reason; returns the sum. */
static unsigned long compare_reports(void)
{
	unsigned long all = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(reasons); i++) {
		if (account.seen[i] != account.expected[i])
			fail_msg("%s: %lu host waits of reason %s are reported, not %lu", account.name, account.seen[i],
				 reasons[i], account.expected[i]);
		all += account.seen[i];
	}
	return all;
}

static void count_strict(uint64_t count)
{
	if (!count)
		return;
	print_error("%s: %lu host waits, of which its row knows none\n", account.name, (unsigned long)count);
	tell_waits();
	strict_waits += (unsigned long)count;
}

void accounts_end(void)
{
	const struct raw_driver *driver;
	unsigned long all = compare_reports();
	uint64_t seen = library_waits();
	int counted = is_counted();

	/* For drop.py. */
	if (getenv("BI_TEST_DROP"))
		print_message("waits: %s %llu\n", account.name, (unsigned long long)waits());
	for (size_t i = 0; (driver = raw_driver(i)); i++)
		driver->end();
	if (!may_wait(account.row))
		count_strict(counted ? seen : all);
	compared_waits += counted ? (unsigned long)seen : 0;
	if (counted && seen != all) {
		tell_waits();
		fail_msg("%s: drivers were made to wait %lu times, %lu are reported", account.name, (unsigned long)seen,
			 all);
	}
	if (account.violation)
		fail_msg("%s: %s", account.name, account.violation);
}

unsigned long accounts_strict_waits(void)
{
	return strict_waits;
}

unsigned long accounts_compared_waits(void)
{
	return compared_waits;
}
