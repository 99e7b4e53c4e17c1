#include "json.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Each skip function returns what follows, or NULL if the text is not valid. */

static const char *skip_value(const char *c, int depth);

static const char *skip_space(const char *c)
{
	return c + strspn(c, " \t\n\r");
}

static const char *skip_escape(const char *c)
{
	if (*c == 'u') {
		for (int i = 1; i <= 4; i++)
			if (!isxdigit((unsigned char)c[i]))
				return NULL;
		return c + 5;
	}
	return *c && strchr("\"\\/bfnrt", *c) ? c + 1 : NULL;
}

static const char *skip_string(const char *c)
{
	if (*c++ != '"')
		return NULL;
	while (c && *c != '"') {
		if ((unsigned char)*c < 0x20)
			return NULL;
		c = *c == '\\' ? skip_escape(c + 1) : c + 1;
	}
	return c ? c + 1 : NULL;
}

static const char *skip_digits(const char *c)
{
	size_t n = strspn(c, "0123456789");

	return n ? c + n : NULL;
}

static const char *skip_number(const char *c)
{
	c += *c == '-';
	c = *c == '0' ? c + 1 : skip_digits(c);
	if (c && *c == '.')
		c = skip_digits(c + 1);
	if (c && (*c == 'e' || *c == 'E')) {
		c++;
		c = skip_digits(c + (*c == '+' || *c == '-'));
	}
	return c;
}

static const char *skip_key(const char *c)
{
	c = skip_string(c);
	c = c ? skip_space(c) : NULL;
	return c && *c == ':' ? skip_space(c + 1) : NULL;
}

/* From the first to behind the closing bracket. */
static const char *skip_list(const char *c, int depth)
{
	int is_object = *c == '{';
	char close = is_object ? '}' : ']';

	c = skip_space(c + 1);
	if (*c == close)
		return c + 1;
	for (;;) {
		if (is_object)
			c = skip_key(c);
		c = c ? skip_value(c, depth) : NULL;
		c = c ? skip_space(c) : NULL;
		if (!c || *c == close)
			return c ? c + 1 : NULL;
		if (*c != ',')
			return NULL;
		c = skip_space(c + 1);
	}
}

static const char *skip_word(const char *c)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < 3; i++)
		if (strncmp(c, words[i], strlen(words[i])) == 0)
			return c + strlen(words[i]);
	return NULL;
}

static const char *skip_value(const char *c, int depth)
{
	if (depth > 50)
		return NULL;
	if (*c == '{' || *c == '[')
		return skip_list(c, depth + 1);
	if (*c == '"')
		return skip_string(c);
	return *c == '-' || isdigit((unsigned char)*c) ? skip_number(c) : skip_word(c);
}

int json_valid(const char *text)
{
	text = skip_value(skip_space(text), 0);
	return text && *skip_space(text) == '\0';
}

/* The next element of a list that starts at `c`, or NULL behind the last one. *key receives its key. */
static const char *next_element(const char *c, int is_object, const char **key)
{
	c = skip_space(c);
	if (*c == ',' || *c == '{' || *c == '[')
		c = skip_space(c + 1);
	if (*c == '}' || *c == ']')
		return NULL;
	*key = c;
	return is_object ? skip_key(c) : c;
}

static int key_is(const char *key, const char *name, size_t length)
{
	return strncmp(key + 1, name, length) == 0 && key[1 + length] == '"';
}

static const char *find_one(const char *value, const char *name, size_t length)
{
	int is_object = *value == '{';
	long wanted = strtol(name, NULL, 10);
	const char *key, *element = *value == '{' || *value == '[' ? next_element(value, is_object, &key) : NULL;

	for (long i = 0; element; i++) {
		if (is_object ? key_is(key, name, length) : i == wanted)
			return element;
		element = next_element(skip_value(element, 0), is_object, &key);
	}
	return NULL;
}

const char *json_find(const char *text, const char *path)
{
	const char *value = skip_space(text);

	while (value && *path) {
		size_t length = strcspn(path, ".");

		value = find_one(value, path, length);
		path += length + (path[length] == '.');
	}
	return value;
}

int json_count(const char *value)
{
	int count = 0, is_object = *value == '{';
	const char *key, *element = *value == '{' || *value == '[' ? next_element(value, is_object, &key) : NULL;

	for (; element; element = next_element(skip_value(element, 0), is_object, &key))
		count++;
	return count;
}

double json_number(const char *value)
{
	return strtod(value, NULL);
}

int json_is_string(const char *value, const char *string)
{
	return value && *value == '"' && key_is(value, string, strlen(string));
}
