#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "fail.h"
#include "json.h"
#include "terminal.h"
#include "utf8.h"

enum { OPTION_JSON };

static const struct option options[] = {
	[OPTION_JSON] = { "json", NULL, "print one JSON object" },
	{ NULL, NULL, NULL },
};

static const struct {
	uint32_t bit;
	const char *name;
} capabilities[] = {
#define CAPABILITY(name, bit, text) { BI_CAP_##name, text },
	BI_CAPABILITY_MAP(CAPABILITY)
#undef CAPABILITY
};

#define CAPABILITIES (sizeof(capabilities) / sizeof(capabilities[0]))

static const char *kind_name(int kind)
{
	static const char *const names[] = {
#define KIND(name, text) [BI_DEVICE_KIND_##name] = (text),
		BI_DEVICE_KIND_MAP(KIND)
#undef KIND
	};

	return kind >= 0 && kind < BI_DEVICE_KIND_COUNT ? names[kind] : "other";
}

/*
 * Returns the device that "auto" tries first, or NULL if no device is usable. The list is sorted, the best device
 * first.
 */
static const struct bi_device *first_usable(const struct bi_device *devices, int count)
{
	for (int i = 0; i < count; i++)
		if (devices[i].usable)
			return &devices[i];
	return NULL;
}

/* Returns the value of the environment variable BI_DEVICE. Returns NULL if it is unset or empty. */
static const char *environment_choice(void)
{
	const char *spec = getenv("BI_DEVICE");

	return spec && *spec ? spec : NULL;
}

static void json_device(struct json *json, const struct bi_device *device, int position)
{
	json_open(json, NULL, '{');
	json_text(json, "spec", device->spec);
	json_text(json, "backend", device->backend);
	json_boolean(json, "usable", device->usable);
	if (!device->usable) {
		json_text(json, "reason", device->reason);
		json_close(json, '}');
		return;
	}
	json_integer(json, "position", position);
	json_text(json, "kind", kind_name(device->kind));
	json_integer(json, "platform", device->platform);
	json_integer(json, "ordinal", device->ordinal);
	json_text(json, "name", device->name);
	json_text(json, "platform_name", device->platform_name);
	if (device->memory)
		json_integer(json, "memory", (int64_t)device->memory);
	else
		json_null(json, "memory");
	json_open(json, "capabilities", '[');
	for (size_t i = 0; i < CAPABILITIES; i++)
		if (device->capabilities & capabilities[i].bit)
			json_text(json, NULL, capabilities[i].name);
	json_close(json, ']');
	json_close(json, '}');
}

static void print_json(const struct bi_device *devices, int count)
{
	const struct bi_device *taken = first_usable(devices, count);
	struct json json = { stdout, 0 };

	json_open(&json, NULL, '{');
	json_text(&json, "auto", taken ? taken->spec : NULL);
	json_text(&json, "default", environment_choice());
	json_open(&json, "devices", '[');
	for (int i = 0; i < count; i++)
		json_device(&json, &devices[i], i);
	json_close(&json, ']');
	json_close(&json, '}');
	putchar('\n');
}

enum { COLUMN_POSITION, COLUMN_SPEC, COLUMN_NAME, COLUMN_PLATFORM, COLUMN_MEMORY, COLUMN_CAPABILITIES, COLUMNS };

struct row {
	char cells[COLUMNS][160];
};

static void memory_text(uint64_t bytes, char *text, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t unit = 0;

	for (; value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
		value /= 1024;
	snprintf(text, size, bytes ? "%.1f %s" : "-", value, units[unit]);
}

static void capability_text(uint32_t bits, char *text, size_t size)
{
	size_t used = 0;

	snprintf(text, size, "-");
	for (size_t i = 0; i < CAPABILITIES; i++)
		if (bits & capabilities[i].bit)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "",
						 capabilities[i].name);
}

static void fill_row(struct row *row, const struct bi_device *device, int position)
{
	const size_t size = sizeof(row->cells[0]);

	snprintf(row->cells[COLUMN_POSITION], size, "#%d", position);
	snprintf(row->cells[COLUMN_SPEC], size, "%s", device->spec);
	snprintf(row->cells[COLUMN_NAME], size, "%s", device->name);
	snprintf(row->cells[COLUMN_PLATFORM], size, "%s", *device->platform_name ? device->platform_name : "-");
	memory_text(device->memory, row->cells[COLUMN_MEMORY], size);
	capability_text(device->capabilities, row->cells[COLUMN_CAPABILITIES], size);
}

