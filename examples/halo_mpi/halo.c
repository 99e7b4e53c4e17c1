/*
 * Heat in a block that is divided among the ranks of MPI. After each step the ranks exchange the faces of their parts.
 *
 *     mpiexec -n 4 halo_mpi [DEVICE]      the number of ranks divides 24 along each axis: 1, 2, 4, 8, 12 ...
 *
 * A face is a strided view. Copying it into a dense array packs it on the device. This array is device memory if MPI
 * accepts it, otherwise pinned host memory; nothing else differs. Rank 0 repeats the work alone and compares.
 */
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_interface.h"
#include "buffer_interface/kernel.h"
#include "buffer_interface/launch.h"

#include "halo.kernel.h"

#ifndef HALO_KERNEL
#define HALO_KERNEL "halo.kernel.h" /* the path of its text */
#endif

#define AXES 3
#define FACES (2 * AXES)
#define INNER 24 /* cells of the block along each axis */
#define OUTER (INNER + 2) /* with the shell, which keeps its temperature */
#define STEPS 10

static const struct bi_dtype real = { 4, 1, BI_FLOAT32, 0 };
static struct bi_error error;

#define TRY(call) \
	do { \
		if (call) { \
			fprintf(stderr, "halo_mpi: %s\n", error.message); \
			MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE); \
		} \
	} while (0)

/* A dense copy of one face, and its bytes while MPI uses them. */
struct message {
	struct bi_view *view;
	struct bi_map *map;
	int count;
};

struct part {
	MPI_Comm comm;
	struct bi_context *context;
	int gpu_aware; /* 1: MPI takes addresses of the device */
	int64_t start[AXES], size[AXES]; /* cells in the block, without the shell */
	int neighbours[FACES]; /* the ranks below and above along each axis, or MPI_PROC_NULL */
	struct bi_view *arrays[2]; /* now and next, with the shell */
	struct message sent[FACES], received[FACES];
};

/* Only an address of CUDA is one that MPI takes. The handle of an OpenCL GPU is a cl_mem. */
static int is_gpu_aware(const struct bi_context *context)
{
	int aware = 0;

#if defined(MPIX_CUDA_AWARE_SUPPORT)
	aware = MPIX_Query_cuda_support();
#elif defined(MPIX_GPU_SUPPORT_CUDA)
	MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &aware);
#endif
	return aware && !strcmp(bi_context_device(context)->backend, "cuda");
}

/* The cells [first, end) of one axis. */
static struct bi_view *slice_of(const struct bi_view *view, int axis, int64_t first, int64_t end)
{
	const struct bi_index item = { BI_INDEX_SLICE, first, end, 1 };
	struct bi_view *slice;

	TRY(bi_view_index_axis(view, axis, item, &slice, &error));
	return slice;
}

/* The cells of a part in an array of the whole block; `shell` cells more on each side. */
static struct bi_view *box_of(const struct bi_view *block, const struct part *part, int64_t shell)
{
	struct bi_index items[AXES];
	struct bi_view *box;

	for (int i = 0; i < AXES; i++) {
		const int64_t first = 1 + part->start[i];

		items[i] = (struct bi_index){ BI_INDEX_SLICE, first - shell, first + part->size[i] + shell, 1 };
	}
	TRY(bi_view_index(block, items, AXES, &box, &error));
	return box;
}

/* Three layouts of one shape: C order, Fortran order, and every second element of a larger array, backwards. */
static struct bi_view *new_array(struct bi_context *context, const int64_t *shape, int layout)
{
	const int64_t reversed[] = { shape[2], shape[1], shape[0] }, wide[] = { shape[0], shape[1], 2 * shape[2] };
	const struct bi_index every_second = { BI_INDEX_SLICE, BI_OMITTED, BI_OMITTED, -2 };
	struct bi_view *whole, *view;

	TRY(bi_view_empty(context, real, AXES, layout == 0 ? shape : layout == 1 ? reversed : wide, &whole, &error));
	if (layout == 0)
		return whole;
	TRY(layout == 1 ? bi_view_permute(whole, NULL, &view, &error)
			: bi_view_index_axis(whole, 2, every_second, &view, &error));
	bi_view_release(whole);
	return view;
}

static void make_message(const struct part *part, int axis, struct message *message)
{
	const enum bi_memory_kind kind = part->gpu_aware ? BI_MEMORY_DEVICE : BI_MEMORY_PINNED;
	int64_t shape[] = { part->size[0] + 2, part->size[1] + 2, part->size[2] + 2 };
	struct bi_memory *memory;
	struct bi_layout layout;

	shape[axis] = 1;
	TRY(bi_layout_init(&layout, real, AXES, shape, NULL, 0, &error));
	TRY(bi_memory_create(part->context, (size_t)bi_layout_nbytes(&layout), kind, &memory, &error));
	TRY(bi_view_create(memory, &layout, 0, &message->view, &error));
	bi_memory_release(memory);
	message->count = (int)bi_layout_size(&layout);
}

