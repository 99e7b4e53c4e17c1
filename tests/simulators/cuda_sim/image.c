/* Reads images of programs: versions and targets of PTX text, the header of machine code. */
#define _GNU_SOURCE
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "decisions.h"
#include "module.h"

#define MACHINE_CUDA 190

/* Returns the text after a directive: "sm_80" for ".target sm_80". Returns NULL if there is no such directive. */
static const char *directive(const char *text, const char *name)
{
	const char *found = strstr(text, name);

	return found ? found + strlen(name) + strspn(found + strlen(name), " \t") : NULL;
}

/* Returns the newest PTX version of the driver: 72 (PTX 7.2) for CUDA 11.2, 84 for 12.4, 90 for 13.0. */
static int newest_ptx(void)
{
	return (sim.options.version / 1000 - 4) * 10 + sim.options.version % 1000 / 10;
}

static bi__cu_result check_text(const char *text)
{
	const char *version = directive(text, ".version"), *target = directive(text, ".target");
	char *rest;
	long major, minor;

	if (!version || !target || strncmp(target, "sm_", 3))
		return BI__CU_ERROR_INVALID_PTX;
	major = strtol(version, &rest, 10);
	minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : -1;
	if (major <= 0 || minor < 0)
		return BI__CU_ERROR_INVALID_PTX;
	if (major * 10 + minor > newest_ptx())
		return BI__CU_ERROR_UNSUPPORTED_PTX_VERSION;
	return strtol(target + 3, NULL, 10) > sim.options.capability ? (bi__cu_result)DECIDED_PTX_FOR_NEWER_DEVICE
								     : BI__CU_SUCCESS;
}

/* The capability is the lowest byte of the flags. Since version 8 of the format, it is the byte above. */
static int capability_of(const Elf64_Ehdr *header)
{
	return (int)(header->e_ident[EI_ABIVERSION] >= 8 ? header->e_flags >> 8 & 0xff : header->e_flags & 0xff);
}

static void take_end(size_t *end, size_t offset, size_t nbytes)
{
	if (offset + nbytes > *end)
		*end = offset + nbytes;
}

/* Returns the end of the last table or section. */
static size_t machine_code_size(const char *image, const Elf64_Ehdr *header)
{
	size_t end = sizeof(*header);

	take_end(&end, header->e_shoff, (size_t)header->e_shnum * header->e_shentsize);
	take_end(&end, header->e_phoff, (size_t)header->e_phnum * header->e_phentsize);
	for (size_t i = 0; i < header->e_shnum; i++) {
		Elf64_Shdr section;

		memcpy(&section, image + header->e_shoff + i * header->e_shentsize, sizeof(section));
		if (section.sh_type != SHT_NOBITS)
			take_end(&end, section.sh_offset, section.sh_size);
	}
	return end;
}

static bi__cu_result check_machine_code(const char *image, size_t *nbytes)
{
	Elf64_Ehdr header;
	int capability;

	memcpy(&header, image, sizeof(header));
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != MACHINE_CUDA)
		return BI__CU_ERROR_INVALID_IMAGE;
	capability = capability_of(&header);
	*nbytes = machine_code_size(image, &header);
	if (capability / 10 != sim.options.capability / 10 || capability % 10 > sim.options.capability % 10)
		return BI__CU_ERROR_NO_BINARY_FOR_GPU;
	return BI__CU_SUCCESS;
}

bi__cu_result image_check(const void *image, size_t *nbytes)
{
	const char *bytes = image;

	if (!memcmp(bytes, ELFMAG, 1))
		return strncmp(bytes, ELFMAG, SELFMAG) ? BI__CU_ERROR_INVALID_IMAGE : check_machine_code(bytes, nbytes);
	*nbytes = strlen(bytes) + 1;
	if (!strstr(bytes, ".version"))
		return BI__CU_ERROR_INVALID_IMAGE;
	return check_text(bytes);
}

static int is_in_name(char c)
{
	return c == '_' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The code of a kernel is in a section with the name of the kernel. */
static int machine_code_has_entry(const char *image, size_t nbytes, const char *name)
{
	static const char prefix[] = ".text.";
	size_t length = strlen(prefix) + strlen(name) + 1;
	char *section = must_alloc(length, 1);
	int found;

	memcpy(section, prefix, strlen(prefix));
	memcpy(section + strlen(prefix), name, strlen(name));
	found = memmem(image, nbytes, section, length) != NULL;
	free(section);
	return found;
}

/* Returns the text behind the name of an entry, or NULL. */
static const char *find_entry(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = strstr(text, ".entry"); at; at = strstr(at + 1, ".entry")) {
		const char *entry = at + strlen(".entry") + strspn(at + strlen(".entry"), " \t\n");

		if (!strncmp(entry, name, length) && !is_in_name(entry[length]))
			return entry + length;
	}
	return NULL;
}

int image_number(const char *image, const char *name, const char *wanted, char before)
{
	const char *entry = *image == ELFMAG[0] ? NULL : find_entry(image, name);
	const char *next = entry ? strstr(entry, ".entry") : NULL, *found = entry ? strstr(entry, wanted) : NULL;
	long product = 1;
	char *rest;

	if (found && before)
		found = strchr(found, before);
	if (!found || (next && found > next))
		return 0;
	rest = (char *)(uintptr_t)found + (before ? 1 : strlen(wanted));
	do
		product *= strtol(rest, &rest, 10);
	while (*rest++ == ',');
	return (int)product;
}

#define FATBIN_MAGIC 0xba55ed50u

/* The header: magic number, version, bytes of the header, bytes behind it. Finds only text that is not compressed. */
const char *image_content(const char *image)
{
	struct {
		uint32_t magic;
		uint16_t version, nbytes;
		uint64_t rest;
	} header;

	if (strnlen(image, 4) < 4)
		return image;
	memcpy(&header.magic, image, sizeof(header.magic));
	if (header.magic != FATBIN_MAGIC)
		return image;
	memcpy(&header, image, sizeof(header));
	return memmem(image + header.nbytes, header.rest, ".version", strlen(".version"));
}

int image_has_entry(const char *image, size_t nbytes, const char *name)
{
	if (!*name)
		return 0;
	return *image == ELFMAG[0] ? machine_code_has_entry(image, nbytes, name) : find_entry(image, name) != NULL;
}
