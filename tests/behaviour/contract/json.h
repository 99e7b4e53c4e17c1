/* A strict reader of JSON, for reports. */
#ifndef BI_TESTS_CONTRACT_JSON_H
#define BI_TESTS_CONTRACT_JSON_H

/* 1 if the text is one JSON value (RFC 8259) and nothing else. */
int json_valid(const char *text);

/*
 * Start of a value inside a valid text: "pool.bytes" is a member of a member, "operations.2.plan" goes through the
 * third element of an array. NULL if there is no such value.
 */
const char *json_find(const char *text, const char *path);

/* Elements of an array or members of an object; 0 for other values. */
int json_count(const char *value);

double json_number(const char *value);

/* Is the value this string (without escapes)? */
int json_is_string(const char *value, const char *string);

#endif
