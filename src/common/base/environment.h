/* Numbers in environment variables. */
#ifndef BI_COMMON_BASE_ENVIRONMENT_H
#define BI_COMMON_BASE_ENVIRONMENT_H

#include <stdlib.h>

/* Returns the variable's value if it is a decimal number without a sign in low..high, otherwise `otherwise`. */
static inline unsigned long long bi__environment_number(const char *variable, unsigned long long low,
							unsigned long long high, unsigned long long otherwise)
{
	const char *text = getenv(variable);
	unsigned long long number;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return otherwise;
	number = strtoull(text, &end, 10);
	return *end == '\0' && number >= low && number <= high ? number : otherwise;
}

#endif
