/* Prints the plan by which a view is copied into a dense array, and measures the copy on a device. */
#ifndef BI_TOOL_PLAN_H
#define BI_TOOL_PLAN_H

#include "buffer_interface.h"

/* Prints the kind of the plan, its reason and its nest of loops. */
int plan_print(const struct bi_layout *view, struct bi_error *err);

/*
 * Copies the view in new memory of a device; NULL is the default device. Prints the method and the speed of the copy,
 * and the speed of a dense copy of the same size. Prints nothing on failure.
 */
int plan_measure(const struct bi_layout *view, const char *device, struct bi_error *err);

#endif
