/* Every option of a context and of the process at its limits and one beside them. */
#ifndef BI_TESTS_FAULT_OPTIONS_H
#define BI_TESTS_FAULT_OPTIONS_H

/* Prints each combination that is wrong. Returns the exit status. */
int check_all_options(const char *device);

#endif
