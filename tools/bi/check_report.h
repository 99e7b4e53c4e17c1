/* The results of `bi check`, rule by rule, as text and as the JSON object of `python -m buffer_interface check`. */
#ifndef BI_TOOL_CHECK_REPORT_H
#define BI_TOOL_CHECK_REPORT_H

#include <stddef.h>
#include <stdio.h>

enum check_status { CHECK_HOLDS, CHECK_BROKEN, CHECK_SKIP };

struct check_result {
	enum check_status status;
	char rule[16];
	char text[400]; /* broken: what was seen; skip: the reason */
	const char *array;
};

struct check_report {
	const char *target;
	int is_consumer;
	const char *const *arrays; /* names; NULL ends the list */
	struct check_result *results;
	size_t count;
	int is_incomplete; /* a result was lost, because memory is missing */
};

int check_report_has_rule(const struct check_report *report, const char *name);

/* Adds a copy of the result, unless the report has an equal one. */
void check_report_add(struct check_report *report, const struct check_result *result);

/* Returns the number of rules that are broken. */
int check_report_broken(const struct check_report *report);

/* Prints broken rules, with the first findings of each. With `is_long`, prints the other rules too. */
void check_report_text(const struct check_report *report, int is_long, FILE *out);
void check_report_json(const struct check_report *report, FILE *out);

#endif
