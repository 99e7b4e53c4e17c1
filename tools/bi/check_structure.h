/* What a single look at an exchange structure shows. The functions run in the child of a step. */
#ifndef BI_TOOL_CHECK_STRUCTURE_H
#define BI_TOOL_CHECK_STRUCTURE_H

#include <buffer_interface/abi.h>

/* Returns 1 if the process can read the bytes. Of large memory, only the first and the last bytes are read. */
int check_is_readable(uint64_t address, uint64_t size);

/* Judges the members by check.h and by what check.h leaves out. Returns 1 if no rule is broken, otherwise 0. */
int judge_structure(const struct bi_exchange *x);

#endif