static void make_part(struct part *part, const struct bi_view *block, int layout)
{
	int ranks, rank, dims[AXES] = { 0 }, periods[AXES] = { 0 }, at[AXES];
	int64_t shape[AXES];
	MPI_Comm comm = part->comm;

	MPI_Comm_size(comm, &ranks);
	MPI_Dims_create(ranks, AXES, dims);
	MPI_Cart_create(comm, AXES, dims, periods, 0, &part->comm);
	MPI_Comm_rank(part->comm, &rank);
	MPI_Cart_coords(part->comm, rank, AXES, at);
	for (int i = 0; i < AXES; i++) {
		if (INNER % dims[i]) {
			fprintf(stderr, "halo_mpi: %d ranks along axis %d do not divide %d\n", dims[i], i, INNER);
			MPI_Abort(comm, EXIT_FAILURE);
		}
		part->size[i] = INNER / dims[i];
		part->start[i] = at[i] * part->size[i];
		shape[i] = part->size[i] + 2;
		MPI_Cart_shift(part->comm, i, 1, &part->neighbours[2 * i], &part->neighbours[2 * i + 1]);
	}
	for (int i = 0; i < 2; i++) {
		struct bi_view *box = box_of(block, part, 1);

		part->arrays[i] = new_array(part->context, shape, layout);
		TRY(bi_copy(part->arrays[i], box, NULL, &error));
		bi_view_release(box);
	}
	for (int face = 0; face < FACES; face++) {
		make_message(part, face / 2, &part->sent[face]);
		make_message(part, face / 2, &part->received[face]);
	}
}

static void free_part(struct part *part)
{
	for (int face = 0; face < FACES; face++) {
		bi_view_release(part->sent[face].view);
		bi_view_release(part->received[face].view);
	}
	bi_view_release(part->arrays[0]);
	bi_view_release(part->arrays[1]);
	MPI_Comm_free(&part->comm);
}

/* Returns the address that MPI gets. Waits for the copies from or to the message. */
static void *begin_message(const struct part *part, struct message *message, unsigned mode)
{
	struct bi_native native;

	if (!part->gpu_aware) {
		TRY(bi_view_map(message->view, mode, &message->map, &error));
		return bi_map_data(message->map);
	}
	TRY(bi_view_synchronize(message->view, &error));
	bi_view_native(message->view, &native);
	return (void *)(native.handle + native.offset);
}

static void end_message(struct message *message)
{
	TRY(bi_unmap(message->map, &error));
	message->map = NULL;
}

/* Copies a face of the array: the outermost cells of the part (`shell` 0), or the cells of the shell (1). */
static void copy_face(const struct bi_view *array, int face, int shell, const struct message *message)
{
	const int64_t last = bi_view_shape(array)[face / 2] - 1, at = face % 2 ? last - !shell : !shell;
	struct bi_view *cells = slice_of(array, face / 2, at, at + 1);

	TRY(shell ? bi_copy(cells, message->view, NULL, &error) : bi_copy(message->view, cells, NULL, &error));
	bi_view_release(cells);
}

/* No call waits for the device until all faces are packed. */
static void exchange_faces(struct part *part, const struct bi_view *array)
{
	MPI_Request requests[2 * FACES];

	for (int face = 0; face < FACES; face++)
		copy_face(array, face, 0, &part->sent[face]);
	for (int face = 0; face < FACES; face++) {
		struct message *in = &part->received[face], *out = &part->sent[face];

		MPI_Irecv(begin_message(part, in, BI_MAP_WRITE | BI_MAP_DISCARD), in->count, MPI_FLOAT,
			  part->neighbours[face], face, part->comm, &requests[2 * face]);
		/* The face below is the neighbour's face above. */
		MPI_Isend(begin_message(part, out, BI_MAP_READ), out->count, MPI_FLOAT, part->neighbours[face],
			  face ^ 1, part->comm, &requests[2 * face + 1]);
	}
	MPI_Waitall(2 * FACES, requests, MPI_STATUSES_IGNORE);
	for (int face = 0; face < FACES; face++) {
		end_message(&part->sent[face]);
		end_message(&part->received[face]);
		if (part->neighbours[face] != MPI_PROC_NULL)
			copy_face(array, face, 1, &part->received[face]);
	}
}

