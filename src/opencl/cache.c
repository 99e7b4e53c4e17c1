/*
 * Compiled programs in files. A file consists of a head and the program. A file is ignored if its head does not fit the
 * key or the program.
 */
#include "opencl/opencl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/files.h"

struct head {
	char magic[8];
	uint64_t key;
	uint64_t nbytes;
	uint64_t hash; /* of the program */
};

static const char magic[8] = { 'B', 'I', 'P', 'R', 'O', 'G', '0', '1' };

/* Bytes of the largest program that is read or written. The limit keeps a damaged file from causing a large allocation.
 */
#define LARGEST (64 << 20)

uint64_t bi__opencl_hash(uint64_t hash, const void *bytes, size_t nbytes)
{
	const unsigned char *byte = bytes;

	for (; nbytes; nbytes--, byte++)
		hash = (hash ^ *byte) * UINT64_C(0x100000001b3);
	return hash;
}

/* Returns "directory/opencl-0123456789abcdef" and the suffix, or NULL on failure. The caller frees the text. */
static char *path_of(const char *directory, uint64_t key, const char *suffix)
{
	size_t size = strlen(directory) + strlen(suffix) + 32;
	char *path = malloc(size);

	if (path)
		snprintf(path, size, "%s/opencl-%016" PRIx64 "%s", directory, key, suffix);
	return path;
}

static int head_matches(const struct head *head, uint64_t key)
{
	return memcmp(head->magic, magic, sizeof(magic)) == 0 && head->key == key && head->nbytes > 0 &&
	       head->nbytes <= LARGEST;
}

static void *read_program(FILE *file, uint64_t key, size_t *nbytes)
{
	struct head head;
	void *bytes;

	if (fread(&head, sizeof(head), 1, file) != 1 || !head_matches(&head, key))
		return NULL;
	*nbytes = (size_t)head.nbytes;
	bytes = malloc(*nbytes);
	if (bytes && fread(bytes, *nbytes, 1, file) == 1 &&
	    bi__opencl_hash(BI__OPENCL_HASH, bytes, *nbytes) == head.hash)
		return bytes;
	free(bytes);
	return NULL;
}

void *bi__opencl_cache_read(const char *directory, uint64_t key, size_t *nbytes)
{
	char *path = path_of(directory, key, ".bin");
	FILE *file = path ? bi__file_open_own(directory, path) : NULL;
	void *bytes = NULL;

	if (file) {
		bytes = read_program(file, key, nbytes);
		fclose(file);
	}
	free(path);
	return bytes;
}

static int write_program(FILE *file, const struct head *head, const void *bytes)
{
	int whole = fwrite(head, sizeof(*head), 1, file) == 1 && fwrite(bytes, (size_t)head->nbytes, 1, file) == 1;

	/* The data is not synced to the disk: the hash detects a file that a crash has cut short. */
	return !fclose(file) && whole;
}

void bi__opencl_cache_write(const char *directory, uint64_t key, const void *bytes, size_t nbytes)
{
	struct head head = { .key = key, .nbytes = nbytes };
	char *path, *temporary;
	FILE *file;

	if (nbytes > LARGEST)
		return;
	head.hash = bi__opencl_hash(BI__OPENCL_HASH, bytes, nbytes);
	path = path_of(directory, key, ".bin");
	temporary = path_of(directory, key, ".XXXXXX");
	file = path && temporary ? bi__file_create_own(directory, temporary, sizeof(head) + nbytes) : NULL;
	memcpy(head.magic, magic, sizeof(magic));
	if (file && (!write_program(file, &head, bytes) || rename(temporary, path)))
		remove(temporary);
	free(temporary);
	free(path);
}
