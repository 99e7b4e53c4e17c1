/* Writes JSON to a stream on one line, with the commas. Inside an array and at the top level `key` is NULL. */
#ifndef BI_TOOL_JSON_H
#define BI_TOOL_JSON_H

#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	int after_value;
};

/* Opens an object ('{') or an array ('['). */
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);

/* Writes a string, or null if `text` is NULL. Bytes that are not UTF-8 become U+FFFD. */
void json_text(struct json *json, const char *key, const char *text);
void json_integer(struct json *json, const char *key, int64_t value);
void json_integers(struct json *json, const char *key, const int64_t *values, int count);
/* Writes a number with three decimals. */
void json_number(struct json *json, const char *key, double value);
void json_boolean(struct json *json, const char *key, int value);
void json_null(struct json *json, const char *key);

#endif
