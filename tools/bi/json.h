/* Writes JSON to a stream, one line, commas where they belong. A key is NULL within an array and at the top. */
#ifndef BI_TOOL_JSON_H
#define BI_TOOL_JSON_H

#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	int after_value;
};

/* '{' or '['. */
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);

/* NULL text is null. What is not UTF-8 becomes U+FFFD. */
void json_text(struct json *json, const char *key, const char *text);
void json_integer(struct json *json, const char *key, int64_t value);
void json_integers(struct json *json, const char *key, const int64_t *values, int count);
/* Three decimals. */
void json_number(struct json *json, const char *key, double value);
void json_boolean(struct json *json, const char *key, int value);
void json_null(struct json *json, const char *key);

#endif
