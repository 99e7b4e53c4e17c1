/* Explains how a view is copied into a dense array, and measures the copy on a device. */
#ifndef BI_TOOL_PLAN_H
#define BI_TOOL_PLAN_H

#include "buffer_interface.h"

/* Prints the kind of the plan, its reason and its nest of loops. */
int plan_print(const struct bi_layout *view, struct bi_error *err);

/*
 * Copies the view on a device (NULL: the default one), in new memory. Prints how and how fast it is copied, beside a
 * copy of as many dense bytes. Prints nothing on failure.
 */
int plan_measure(const struct bi_layout *view, const char *device, struct bi_error *err);

#endif
