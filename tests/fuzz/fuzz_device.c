/*
 * Fuzzes device strings, on a list of devices that the input chooses. A string that is accepted opens a usable device,
 * and one with numbers opens exactly the devices with these numbers. A refusal has a reason: that of the platform, if
 * the numbers name a platform that cannot be used.
 */
#define bi_devices fuzzed_devices
#define bi__registry_backend fuzzed_backend
#define bi__registry_count fuzzed_count
#define bi__registry_find fuzzed_find
#define bi__registry_host fuzzed_host
#define bi__device_string_choose fuzzed_choose
#define bi__device_string_adopted fuzzed_adopted
#define bi__choice_free fuzzed_free
#include "common/backend/device_string.c"
#undef bi_devices

#include <ctype.h>

#include "fuzz/target.h"

#define PLATFORMS 3
#define DEVICES 2

/* Devices of each platform: 0 for a platform that cannot be used. */
static int devices_of[PLATFORMS];
static uint64_t kinds;

static int list_platforms(struct bi_device *devices, int capacity, int *count, struct bi_error *err)
{
	(void)err;
	*count = 0;
	for (int platform = 0; platform < PLATFORMS; platform++)
		for (int i = 0; i < devices_of[platform] + !devices_of[platform]; i++, (*count)++) {
			struct bi_device *device = &devices[*count];

			require(*count < capacity, "too few entries");
			*device = (struct bi_device){ .backend = "opencl", .platform = platform, .ordinal = i };
			device->usable = devices_of[platform] > 0;
			device->kind = (int)(kinds >> (2 * platform + i) & 1) ? BI_DEVICE_KIND_GPU : BI_DEVICE_KIND_CPU;
			if (device->usable) {
				snprintf(device->spec, sizeof(device->spec), "opencl:%c:%c", '0' + platform, '0' + i);
				snprintf(device->name, sizeof(device->name), "device %c", 'a' + i);
			} else {
				snprintf(device->spec, sizeof(device->spec), "opencl:%c", '0' + platform);
				snprintf(device->reason, sizeof(device->reason), "platform %c is broken",
					 '0' + platform);
			}
			snprintf(device->platform_name, sizeof(device->platform_name), "platform %c", 'p' + platform);
		}
	return BI_OK;
}

static int list_host(struct bi_device *devices, int capacity, int *count, struct bi_error *err)
{
	(void)err;
	require(capacity > 0, "no entry is left for the host");
	*devices = (struct bi_device){ .spec = "host", .backend = "host", .kind = BI_DEVICE_KIND_HOST, .usable = 1 };
	*count = 1;
	return BI_OK;
}

static int refuse_to_list(struct bi_device *devices, int capacity, int *count, struct bi_error *err)
{
	(void)devices;
	(void)capacity;
	(void)count;
	return bi__fail(err, BI_ENODEVICE, "no driver");
}

static int open_never(const struct bi_options *options, const struct bi_device *device, struct bi_device *opened,
		      struct bi__device_state *state, struct bi__queue *queue, struct bi_error *err)
{
	(void)options;
	(void)device;
	(void)opened;
	(void)state;
	(void)queue;
	(void)err;
	return BI_EINVAL;
}

static int adopt_never(struct bi__device_state *device, const struct bi_foreign *foreign, struct bi__block *block,
		       struct bi_error *err)
{
	(void)device;
	(void)foreign;
	(void)block;
	(void)err;
	return BI_EINVAL;
}

static const struct bi__backend backends[] = {
	{ .name = "cuda", .devices.enumerate = refuse_to_list },
	{ .name = "opencl", .devices = { .enumerate = list_platforms, .open = open_never }, .memory.adopt = adopt_never },
	{ .name = "host", .devices.enumerate = list_host, .synchronous = 1 },
};

#define BACKENDS (sizeof(backends) / sizeof(*backends))

const struct bi__backend *fuzzed_backend(size_t i)
{
	return i < BACKENDS ? &backends[i] : NULL;
}

size_t fuzzed_count(void)
{
	return BACKENDS;
}

const struct bi__backend *fuzzed_host(void)
{
	return &backends[BACKENDS - 1];
}

const struct bi__backend *fuzzed_find(const char *name, size_t length)
{
	for (size_t i = 0; i < BACKENDS; i++)
		if (strlen(backends[i].name) == length && memcmp(backends[i].name, name, length) == 0)
			return &backends[i];
	return NULL;
}

/* Reads "opencl:P" or "opencl:P:D" with one digit each; *device is -1 if there is no D. */
static int reads_as_numbers(const char *spec, int *platform, int *device)
{
	const size_t length = strlen(spec);

	if (strncmp(spec, "opencl:", 7) || (length != 8 && length != 10) || !isdigit((unsigned char)spec[7]))
		return 0;
	*platform = spec[7] - '0';
	*device = -1;
	if (length == 8)
		return 1;
	*device = spec[9] - '0';
	return spec[8] == ':' && isdigit((unsigned char)spec[9]);
}

static int count_fitting(int platform, int device)
{
	const int devices = platform < PLATFORMS ? devices_of[platform] : 0;

	return device < 0 ? devices : device < devices;
}

static void check_numbers(const char *spec, const struct bi__choice *choice, int rc, const struct bi_error *err)
{
	int platform, device, fitting;
	char reason[32];

	if (!reads_as_numbers(spec, &platform, &device))
		return;
	fitting = count_fitting(platform, device);
	require((rc == BI_OK) == (fitting > 0), "the numbers of a device string fit other devices");
	require(rc || choice->count == fitting, "a device string opens another number of devices");
	for (int i = 0; !rc && i < choice->count; i++)
		require(choice->devices[i].platform == platform && (device < 0 || choice->devices[i].ordinal == device),
			"a device string opens another device");
	snprintf(reason, sizeof(reason), "platform %d is broken", platform);
	if (rc && platform < PLATFORMS && !devices_of[platform])
		require(strstr(err->message, reason) != NULL, "the reason of another platform is reported");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct bi_error err = { 0, 0, "" };
	struct bi_device adopted;
	struct bi__choice choice;
	uint64_t counts;
	char *spec;
	int rc;

	counts = take(&in, 1);
	kinds = take(&in, 1);
	for (int i = 0; i < PLATFORMS; i++, counts /= DEVICES + 1)
		devices_of[i] = (int)(counts % (DEVICES + 1));
	spec = copy_string(in.data, in.size);
	rc = fuzzed_choose(spec, &choice, &err);
	fuzz_refused = rc != BI_OK;
	if (rc) {
		check_refusal(rc, &err);
	} else {
		require(choice.count > 0 && choice.devices[0].usable, "no usable device is chosen");
	}
	check_numbers(spec, &choice, rc, &err);
	if (!rc)
		fuzzed_free(&choice);
	rc = fuzzed_adopted(spec, &adopted, &err);
	if (rc)
		check_refusal(rc, &err);
	else
		require(strcmp(adopted.backend, "opencl") == 0 && adopted.ordinal >= -1, "a wrong device is adopted");
	free(spec);
	return 0;
}
