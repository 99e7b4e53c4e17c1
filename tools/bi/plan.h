/* What a copy of a view into a dense array is made of, in words; and how long it takes on a device. */
#ifndef BI_TOOL_PLAN_H
#define BI_TOOL_PLAN_H

#include "buffer_interface.h"

/* Prints the kind of plan, the reason and the nest of loops. */
int plan_print(const struct bi_layout *view, struct bi_error *err);

/*
 * Carries the copy out on a device (NULL: the default one), in memory of its own, and prints how it is done there and
 * how long it takes beside a copy of as many dense bytes. Nothing is printed if it fails.
 */
int plan_measure(const struct bi_layout *view, const char *device, struct bi_error *err);

#endif
