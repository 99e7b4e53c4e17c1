/* Numbers as text, for places where printf would be most of the cost. */
#ifndef BI_COMMON_BASE_DECIMAL_H
#define BI_COMMON_BASE_DECIMAL_H

#include <stdint.h>

/* Writes the digits and a final NUL: at most 11 bytes. */
static inline void bi__decimal(char *text, uint32_t number)
{
	char digits[10];
	int count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count)
		*text++ = digits[--count];
	*text = '\0';
}

#endif
