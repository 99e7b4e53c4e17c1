#define _POSIX_C_SOURCE 200809L
#include "common/backend/device_string.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/backend/dispatch.h"
#include "common/backend/registry.h"
#include "common/base/environment.h"

/* Returns the rank of a device. The list begins with the lowest rank. Devices that cannot be used have the highest. */
static int rank_of(const struct bi_device *device)
{
	static const int ranks[] = {
		[BI_DEVICE_KIND_GPU] = 0,   [BI_DEVICE_KIND_ACCELERATOR] = 1, [BI_DEVICE_KIND_CPU] = 2,
		[BI_DEVICE_KIND_OTHER] = 3, [BI_DEVICE_KIND_HOST] = 4,
	};

	return device->usable ? ranks[device->kind] : 5;
}

/* The sort is stable, so devices of one rank keep the order of their backends and platforms. */
static void sort_devices(struct bi_device *devices, int count)
{
	for (int i = 1; i < count; i++) {
		struct bi_device device = devices[i];
		int j = i;

		for (; j > 0 && rank_of(&device) < rank_of(&devices[j - 1]); j--)
			devices[j] = devices[j - 1];
		devices[j] = device;
	}
}

/* Appends the devices of a backend. If the backend cannot list devices, appends one entry with the reason. */
static void append_devices(const struct bi__backend *backend, struct bi__choice *choice)
{
	struct bi_error err = { 0, 0, "" };
	struct bi_device *next = &choice->list[choice->count];
	int count, capacity = BI__MAX_DEVICES - choice->count;

	/* One entry is reserved for each backend. The host, which is the last backend, may use all that are left. */
	if (backend != bi__registry_host())
		capacity -= (int)bi__registry_count();
	if (capacity <= 0)
		return;
	if (bi__dispatch_enumerate(backend, next, capacity, &count, &err) == BI_OK) {
		choice->count += count < capacity ? count : capacity;
		return;
	}
	memset(next, 0, sizeof(*next));
	snprintf(next->spec, sizeof(next->spec), "%s", backend->name);
	snprintf(next->backend, sizeof(next->backend), "%s", backend->name);
	snprintf(next->reason, sizeof(next->reason), "%s", err.message);
	choice->count++;
}

/* Lists the devices of the backend `only`, or of all backends if it is NULL. */
static int list_devices(const struct bi__backend *only, struct bi__choice *choice, struct bi_error *err)
{
	const struct bi__backend *backend;

	choice->devices = choice->list = malloc(BI__MAX_DEVICES * sizeof(*choice->list));
	if (!choice->list)
		return bi__fail(err, BI_ENOMEM, "no memory for a list of devices");
	for (size_t i = 0; (backend = bi__registry_backend(i)); i++)
		if (!only || only == backend)
			append_devices(backend, choice);
	sort_devices(choice->list, choice->count);
	return BI_OK;
}

int bi_devices(struct bi_device *devices, int capacity, int *count, struct bi_error *err)
{
	struct bi__choice choice = { 0 };
	int rc;

	if (!count)
		return bi__fail(err, BI_EINVAL, "count is NULL");
	if (capacity < 0 || (capacity && !devices))
		return bi__fail(err, BI_EINVAL, "capacity is %d, %s", capacity,
				capacity < 0 ? "below 0" : "but devices is NULL");
	*count = 0;
	rc = list_devices(NULL, &choice, err);
	if (rc)
		return rc;
	*count = choice.count;
	if (capacity > choice.count)
		capacity = choice.count;
	if (capacity > 0)
		memcpy(devices, choice.devices, (size_t)capacity * sizeof(*devices));
	bi__choice_free(&choice);
	return BI_OK;
}

/* Reads one to six digits, which a colon or the end of the text follows. Returns 1, or 0 if there is no such number. */
static int read_number(const char **text, int *out)
{
	size_t digits = strspn(*text, "0123456789");

	if (digits == 0 || digits > 6 || ((*text)[digits] != '\0' && (*text)[digits] != ':'))
		return 0;
	*out = atoi(*text);
	*text += digits;
	return 1;
}

/* Compares without regard to case. */
static int contains_part(const char *text, const char *part)
{
	size_t n = strlen(part);

	for (; *text; text++)
		if (strncasecmp(text, part, n) == 0)
			return 1;
	return 0;
}

/*
 * Returns 1 if `rest` has the numbers of the device string: "1" for "cuda:1", "0:1" for "opencl:0:1". With fewer
 * numbers than the device string, `rest` can fit several devices. With more numbers, it fits an entry that cannot be
 * used: "1:0" fits "opencl:1", a platform without usable devices.
 */
static int fits_numbers(const struct bi_device *device, const char *rest)
{
	const char *own = strchr(device->spec, ':');
	int wanted, has;

	while (own && *own == ':') {
		own++;
		if (!read_number(&rest, &wanted) || !read_number(&own, &has) || wanted != has)
			return 0;
		if (!*rest)
			return 1;
		rest++;
	}
	return own && !device->usable;
}

/*
 * Returns 1 if the device fits `rest`, the text after the first colon: numbers, or part of the name of the device, or
 * of the name or version of its platform.
 */
static int fits_device(const struct bi_device *device, const char *rest)
{
	const char *c = rest;
	int number;

	if (read_number(&c, &number))
		return fits_numbers(device, rest);
	return device->usable && *rest &&
	       (contains_part(device->name, rest) || contains_part(device->platform_name, rest) ||
		contains_part(device->platform_version, rest));
}

/* Moves the devices that fit to the front of the list. Returns their number. If none fits, the list stays as it is. */
static int move_fitting(struct bi__choice *choice, const char *rest)
{
	int fitting = 0;

	for (int i = 0; i < choice->count; i++)
		if (fits_device(&choice->list[i], rest))
			choice->list[fitting++] = choice->list[i];
	return fitting;
}

