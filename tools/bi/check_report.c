#include "check_report.h"

#include <stdlib.h>
#include <string.h>

#include "check_rules.h"
#include "json.h"
#include "terminal.h"
#include "text.h"

#define SOURCE "BufferInterface, specification: "
#define COLUMNS 110 /* of the text */
#define MOST_SEEN 6 /* findings of one rule in the text */

static const struct check_rule *rules_of(const struct check_report *report)
{
	return report->is_consumer ? check_consumer_rules : check_producer_rules;
}

int check_report_has_rule(const struct check_report *report, const char *name)
{
	const struct check_rule *rule = rules_of(report);

	while (rule->name && strcmp(rule->name, name))
		rule++;
	return rule->name != NULL;
}

void check_report_add(struct check_report *report, const struct check_result *result)
{
	struct check_result *results = report->results;

	for (size_t i = 0; i < report->count; i++)
		if (results[i].status == result->status && results[i].array == result->array &&
		    !strcmp(results[i].rule, result->rule) && !strcmp(results[i].text, result->text))
			return;
	results = realloc(results, (report->count + 1) * sizeof(*results));
	report->is_incomplete |= !results;
	if (!results)
		return;
	results[report->count++] = *result;
	report->results = results;
}

/* Returns the next result that has the rule and the status, from *at on, or NULL. Moves *at behind it. */
static const struct check_result *next_result(const struct check_report *report, const char *rule,
					      enum check_status status, size_t *at)
{
	while (*at < report->count) {
		const struct check_result *result = &report->results[(*at)++];

		if (result->status == status && !strcmp(result->rule, rule))
			return result;
	}
	return NULL;
}

/* One rule of the report. */
struct line {
	enum check_status status;
	char wants[300], source[100];
	const char *reason; /* why the rule does not apply; otherwise NULL */
};

static struct line line_of(const struct check_report *report, const struct check_rule *rule)
{
	static const enum check_status order[] = { CHECK_BROKEN, CHECK_HOLDS, CHECK_SKIP };
	const int has_number = !strncmp(rule->name, "B-", 2);
	const struct check_result *result = NULL;
	struct line line = { .status = CHECK_SKIP };

	for (size_t i = 0, at = 0; !result && i < 3; i++, at = 0) {
		line.status = order[i];
		result = next_result(report, rule->name, order[i], &at);
	}
	if (line.status == CHECK_SKIP)
		line.reason = result ? result->text : rule->reason ? rule->reason : "no array of this run tests it";
	snprintf(line.wants, sizeof(line.wants), "%s%s",
		 rule->wants ? "" : "An array that breaks this rule of producers is refused: ",
		 rule->wants ? rule->wants : check_producer_wants(rule->name));
	snprintf(line.source, sizeof(line.source), "%s%s",
		 rule->is_for_all ? "Each protocol: a call returns or raises." : SOURCE,
		 has_number         ? rule->name
		 : rule->is_for_all ? ""
				    : "sections 1 and 4");
	return line;
}

static int count_rules(const struct check_report *report, enum check_status status)
{
	int count = 0;

	for (const struct check_rule *rule = rules_of(report); rule->name; rule++)
		count += line_of(report, rule).status == status;
	return count;
}

int check_report_broken(const struct check_report *report)
{
	return count_rules(report, CHECK_BROKEN);
}

static void print_seen(const struct check_report *report, const char *rule, FILE *out)
{
	const struct check_result *result;
	char text[600];
	size_t at = 0;
	int count = 0;

	for (; (result = next_result(report, rule, CHECK_BROKEN, &at)) != NULL; count++) {
		if (report->is_consumer)
			snprintf(text, sizeof(text), "%s", result->text);
		else
			snprintf(text, sizeof(text), "function %s: %s", result->array, result->text);
		if (count < MOST_SEEN)
			print_wrapped(out, "          seen:  ", 17, COLUMNS, text);
	}
	snprintf(text, sizeof(text), "and %d more of the kind", count - MOST_SEEN);
	if (count > MOST_SEEN)
		print_wrapped(out, "          seen:  ", 17, COLUMNS, text);
}

static void print_rule(const struct check_report *report, const char *rule, const struct line *line, FILE *out)
{
	if (line->reason) {
		fprintf(out, "  -       %s: does not apply, %s\n", rule, line->reason);
		return;
	}
	fprintf(out, "  %-7s %s\n", line->status == CHECK_BROKEN ? "BROKEN" : "holds", rule);
	print_wrapped(out, "          rule:  ", 17, COLUMNS, line->wants);
	if (line->status == CHECK_HOLDS)
		return;
	print_seen(report, rule, out);
	print_wrapped(out, "          source:", 17, COLUMNS, line->source);
}

void check_report_text(const struct check_report *report, int is_long, FILE *out)
{
	int broken = check_report_broken(report), holding = count_rules(report, CHECK_HOLDS),
	    skipped = count_rules(report, CHECK_SKIP);

	fputs(report->is_consumer ? "Consumer " : "Producer ", out);
	text_print_cleaned(out, report->target, strlen(report->target));
	fputc('\n', out);
	for (const char *const *array = report->arrays; *array && !report->is_consumer; array++)
		fprintf(out, "  function %s\n", *array);
	fputc('\n', out);
	for (const struct check_rule *rule = rules_of(report); rule->name; rule++) {
		const struct line line = line_of(report, rule);

		if (is_long || line.status == CHECK_BROKEN)
			print_rule(report, rule->name, &line, out);
	}
	fprintf(out, "%s%d %s broken, %d %s, %d %s not apply.\n", is_long || broken ? "\n" : "", broken,
		broken == 1 ? "rule is" : "rules are", holding, holding == 1 ? "holds" : "hold", skipped,
		skipped == 1 ? "does" : "do");
}

static void json_rule(struct json *json, const struct check_report *report, const struct check_rule *rule)
{
	static const char *const words[] = { "holds", "broken", "not applicable" };
	const struct line line = line_of(report, rule);
	const struct check_result *result;
	size_t at = 0;

	json_open(json, NULL, '{');
	json_text(json, "rule", rule->name);
	json_text(json, "protocol", rule->is_for_all ? "all" : "buffer-interface");
	json_text(json, "status", words[line.status]);
	json_text(json, "wants", line.wants);
	json_text(json, "source", line.source);
	json_open(json, "seen", '[');
	while ((result = next_result(report, rule->name, CHECK_BROKEN, &at)) != NULL) {
		json_open(json, NULL, '{');
		json_text(json, "array", report->is_consumer ? "consumer" : result->array);
		json_text(json, "text", result->text);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_text(json, "reason", line.reason);
	json_close(json, '}');
}

void check_report_json(const struct check_report *report, FILE *out)
{
	struct json json = { out, 0 };

	json_open(&json, NULL, '{');
	json_text(&json, "target", report->target);
	json_boolean(&json, "consumer", report->is_consumer);
	json_null(&json, "python");
	json_open(&json, "arrays", '[');
	for (const char *const *array = report->arrays; *array; array++) {
		json_open(&json, NULL, '{');
		json_text(&json, "name", report->is_consumer ? "consumer" : *array);
		json_text(&json, "type", report->is_consumer ? *array : "struct bi_exchange");
		json_open(&json, "protocols", '[');
		json_text(&json, NULL, "buffer-interface");
		json_close(&json, ']');
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_open(&json, "rules", '[');
	for (const struct check_rule *rule = rules_of(report); rule->name; rule++)
		json_rule(&json, report, rule);
	json_close(&json, ']');
	json_integer(&json, "broken", check_report_broken(report));
	json_close(&json, '}');
	fputc('\n', out);
}
