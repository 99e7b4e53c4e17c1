/*
 * Compiled programs in files. A file consists of a head and the program. A file whose head does not match is ignored.
 */
#define _POSIX_C_SOURCE 200809L
#include "opencl/opencl.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct head {
	char magic[8];
	uint64_t key;
	uint64_t nbytes;
	uint64_t hash; /* of the program */
};

static const char magic[8] = "BIPROG01";

/*
 * Bytes of the largest program that is read. Drivers make smaller ones. The limit keeps a damaged file from causing a
 * large allocation.
 */
#define LARGEST (64 << 20)

uint64_t bi__opencl_hash(uint64_t hash, const void *bytes, size_t nbytes)
{
	const unsigned char *byte = bytes;

	for (; nbytes; nbytes--, byte++)
		hash = (hash ^ *byte) * UINT64_C(0x100000001b3);
	return hash;
}

/* Returns "directory/opencl-0123456789abcdef" followed by the suffix. The caller frees the text. */
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

/*
 * Opens a file for reading. Returns NULL unless it is a regular file that belongs to this user and that nobody else can
 * write.
 */
static FILE *open_own_file(const char *path)
{
	int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat facts;
	FILE *file = NULL;

	if (descriptor < 0)
		return NULL;
	if (fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid() &&
	    !(facts.st_mode & (S_IWGRP | S_IWOTH)))
		file = fdopen(descriptor, "rb");
	if (!file)
		close(descriptor);
	return file;
}

/* Returns 1 if the directory belongs to this user and nobody else can write it. */
static int is_own_directory(const char *directory)
{
	struct stat facts;

	return stat(directory, &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
	       !(facts.st_mode & (S_IWGRP | S_IWOTH));
}

void *bi__opencl_cache_read(const char *directory, uint64_t key, size_t *nbytes)
{
	char *path = is_own_directory(directory) ? path_of(directory, key, ".bin") : NULL;
	FILE *file = path ? open_own_file(path) : NULL;
	void *bytes = NULL;

	if (file) {
		bytes = read_program(file, key, nbytes);
		fclose(file);
	}
	free(path);
	return bytes;
}

static int write_program(int descriptor, const struct head *head, const void *bytes)
{
	FILE *file = fdopen(descriptor, "wb");
	int whole;

	/* mkstemp has made the file private. A file that a crash cuts short is found out by its hash. */
	if (!file) {
		close(descriptor);
		return 0;
	}
	whole = fwrite(head, sizeof(*head), 1, file) == 1 && fwrite(bytes, (size_t)head->nbytes, 1, file) == 1;
	return !fclose(file) && whole;
}

void bi__opencl_cache_write(const char *directory, uint64_t key, const void *bytes, size_t nbytes)
{
	struct head head = { .key = key, .nbytes = nbytes, .hash = bi__opencl_hash(BI__OPENCL_HASH, bytes, nbytes) };
	char *path = path_of(directory, key, ".bin"), *temporary = path_of(directory, key, ".XXXXXX");
	int descriptor = -1;

	memcpy(head.magic, magic, sizeof(magic));
	mkdir(directory, 0700);
	if (path && temporary && is_own_directory(directory))
		descriptor = mkstemp(temporary);
	if (descriptor >= 0 && (!write_program(descriptor, &head, bytes) || rename(temporary, path)))
		unlink(temporary);
	free(temporary);
	free(path);
}
