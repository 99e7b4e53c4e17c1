/*
 * Tells callgrind where a case begins and ends; nothing outside of it. A library of its own, so that a program which is
 * not written in C can load it (Python: ctypes) and be counted by the same script, count.py.
 *
 * The program has to be started with --instr-atstart=no.
 */
#ifndef BI_TESTS_CALLGRIND_MARKS_H
#define BI_TESTS_CALLGRIND_MARKS_H

/* Instructions are counted from here on, from 0. */
void bi_marks_begin(void);

/* Ends the count, which is `calls` calls of the case `name`: lower-case letters, digits and underscores. */
void bi_marks_end(const char *name, long calls);

#endif
