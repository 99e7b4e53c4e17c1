/* Judges the members of an exchange structure. The functions run in the child of a step. */
#ifndef BI_TOOL_CHECK_STRUCTURE_H
#define BI_TOOL_CHECK_STRUCTURE_H

#include <buffer_interface/abi.h>

/* Returns 1 if the process can read the bytes. Reads one byte of each of the first 4096 pages, and the last byte. */
int check_is_readable(uint64_t address, uint64_t size);

/* Judges the rules of check.h, and those of type, device and memory that it leaves out. Returns 1 if none is broken. */
int judge_structure(const struct bi_exchange *x);

#endif