static void print_cell(const char *text, int column, size_t width)
{
	int padding = (int)(width - utf8_length(text));

	if (column == COLUMNS - 1)
		printf("%s\n", text);
	else if (column == COLUMN_MEMORY)
		printf("%*s%s  ", padding, "", text);
	else
		printf("%s%*s  ", text, padding, "");
}

static void print_rows(const struct row *rows, int count, int colour)
{
	size_t widths[COLUMNS] = { 0 };

	for (int i = 0; i < count; i++)
		for (int column = 0; column < COLUMNS; column++)
			if (utf8_length(rows[i].cells[column]) > widths[column])
				widths[column] = utf8_length(rows[i].cells[column]);
	for (int i = 0; i < count; i++) {
		fputs(colour && !i ? "\033[2m" : "", stdout);
		for (int column = 0; column < COLUMNS; column++)
			print_cell(rows[i].cells[column], column, widths[column]);
		fputs(colour && !i ? "\033[0m" : "", stdout);
	}
}

/* Prints the device that BI_DEVICE selects. Opens that device to find out. Prints the error if that fails. */
static void print_default(const char *spec)
{
	struct bi_options opening = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi_error err;

	if (bi_context_open(&opening, &context, &err) == BI_OK) {
		printf("Without --device, BI_DEVICE=%s selects %s.\n", spec, bi_context_device(context)->spec);
		bi_context_release(context);
	} else {
		printf("%s.\n", err.message);
	}
}

static void print_auto_choice(const struct bi_device *devices, int count)
{
	const struct bi_device *taken = first_usable(devices, count);
	const char *otherwise = environment_choice();

	if (!taken)
		puts("\nNo device can be used.");
	else
		printf("\n'auto' takes %s, the first of the list, or the next one that opens.\n", taken->spec);
	if (otherwise)
		print_default(otherwise);
}

static int print_table(const struct bi_device *devices, int count)
{
	static const struct row titles = { { "", "device", "name", "platform", "memory", "capabilities" } };
	struct row *rows = calloc((size_t)count + 1, sizeof(*rows));
	int used = 1;

	if (!rows) {
		say("out of memory");
		return EXIT_CODE_FAILURE;
	}
	rows[0] = titles;
	for (int i = 0; i < count; i++)
		if (devices[i].usable)
			fill_row(&rows[used++], &devices[i], i);
	print_rows(rows, used, terminal_has_colour(stdout));
	for (int i = 0; i < count; i++)
		if (!devices[i].usable)
			printf("%s cannot be used: %s\n", devices[i].spec, devices[i].reason);
	print_auto_choice(devices, count);
	free(rows);
	return EXIT_CODE_OK;
}

static int run(const struct invocation *invocation)
{
	struct bi_device *devices = NULL;
	struct bi_error err;
	int count, capacity, rc = bi_devices(NULL, 0, &capacity, &err);

	if (rc == BI_OK) {
		devices = calloc((size_t)capacity + 1, sizeof(*devices));
		rc = devices ? bi_devices(devices, capacity, &count, &err) : fail(&err, BI_ENOMEM, "out of memory");
	}
	if (rc != BI_OK) {
		say("%s", err.message);
		free(devices);
		return EXIT_CODE_FAILURE;
	}
	if (count > capacity)
		count = capacity;
	rc = EXIT_CODE_OK;
	if (invocation->values[OPTION_JSON])
		print_json(devices, count);
	else
		rc = print_table(devices, count);
	free(devices);
	return rc;
}

const struct command command_devices = {
	.name = "devices",
	.synopsis = "",
	.summary = "List the devices, the best first, and backends that cannot be used.",
	.details = "Each device has a position and a device string; --device of other commands and\n"
		   "the environment variable BI_DEVICE take both (#0, opencl:0:0). When BI_DEVICE is\n"
		   "set, the last line says what it selects.\n",
	.options = options,
	.run = run,
};