struct request {
	const char *source; /* for messages: "device", or the name of the environment variable */
	const char *spec;
};

static int count_usable(const struct bi__choice *choice)
{
	int count = 0;

	while (count < choice->count && choice->devices[count].usable)
		count++;
	return count;
}

static int choose_position(struct request request, struct bi__choice *choice, struct bi_error *err)
{
	const char *c = request.spec + 1;
	int position, count, rc = list_devices(NULL, choice, err);

	if (rc)
		return rc;
	count = count_usable(choice);
	if (!read_number(&c, &position) || *c || position >= count)
		return bi__fail(err, BI_ENODEVICE, "%s \"%s\" is not in the list of devices, #0..#%d", request.source,
				request.spec, count - 1);
	choice->devices += position;
	choice->count = 1;
	return BI_OK;
}

/* Writes the names of all backends, such as "opencl, host", as far as there is space. */
static const char *backend_names(char *text, size_t capacity)
{
	const struct bi__backend *backend;
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; (backend = bi__registry_backend(i)) && used < capacity; i++)
		used += (size_t)snprintf(text + used, capacity - used, "%s%s", i ? ", " : "", backend->name);
	return text;
}

/* Writes the devices, such as "opencl:0:0 (pthread-something), opencl:0:1 (basic)", as far as there is space. */
static const char *device_names(const struct bi__choice *choice, char *text, size_t capacity)
{
	size_t used = 0;

	*text = '\0';
	for (int i = 0; i < choice->count && used < capacity; i++)
		used += (size_t)snprintf(text + used, capacity - used, "%s%s (%s)", i ? ", " : "",
					 choice->devices[i].spec, choice->devices[i].name);
	return text;
}

/* The list begins with the GPUs that can be used. */
static int choose_gpus(struct request request, struct bi__choice *choice, struct bi_error *err)
{
	char names[200];
	int count = 0, rc = list_devices(NULL, choice, err);

	if (rc)
		return rc;
	while (count < choice->count && choice->devices[count].usable &&
	       choice->devices[count].kind == BI_DEVICE_KIND_GPU)
		count++;
	choice->is_auto = 1;
	choice->count = count ? count : count_usable(choice);
	if (count)
		return BI_OK;
	return bi__fail(err, BI_ENODEVICE, "%s \"gpu\": no GPU can be used; there are: %s", request.source,
			device_names(choice, names, sizeof(names)));
}

static int choose_backend(struct request request, struct bi__choice *choice, struct bi_error *err)
{
	size_t length = strcspn(request.spec, ":");
	const char *rest = request.spec + length; /* with its colon, or "" */
	const struct bi__backend *backend = bi__registry_find(request.spec, length);
	char names[200];
	int fitting, rc;

	if (!backend)
		return bi__fail(err, BI_ENODEVICE, "%s \"%s\" names no backend of this build (auto, cpu, gpu, #N, %s)",
				request.source, request.spec, backend_names(names, sizeof(names)));
	rc = list_devices(backend, choice, err);
	if (rc)
		return rc;
	fitting = *rest ? move_fitting(choice, rest + 1) : choice->count;
	if (choice->count && !choice->devices[0].usable)
		return bi__fail(err, BI_ENODEVICE, "%s \"%s\": %s", request.source, request.spec,
				choice->devices[0].reason);
	choice->count = fitting ? fitting : count_usable(choice);
	if (fitting)
		return BI_OK;
	return bi__fail(err, BI_ENODEVICE, "%s \"%s\" fits no device; there are: %s", request.source, request.spec,
			device_names(choice, names, sizeof(names)));
}

int bi__device_string_choose(const char *spec, struct bi__choice *choice, struct bi_error *err)
{
	struct request request = { "device", spec };
	int rc;

	if (!spec)
		request = (struct request){ "BI_DEVICE", bi__environment("BI_DEVICE") };
	if (request.spec && strcmp(request.spec, "cpu") == 0)
		request.spec = bi__registry_host()->name;
	*choice = (struct bi__choice){ 0 };
	choice->is_auto = !request.spec || (!spec && !*request.spec) || strcmp(request.spec, "auto") == 0;
	if (choice->is_auto)
		rc = list_devices(NULL, choice, err);
	else if (strcmp(request.spec, "gpu") == 0)
		rc = choose_gpus(request, choice, err);
	else if (*request.spec == '#')
		rc = choose_position(request, choice, err);
	else
		rc = choose_backend(request, choice, err);
	if (rc)
		bi__choice_free(choice);
	return rc;
}

void bi__choice_free(struct bi__choice *choice)
{
	free(choice->list);
}

int bi__device_string_adopted(const char *spec, struct bi_device *device, struct bi_error *err)
{
	size_t length = spec ? strcspn(spec, ":") : 0;
	const struct bi__backend *backend = bi__registry_find(spec ? spec : "", length);
	const char *c = spec ? spec + length : "";

	if (!backend || !backend->devices.open || !backend->memory.adopt)
		return bi__fail(err, BI_EINVAL,
				"device \"%s\" does not name the backend of the adopted handle, such as opencl or cuda",
				spec ? spec : "");
	memset(device, 0, sizeof(*device));
	snprintf(device->backend, sizeof(device->backend), "%s", backend->name);
	device->ordinal = -1;
	if (*c == ':' && (c++, !read_number(&c, &device->ordinal) || *c))
		return bi__fail(err, BI_EINVAL, "device \"%s\" is not %s:POSITION", spec, backend->name);
	return BI_OK;
}
