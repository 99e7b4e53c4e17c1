/*
 * Device strings: the list of devices of all backends, and which of them a string such as "opencl:0:1", "cuda", "#2" or
 * "auto" names. include/buffer_interface.h describes the strings.
 */
#ifndef BI_COMMON_BACKEND_DEVICE_STRING_H
#define BI_COMMON_BACKEND_DEVICE_STRING_H

#include "common/backend/backend.h"

/* The longest list of devices; the devices of one machine fit. */
#define BI__MAX_DEVICES 64

/* The devices that fit a device string, the best first. */
struct bi__choice {
	int count;
	int is_auto; /* "auto": the next device is tried if one does not open */
	const struct bi_device *devices; /* in `list` */
	struct bi_device *list; /* owned */
};

/*
 * Finds the devices that fit. `spec` NULL stands for the environment variable BI_DEVICE, and without that for "auto".
 * Backends list their devices anew each time. On success the caller owns the choice. Returns BI_ENODEVICE with the
 * reasons if nothing fits.
 */
int bi__device_string_choose(const char *spec, struct bi__choice *choice, struct bi_error *err);
void bi__choice_free(struct bi__choice *choice);

/* Reads the string of an adopted context, such as "opencl:1": sets backend and ordinal (-1: not given). */
int bi__device_string_adopted(const char *spec, struct bi_device *device, struct bi_error *err);

#endif
