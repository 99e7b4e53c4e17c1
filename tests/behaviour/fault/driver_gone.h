/* A driver that disappears: from a call on, all of its calls fail with the code for that. */
#ifndef BI_TESTS_FAULT_DRIVER_GONE_H
#define BI_TESTS_FAULT_DRIVER_GONE_H

#include <stdint.h>

/* Opens the driver, and finds what makes it disappear. Returns 0 if there is nothing. */
int driver_gone_open(const char *device);

/* The driver is there, and calls are counted from now on. */
void driver_gone_reset(void);

/* Calls of the driver since the reset. */
uint64_t driver_gone_calls(void);

/* The driver is gone from the n-th call on (1: the next). */
void driver_gone_from(uint64_t nth);

/* The name of the code with which calls fail then. */
const char *driver_gone_code(void);

#endif
