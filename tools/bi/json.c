#include "json.h"

#include <inttypes.h>
#include <string.h>

#include "utf8.h"

static void write_character(FILE *out, const char *text, size_t length, uint32_t point)
{
	if (!length)
		fputs("\\ufffd", out);
	else if (point == '"' || point == '\\')
		fprintf(out, "\\%c", (int)point);
	else if (point < 0x20 || point == 0x7f)
		fprintf(out, "\\u%04" PRIx32, point);
	else
		fwrite(text, 1, length, out);
}

static void write_text(FILE *out, const char *text)
{
	size_t left = strlen(text), length, step;
	uint32_t point = 0;

	fputc('"', out);
	for (; left; text += step, left -= step) {
		length = utf8_decode(text, left, &point);
		step = length ? length : 1;
		write_character(out, text, length, point);
	}
	fputc('"', out);
}

static void begin_value(struct json *json, const char *key)
{
	if (json->after_value)
		fputs(", ", json->out);
	if (key) {
		write_text(json->out, key);
		fputs(": ", json->out);
	}
	json->after_value = 1;
}

void json_open(struct json *json, const char *key, char bracket)
{
	begin_value(json, key);
	fputc(bracket, json->out);
	json->after_value = 0;
}

void json_close(struct json *json, char bracket)
{
	fputc(bracket, json->out);
	json->after_value = 1;
}

void json_text(struct json *json, const char *key, const char *text)
{
	if (!text) {
		json_null(json, key);
		return;
	}
	begin_value(json, key);
	write_text(json->out, text);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
	begin_value(json, key);
	fprintf(json->out, "%" PRId64, value);
}

void json_integers(struct json *json, const char *key, const int64_t *values, int count)
{
	json_open(json, key, '[');
	for (int i = 0; i < count; i++)
		json_integer(json, NULL, values[i]);
	json_close(json, ']');
}

void json_number(struct json *json, const char *key, double value)
{
	begin_value(json, key);
	fprintf(json->out, "%.3f", value);
}

void json_boolean(struct json *json, const char *key, int value)
{
	begin_value(json, key);
	fputs(value ? "true" : "false", json->out);
}

void json_null(struct json *json, const char *key)
{
	begin_value(json, key);
	fputs("null", json->out);
}