/* Copies all parts into `block` on rank 0. */
static void gather(const struct part *part, const struct bi_view *array, const struct bi_view *block)
{
	static float cells[INNER * INNER * INNER];
	struct part other = *part;
	struct bi_view *box, *inner;
	int rank, ranks, at[AXES];
	const int count = (int)(part->size[0] * part->size[1] * part->size[2]);

	MPI_Comm_rank(part->comm, &rank);
	MPI_Comm_size(part->comm, &ranks);
	for (int i = 0; i < AXES; i++)
		other.start[i] = 0;
	inner = box_of(array, &other, 0);
	TRY(bi_view_read(inner, cells, (size_t)count * sizeof(*cells), &error));
	bi_view_release(inner);
	if (rank) {
		MPI_Send(cells, count, MPI_FLOAT, 0, 0, part->comm);
		return;
	}
	for (int from = 0; from < ranks; from++) {
		if (from)
			MPI_Recv(cells, count, MPI_FLOAT, from, 0, part->comm, MPI_STATUS_IGNORE);
		MPI_Cart_coords(part->comm, from, AXES, at);
		for (int i = 0; i < AXES; i++)
			other.start[i] = at[i] * part->size[i];
		box = box_of(block, &other, 0);
		TRY(bi_view_write(box, cells, (size_t)count * sizeof(*cells), &error));
		bi_view_release(box);
	}
}

/* Computes the block on the ranks of `comm`. `block` has the first temperatures, and on rank 0 receives the last. */
static void simulate(MPI_Comm comm, struct bi_kernel *kernel, struct bi_context *context, int layout,
		     const struct bi_view *block)
{
	struct part part = { .comm = comm, .context = context, .gpu_aware = is_gpu_aware(context) };

	make_part(&part, block, layout);
	for (int i = 0; i < STEPS; i++) {
		struct bi_view *now = part.arrays[i % 2], *next = part.arrays[1 - i % 2];
		const struct bi_grid grid = { AXES, { part.size[0], part.size[1], part.size[2] }, { 0 } };

		TRY(bi_launch(kernel, NULL, &grid,
			      (struct bi_argument[]){ BI_READS(now), BI_WRITES(next), BI_FLOAT(0.1f) }, 3, &error));
		exchange_faces(&part, next);
	}
	gather(&part, part.arrays[STEPS % 2], block);
	free_part(&part);
}

static struct bi_view *first_temperatures(struct bi_context *context, float cells[OUTER * OUTER * OUTER])
{
	static const int64_t shape[] = { OUTER, OUTER, OUTER };
	struct bi_view *block;

	for (unsigned i = 0; i < OUTER * OUTER * OUTER; i++)
		cells[i] = (float)(i * 2654435761U >> 16) / 65536;
	TRY(bi_view_wrap_host(context, cells, real, AXES, shape, NULL, NULL, &block, &error));
	return block;
}

/* The other devices compile the text of the kernel that the host runs as a C function. */
static struct bi_kernel *build_kernel(struct bi_context *context)
{
	static const struct bi_host_kernel *const functions[] = { &bi_kernel_spread_block };
	static char text[1 << 13];
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	struct bi_program *program;
	struct bi_kernel *kernel;
	FILE *file = fopen(HALO_KERNEL, "r");
	const size_t length = file ? fread(text, 1, sizeof(text), file) : 0;

	if (file)
		fclose(file);
	if (!length || length == sizeof(text)) {
		fprintf(stderr, "%s cannot be read, or has more than %zu bytes\n", HALO_KERNEL, sizeof(text) - 1);
		MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
		return NULL;
	}
	text[length] = 0;
	source.text = text;
	source.functions = functions;
	source.function_count = 1;
	TRY(bi_program_build(context, &source, &program, &error));
	TRY(bi_kernel_get(program, "spread_block", &kernel, &error));
	bi_program_release(program);
	return kernel;
}

int main(int argc, char **argv)
{
	static const char *const layouts[] = { "C order", "Fortran order", "strided" };
	static float together[OUTER * OUTER * OUTER], alone[OUTER * OUTER * OUTER];
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi_kernel *kernel;
	int rank, ranks, differs, failed = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	options.device = argc > 1 ? argv[1] : "auto";
	TRY(bi_context_open(&options, &context, &error));
	kernel = build_kernel(context);
	for (int layout = 0; layout < 3; layout++) {
		struct bi_view *block = first_temperatures(context, together);

		simulate(MPI_COMM_WORLD, kernel, context, layout, block);
		bi_view_release(block);
		if (rank)
			continue;
		block = first_temperatures(context, alone);
		simulate(MPI_COMM_SELF, kernel, context, 0, block);
		bi_view_release(block);
		differs = memcmp(together, alone, sizeof(alone)) != 0;
		failed |= differs;
		printf("%d ranks, %s, %s: %s\n", ranks, bi_context_device(context)->spec, layouts[layout],
		       differs ? "NOT as one rank" : "as one rank");
	}
	bi_kernel_release(kernel);
	bi_context_release(context);
	MPI_Finalize();
	return failed;
}
