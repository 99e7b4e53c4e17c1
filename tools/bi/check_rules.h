/* The rules of docs/specification.md that `bi check` reports, and the reasons why some are not judged. */
#ifndef BI_TOOL_CHECK_RULES_H
#define BI_TOOL_CHECK_RULES_H

struct check_rule {
	const char *name;   /* NULL ends the table */
	const char *wants;  /* the sentence that has to be true */
	const char *reason; /* NULL: the rule is judged; otherwise the reason why it is not */
	int is_for_all;     /* 1: the rule is about all protocols */
};

/*
 * The rules that bind a producer. The sentences are those of python/buffer_interface/check/rules.py, except for B-23,
 * B-37, B-38 and B-46, of which the command judges less.
 */
extern const struct check_rule check_producer_rules[];

/*
 * The rules for a consumer. If `wants` is NULL, the consumer has to refuse arrays that break the producer's rule of
 * this name.
 */
extern const struct check_rule check_consumer_rules[];

/* Returns the sentence of a producer's rule. */
const char *check_producer_wants(const char *name);

#endif
