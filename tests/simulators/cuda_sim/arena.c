#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"

/* Much more than tests allocate, so that addresses of freed memory are seldom used again. */
#define ROOM ((size_t)8 << 30)

static struct arena devices[SIM_DEVICES], mappings, host;

size_t page_size(void)
{
	static size_t size;

	if (!size)
		size = (size_t)sysconf(_SC_PAGESIZE);
	return size;
}

static char *map(int protection, int flags, int fd)
{
	void *at = mmap(NULL, ROOM, protection, flags | MAP_NORESERVE, fd, 0);

	if (at == MAP_FAILED)
		abort();
	return at;
}

static struct arena *made(struct arena *arena)
{
	arena->size = ROOM;
	arena->next = page_size();
	return arena;
}

struct arena *arena_of_device(int device)
{
	struct arena *arena = &devices[device];

	if (arena->seen)
		return arena;
	arena->fd = memfd_create("cuda_sim", MFD_CLOEXEC);
	if (arena->fd < 0 || ftruncate(arena->fd, (off_t)ROOM))
		abort();
	arena->seen = map(PROT_NONE, MAP_SHARED, arena->fd);
	arena->bytes = map(PROT_READ | PROT_WRITE, MAP_SHARED, arena->fd);
	return made(arena);
}

struct arena *arena_of_mappings(void)
{
	if (mappings.seen)
		return &mappings;
	mappings.fd = -1;
	mappings.seen = map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	mappings.bytes = map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	return made(&mappings);
}

struct arena *arena_of_host(void)
{
	if (host.seen)
		return &host;
	host.fd = -1;
	host.seen = host.bytes = map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	return made(&host);
}

static int lies_in(const struct arena *arena, uint64_t address)
{
	return arena->seen && address >= (uintptr_t)arena->seen && address - (uintptr_t)arena->seen < arena->size;
}

struct arena *arena_at(uint64_t address)
{
	for (int i = 0; i < SIM_DEVICES; i++)
		if (lies_in(&devices[i], address))
			return &devices[i];
	if (lies_in(&mappings, address))
		return &mappings;
	return lies_in(&host, address) ? &host : NULL;
}

struct pages arena_take(struct arena *arena, size_t nbytes)
{
	size_t page = page_size(), start = arena->next, room = arena->size - page - start;
	struct pages pages = { 0, 0 };

	if (start > arena->size - page || nbytes > room)
		return pages;
	pages.nbytes = (nbytes + page - 1) / page * page;
	if (pages.nbytes > room)
		return (struct pages){ 0, 0 };
	arena->next = start + pages.nbytes + page;
	pages.start = (uintptr_t)arena->seen + start;
	return pages;
}

/* No address of a process has such a first byte. */
#define FOR_DEVICES ((uint64_t)1 << 56)

uint64_t device_address(const struct allocation *allocation, uint64_t address)
{
	int has_own = switched(SWITCH_registered_elsewhere) && allocation->kind == MEMORY_REGISTERED;

	return has_own ? address | FOR_DEVICES : address;
}

uint64_t host_address(uint64_t address)
{
	return switched(SWITCH_registered_elsewhere) && address >> 56 == 1 ? address ^ FOR_DEVICES : address;
}

char *bytes_at(uint64_t address)
{
	const struct arena *arena = arena_at(address);

	return arena ? arena->bytes + (address - (uintptr_t)arena->seen) : (char *)(uintptr_t)host_address(address);
}

void arena_open(struct pages pages)
{
	if (mprotect((void *)(uintptr_t)pages.start, pages.nbytes, PROT_READ | PROT_WRITE))
		abort();
}

void arena_close(struct pages pages)
{
	if (mprotect((void *)(uintptr_t)pages.start, pages.nbytes, PROT_NONE))
		abort();
}

void arena_empty(struct pages pages)
{
	const struct arena *arena = arena_at(pages.start);

	if (arena->fd >= 0)
		fallocate(arena->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)(pages.start - (uintptr_t)arena->seen), (off_t)pages.nbytes);
	else
		madvise(bytes_at(pages.start), pages.nbytes, MADV_DONTNEED);
}

static void forget(struct arena *arena)
{
	if (!arena->seen)
		return;
	munmap(arena->seen, arena->size);
	if (arena->bytes != arena->seen)
		munmap(arena->bytes, arena->size);
	if (arena->fd >= 0)
		close(arena->fd);
	free(arena->table.list);
	*arena = (struct arena){ .fd = -1 };
}

/* Frees nothing, because another thread of the parent may have been changing a list. */
void arenas_leave_child(void)
{
	for (int i = 0; i < SIM_DEVICES; i++)
		if (devices[i].seen)
			mprotect(devices[i].bytes, devices[i].size, PROT_NONE);
}

void arenas_forget(void)
{
	for (int i = 0; i < SIM_DEVICES; i++)
		forget(&devices[i]);
	forget(&mappings);
	forget(&host);
}
