/* Environment variables. No other file of src reads them. */
#ifndef BI_COMMON_BASE_ENVIRONMENT_H
#define BI_COMMON_BASE_ENVIRONMENT_H

/*
 * Returns the value of the variable, or NULL if it is not set. Returns NULL for every variable if the process has more
 * rights than the user who started it, because that user must not choose which library the process loads. (This case is
 * not detected on Windows.) The caller does not free the value.
 */
const char *bi__environment(const char *variable);

/* Returns the value of the variable if it is a decimal number in low..high without a sign, otherwise `otherwise`. */
unsigned long long bi__environment_number(const char *variable, unsigned long long low, unsigned long long high,
					  unsigned long long otherwise);

#endif
