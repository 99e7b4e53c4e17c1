#include "page_flags.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Returns true if the line is the first of a mapping. Then *contains is 1 if the mapping contains the address. */
static int is_first_line(const char *line, uintptr_t address, int *contains)
{
	uintptr_t first, end;

	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &first, &end) != 2)
		return 0;
	*contains = first <= address && address < end;
	return 1;
}

/* Returns 1 if the mapping has the flag "hg" (large pages were requested), 0 if not, -1 if no flags are found. */
static int find_flag(FILE *maps, uintptr_t address)
{
	int contains = 0;
	char line[512];

	while (fgets(line, sizeof(line), maps))
		if (!is_first_line(line, address, &contains) && contains && strncmp(line, "VmFlags:", 8) == 0)
			return strstr(line, " hg") != NULL;
	return -1;
}

int test_large_pages_at(const void *address)
{
	FILE *setting = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r"), *maps;
	int found;

	if (!setting)
		return -1;
	fclose(setting);
	maps = fopen("/proc/self/smaps", "r");
	if (!maps)
		return -1;
	found = find_flag(maps, (uintptr_t)address);
	fclose(maps);
	return found;
}
