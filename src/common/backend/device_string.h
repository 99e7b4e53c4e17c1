/*
 * Device strings: the list of devices of all backends, and the choice of devices by a string such as "opencl:0:1",
 * "cuda", "#2" or "auto". include/buffer_interface.h describes the strings.
 */
#ifndef BI_COMMON_BACKEND_DEVICE_STRING_H
#define BI_COMMON_BACKEND_DEVICE_STRING_H

#include "common/backend/backend.h"

/* The longest list of devices. Further devices are left out. */
#define BI__MAX_DEVICES 64

/* The devices that fit a device string, the best first. */
struct bi__choice {
	int count;
	int is_auto; /* "auto" or "gpu": if a device does not open, the next device is tried */
	const struct bi_device *devices; /* the `count` devices, a part of `list` */
	struct bi_device *list; /* owned */
};

/*
 * Finds the devices that fit `spec`. NULL stands for the environment variable BI_DEVICE, or for "auto" if the variable
 * is unset or empty. Each call lists the devices anew. On success the caller frees the choice with bi__choice_free.
 * Returns BI_ENODEVICE with a reason if no device fits.
 */
int bi__device_string_choose(const char *spec, struct bi__choice *choice, struct bi_error *err);
void bi__choice_free(struct bi__choice *choice);

/* Reads the string of an adopted context, such as "opencl:1": sets backend and ordinal (-1: not given). */
int bi__device_string_adopted(const char *spec, struct bi_device *device, struct bi_error *err);

#endif
