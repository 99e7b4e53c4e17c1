/* The commands. main.c has the list of them. */
#ifndef BI_TOOL_COMMANDS_H
#define BI_TOOL_COMMANDS_H

#include "options.h"

extern const struct command command_devices;
extern const struct command command_copy;
extern const struct command command_show;
extern const struct command command_check; /* not on Windows */

#endif
