#ifdef __linux__
#define _GNU_SOURCE /* secure_getenv */
#elif defined(__APPLE__)
#define _DARWIN_C_SOURCE /* issetugid */
#endif
#include "common/base/environment.h"

#include <stdlib.h>
#ifndef _WIN32
#include <unistd.h>
#endif

const char *bi__environment(const char *variable)
{
#ifdef __linux__
	/* secure_getenv tests the kernel's AT_SECURE, which covers file capabilities and security modules too. */
	return secure_getenv(variable);
#elif defined(_WIN32)
	return getenv(variable);
#else
	return issetugid() ? NULL : getenv(variable);
#endif
}

unsigned long long bi__environment_number(const char *variable, unsigned long long low, unsigned long long high,
					  unsigned long long otherwise)
{
	const char *text = bi__environment(variable);
	unsigned long long number;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return otherwise;
	number = strtoull(text, &end, 10);
	return *end == '\0' && number >= low && number <= high ? number : otherwise;
}
