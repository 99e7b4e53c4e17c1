/*
 * Allocations and their addresses. Memory of a device has two addresses: callers get one, which the CPU cannot use; the
 * simulator reads and writes the memory at the other. Memory that the CPU may use has one address.
 */
#ifndef BI_TESTS_CUDA_SIM_MEMORY_H
#define BI_TESTS_CUDA_SIM_MEMORY_H

#include "race.h"
#include "sim.h"

struct context;

enum memory_kind {
	MEMORY_DEVICE, /* cuMemAlloc */
	MEMORY_POOL, /* cuMemAllocAsync */
	MEMORY_MAPPED, /* cuMemMap */
	MEMORY_MANAGED,
	MEMORY_PINNED, /* cuMemHostAlloc */
	MEMORY_REGISTERED
};

/* Whole pages. */
struct pages {
	uint64_t start;
	size_t nbytes;
};

struct allocation {
	struct allocation *next; /* in the list of all of the run */
	uint64_t start;
	size_t nbytes;
	struct pages pages; /* contain no other allocation; registered memory: its bytes alone */
	enum memory_kind kind;
	int device;
	struct context *context; /* NULL: of no context (pools, mappings) */
	struct place made, freed; /* the calls */
	int is_freed;
	bi__cu_pool pool; /* NULL: the usual one, or none */
	int is_portable; /* of registered memory: for all contexts */
	int is_leaving; /* freed in the order of a stream that has not reached the free */
	unsigned access[SIM_DEVICES]; /* of a mapping: CUmemAccess_flags */
	struct history history;
};

/* Allocations in the order of their addresses; none overlap. */
struct table {
	struct allocation **list;
	size_t count, capacity;
};

/* arena.c: ranges of addresses. */

/* A range of addresses: one for each device, one for mappings, one for memory that the CPU may use too. */
struct arena {
	char *seen; /* addresses that callers get */
	char *bytes; /* addresses of the same memory for the simulator */
	size_t size;
	size_t next; /* offset of the first byte that has not been given out yet */
	int fd; /* of the memory at both; -1: there is none */
	struct table table;
};

struct arena *arena_of_device(int device);
struct arena *arena_of_mappings(void);
struct arena *arena_of_host(void);
/* Returns the arena that contains the address, or NULL. */
struct arena *arena_at(uint64_t address);
/* Takes pages for `nbytes` bytes, and an unused page behind them. Returns no pages if too few addresses are left. */
struct pages arena_take(struct arena *arena, size_t nbytes);
/*
 * Under registered_elsewhere, registered memory has a second address, at which devices access it: device_address.
 * host_address returns the address for the CPU. All other addresses are returned unchanged.
 */
uint64_t device_address(const struct allocation *allocation, uint64_t address);
uint64_t host_address(uint64_t address);
/* Returns the address at which the simulator accesses the byte. */
char *bytes_at(uint64_t address);
/* Permit and forbid accesses at the addresses that callers get. */
void arena_open(struct pages pages);
void arena_close(struct pages pages);
/* Gives the memory of the pages back to the system. */
void arena_empty(struct pages pages);
void arenas_forget(void);
/* In a forked child: forbids accesses to the memory of devices. */
void arenas_leave_child(void);
size_t page_size(void);

/* memory.c: the allocations. */

/* Takes pages that were never used, or, if too few are left, pages of memory that was freed long ago. */
struct pages memory_take(struct arena *arena, size_t nbytes);
/* Adds an allocation. Takes ownership of `writer`: the allocation as an operation, or NULL. */
struct allocation *memory_add(enum memory_kind kind, int device, struct context *context, uint64_t start, size_t nbytes,
			      struct pages pages, struct stamp *writer);
/* Returns the allocation that contains the byte, also a freed one, or NULL. The address may be that for devices. */
struct allocation *memory_at(uint64_t address);
/*
 * Returns the last allocation that starts at or before the address, if its pages or the unused page behind contain it.
 */
struct allocation *memory_near(uint64_t address);
/* Returns true if the range has bytes of memory that is not freed. */
int memory_overlaps(uint64_t start, size_t nbytes);
/* Fills the first 64 KiB of new memory with a byte that is not 0. */
void memory_scramble(const struct allocation *allocation);
/*
 * Returns the allocation to free that starts at this address. Returns NULL after a report, with *code set, if there is
 * none. Freed allocations are kept, so that a double free can be reported.
 */
struct allocation *memory_to_free(uint64_t start, bi__cu_result *code);
/* Marks the allocation as freed by the current call. */
void memory_free(struct allocation *allocation);
/* Reports and frees the memory of a context that is destroyed. */
void memory_free_of(const struct context *context);
int is_host_memory(const struct allocation *allocation);
const char *memory_name(const struct allocation *allocation, char text[128]);
/* Return the bytes of a device that are in use, and all its bytes. */
size_t memory_in_use(int device);
size_t memory_total(void);
/* Counts bytes of the device as used. Returns 0 if too few are left. */
int memory_charge(int device, size_t nbytes);
/* Returns the bytes that an allocation of `nbytes` takes from the device. */
size_t memory_rounded(size_t nbytes);
void memory_refund(int device, size_t nbytes);
/* Report what is left; forget all allocations. */
void memory_report_left(void);
void memory_forget(void);
uint64_t memory_live(void);

/* device_memory.c */
void pools_report_left(void);
/* At a synchronisation: pools give unused memory back to the system. */
void pools_shrink(void);
void pools_forget(void);

/* mapping.c */
void mappings_report_left(void);
void mappings_forget(void);
uint64_t mappings_live(void);
int is_reserved(uint64_t address, uint64_t *start, size_t *nbytes);

#endif
