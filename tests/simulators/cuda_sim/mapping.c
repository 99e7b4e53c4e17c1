/* Virtual memory management: reserved ranges of addresses, memory, and mappings of memory into ranges. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "access.h"
#include "context.h"
#include "memory.h"
#include "scheduler.h"

#define GRANULARITY ((size_t)2 << 20)

/* Parts of the driver's structs. */
struct location {
	int type, id;
};

struct properties {
	int type, handle_types;
	struct location location;
};

struct access {
	struct location location;
	unsigned flags;
};

enum { LOCATION_DEVICE = 1, TYPE_PINNED = 1 };

static struct reservation {
	struct reservation *next;
	uint64_t start;
	size_t nbytes;
} * reservations;

/* Reference-counted: the handle and each mapping have a reference. */
static struct physical {
	struct physical *next;
	uint64_t handle; /* 0: released */
	unsigned references;
	size_t nbytes;
	int device, fd;
	struct place made;
} * physicals;

/* A mapping, as an allocation, and its memory. */
static struct mapping {
	struct mapping *next;
	struct allocation *allocation;
	struct physical *physical;
} * mappings;

static uint64_t last_handle;

static struct reservation *reservation_at(uint64_t address)
{
	for (struct reservation *r = reservations; r; r = r->next)
		if (address >= r->start && address - r->start < r->nbytes)
			return r;
	return NULL;
}

int is_reserved(uint64_t address, uint64_t *start, size_t *nbytes)
{
	const struct reservation *reservation = reservation_at(address);

	if (!reservation)
		return 0;
	*start = reservation->start;
	*nbytes = reservation->nbytes;
	return 1;
}

