/* What the cases of the process suite share. */
#ifndef BI_TESTS_PROCESS_PROCESS_H
#define BI_TESTS_PROCESS_PROCESS_H

#include <pthread.h>
#include <stddef.h>

#include "buffer_interface.h"

/* The device string of the command line. */
extern const char *device;

/* How many rounds case `endurance` makes. */
extern unsigned long rounds;

/* Prints the text, and the message of the error unless it is NULL, and ends the process. */
_Noreturn void fail(const char *text, const struct bi_error *err);

/* Starts a thread. */
pthread_t start(void *(*run)(void *), void *data);

/* Returns the bytes of the process that are in memory now. */
size_t resident(void);

/* A part of case `cancel`: threads are cancelled in small calls on objects that all threads share. */
void cancel_small_calls(void);
void cancel_files(void);

void case_pressure(void);
void case_endurance(void);

#endif