static bi__cu_result reserve(bi__cu_pointer *out, size_t nbytes, size_t alignment, uint64_t flags)
{
	struct reservation *reservation;
	struct pages pages;

	if (!out || !nbytes || nbytes % GRANULARITY || (alignment & (alignment - 1)) || flags)
		return BI__CU_ERROR_INVALID_VALUE;
	pages = arena_take(arena_of_mappings(), nbytes + GRANULARITY);
	if (!pages.start || alignment > GRANULARITY)
		return BI__CU_ERROR_OUT_OF_MEMORY;
	reservation = must_alloc(1, sizeof(*reservation));
	*reservation = (struct reservation){ reservations, (pages.start + GRANULARITY - 1) / GRANULARITY * GRANULARITY,
					     nbytes };
	reservations = reservation;
	*out = reservation->start;
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemAddressReserve(bi__cu_pointer *pointer, size_t nbytes, size_t alignment, bi__cu_pointer wanted,
				  uint64_t flags)
{
	bi__cu_result code = ENTER(cuMemAddressReserve);

	(void)wanted;
	return leave(code ? code : reserve(pointer, nbytes, alignment, flags));
}

static bi__cu_result unreserve(uint64_t start, size_t nbytes)
{
	struct reservation **place = &reservations;
	struct reservation *found;

	while (*place && (*place)->start != start)
		place = &(*place)->next;
	found = *place;
	if (!found || found->nbytes != nbytes) {
		report(REPORT_WRONG_FREE, "no such range is reserved");
		return BI__CU_ERROR_INVALID_VALUE;
	}
	if (memory_overlaps(start, nbytes)) {
		report(REPORT_WRONG_FREE, "memory is still mapped into the range");
		return BI__CU_ERROR_INVALID_VALUE;
	}
	*place = found->next;
	free(found);
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemAddressFree(bi__cu_pointer pointer, size_t nbytes)
{
	bi__cu_result code = ENTER(cuMemAddressFree);

	return leave(code ? code : unreserve(pointer, nbytes));
}

static struct physical *physical_of(uint64_t handle)
{
	struct physical *physical = physicals;

	while (physical && (!handle || physical->handle != handle))
		physical = physical->next;
	if (!physical)
		report(REPORT_UNKNOWN_HANDLE, "%ju is no memory handle, or one that was released", (uintmax_t)handle);
	return physical;
}

static void release_physical(struct physical *physical)
{
	struct physical **place = &physicals;

	if (--physical->references)
		return;
	while (*place != physical)
		place = &(*place)->next;
	*place = physical->next;
	memory_refund(physical->device, physical->nbytes);
	close(physical->fd);
	free(physical);
}

static bi__cu_result create(uint64_t *out, size_t nbytes, const struct properties *properties, uint64_t flags)
{
	struct physical *physical;

	if (!out || !properties || !nbytes || nbytes % GRANULARITY || flags || properties->type != TYPE_PINNED ||
	    properties->location.type != LOCATION_DEVICE)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!is_device(properties->location.id))
		return BI__CU_ERROR_INVALID_DEVICE;
	if (!memory_charge(properties->location.id, nbytes))
		return BI__CU_ERROR_OUT_OF_MEMORY;
	physical = must_alloc(1, sizeof(*physical));
	*physical = (struct physical){ physicals,
				       ++last_handle,
				       1,
				       nbytes,
				       properties->location.id,
				       memfd_create("cuda_sim", MFD_CLOEXEC),
				       place_now(PLACE_HOST) };
	if (physical->fd < 0 || ftruncate(physical->fd, (off_t)nbytes))
		abort();
	physicals = physical;
	*out = physical->handle;
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemCreate(uint64_t *handle, size_t nbytes, const void *properties, uint64_t flags)
{
	bi__cu_result code = ENTER(cuMemCreate);

	return leave(code ? code : create(handle, nbytes, properties, flags));
}

static bi__cu_result release(uint64_t handle)
{
	struct physical *physical = physical_of(handle);

	if (!physical)
		return BI__CU_ERROR_INVALID_VALUE;
	physical->handle = 0;
	release_physical(physical);
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemRelease(uint64_t handle)
{
	bi__cu_result code = ENTER(cuMemRelease);

	return leave(code ? code : release(handle));
}

static bi__cu_result granularity(size_t *nbytes, const struct properties *properties, unsigned option)
{
	if (!nbytes || !properties || option > 1)
		return BI__CU_ERROR_INVALID_VALUE;
	*nbytes = GRANULARITY;
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemGetAllocationGranularity(size_t *nbytes, const void *properties, unsigned option)
{
	bi__cu_result code = ENTER(cuMemGetAllocationGranularity);

	return leave(code ? code : granularity(nbytes, properties, option));
}

static void put(char *at, size_t nbytes, int protection, int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;

	if (mmap(at, nbytes, protection, flags | MAP_FIXED, fd, 0) == MAP_FAILED)
		abort();
}

static bi__cu_result map(uint64_t start, size_t nbytes, size_t offset, uint64_t handle, uint64_t flags)
{
	struct physical *physical = physical_of(handle);
	const struct reservation *range = reservation_at(start);
	struct mapping *mapping;

	if (!physical || !range || offset || flags || !nbytes || nbytes % GRANULARITY || start % GRANULARITY ||
	    nbytes > physical->nbytes || nbytes > range->start + range->nbytes - start ||
	    memory_overlaps(start, nbytes))
		return BI__CU_ERROR_INVALID_VALUE;
	put((char *)(uintptr_t)start, nbytes, PROT_NONE, physical->fd);
	put(bytes_at(start), nbytes, PROT_READ | PROT_WRITE, physical->fd);
	mapping = must_alloc(1, sizeof(*mapping));
	mapping->allocation =
		memory_add(MEMORY_MAPPED, physical->device, NULL, start, nbytes, (struct pages){ start, nbytes }, NULL);
	mapping->physical = physical;
	mapping->next = mappings;
	mappings = mapping;
	physical->references++;
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemMap(bi__cu_pointer pointer, size_t nbytes, size_t offset, uint64_t handle, uint64_t flags)
{
	bi__cu_result code = ENTER(cuMemMap);

	return leave(code ? code : map(pointer, nbytes, offset, handle, flags));
}

/* Returns true if the range consists of whole mappings. */
static int is_mapped(uint64_t start, size_t nbytes)
{
	size_t found = 0;

	for (const struct mapping *m = mappings; m; m = m->next)
		if (m->allocation->start >= start && m->allocation->start - start < nbytes)
			found += m->allocation->nbytes;
	return nbytes && found == nbytes && memory_at(start) && memory_at(start)->start == start;
}

static bi__cu_result unmap(uint64_t start, size_t nbytes)
{
	struct mapping **place = &mappings;
	bi__cu_result code = is_mapped(start, nbytes) ? wait_for_context(NULL) : BI__CU_ERROR_INVALID_VALUE;

	while (!code && *place) {
		struct mapping *mapping = *place;
		struct allocation *allocation = mapping->allocation;

		if (allocation->start < start || allocation->start - start >= nbytes) {
			place = &mapping->next;
			continue;
		}
		check_free(allocation);
		put((char *)(uintptr_t)allocation->start, allocation->nbytes, PROT_NONE, -1);
		put(bytes_at(allocation->start), allocation->nbytes, PROT_NONE, -1);
		memory_free(allocation);
		release_physical(mapping->physical);
		*place = mapping->next;
		free(mapping);
	}
	return code;
}

bi__cu_result cuMemUnmap(bi__cu_pointer pointer, size_t nbytes)
{
	bi__cu_result code = ENTER(cuMemUnmap);

	return leave(code ? code : unmap(pointer, nbytes));
}

static bi__cu_result set_access(uint64_t start, size_t nbytes, const struct access *access, size_t count)
{
	if (!access || !count || !is_mapped(start, nbytes))
		return BI__CU_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (access[i].location.type != LOCATION_DEVICE || !is_device(access[i].location.id) ||
		    access[i].flags > 3)
			return BI__CU_ERROR_INVALID_VALUE;
	for (const struct mapping *m = mappings; m; m = m->next)
		for (size_t i = 0; i < count; i++)
			if (m->allocation->start >= start && m->allocation->start - start < nbytes)
				m->allocation->access[access[i].location.id] = access[i].flags;
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemSetAccess(bi__cu_pointer pointer, size_t nbytes, const void *access, size_t count)
{
	bi__cu_result code = ENTER(cuMemSetAccess);

	return leave(code ? code : set_access(pointer, nbytes, access, count));
}

uint64_t mappings_live(void)
{
	uint64_t live = 0;

	for (const struct physical *physical = physicals; physical; physical = physical->next)
		live += physical->handle != 0;
	for (const struct reservation *reservation = reservations; reservation; reservation = reservation->next)
		live++;
	return live;
}

void mappings_report_left(void)
{
	char text[128];

	for (const struct physical *physical = physicals; physical; physical = physical->next)
		if (physical->handle)
			report(REPORT_LEFT, "a memory handle of %s", place_text(physical->made, text));
	for (const struct reservation *reservation = reservations; reservation; reservation = reservation->next)
		report(REPORT_LEFT, "a reserved range of %zu bytes", reservation->nbytes);
}

void mappings_forget(void)
{
	while (mappings) {
		struct mapping *mapping = mappings;

		mappings = mapping->next;
		release_physical(mapping->physical);
		free(mapping);
	}
	while (physicals)
		release_physical(physicals);
	while (reservations) {
		struct reservation *reservation = reservations;

		reservations = reservation->next;
		free(reservation);
	}
}
