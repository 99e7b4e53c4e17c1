/*
 * Chooses a device at run time and transposes an array on it.
 *
 *     choose_device [DEVICE]
 *
 * DEVICE is a device string ("host", "opencl", "opencl:0:1", "#2", "auto"). Without one, the environment variable
 * BI_DEVICE decides, and without that the library takes the best device that works.
 */
#include <buffer_interface.h>
#include <stdio.h>

enum { ROWS = 4, COLUMNS = 6 };

/*
 * Metres above the sea near the Jacksboro fault: rows 100 to 103, columns 100 to 105 of data/jacksboro_elevation.npy.
 */
static int16_t elevation[ROWS][COLUMNS] = {
	{ 853, 847, 832, 828, 809, 798 },
	{ 841, 828, 805, 797, 789, 788 },
	{ 818, 804, 780, 763, 760, 763 },
	{ 798, 777, 753, 738, 734, 742 },
};

/* Every function returns a status. The first failure ends the chain, and its message is in err. */
static int reverse_and_transpose(struct bi_context *context, int16_t result[COLUMNS / 2][ROWS], struct bi_error *err)
{
	const int64_t shape[2] = { ROWS, COLUMNS };
	const struct bi_index every_second_column_from_the_right[2] = {
		{ BI_INDEX_ELLIPSIS, 0, 0, 0 },
		{ BI_INDEX_SLICE, BI_OMITTED, BI_OMITTED, -2 },
	};
	struct bi_view *whole = NULL, *part = NULL, *transposed = NULL, *dense = NULL;
	struct bi_dtype int16;
	int rc = bi_dtype_make(BI_INT16, 1, 0, &int16, err);

	/* Upload. */
	if (!rc)
		rc = bi_view_empty(context, int16, 2, shape, &whole, err);
	if (!rc)
		rc = bi_view_write(whole, elevation, sizeof(elevation), err);
	/* Views move no bytes. This one is NumPy's whole[..., ::-2].T */
	if (!rc)
		rc = bi_view_index(whole, every_second_column_from_the_right, 2, &part, err);
	if (!rc)
		rc = bi_view_permute(part, NULL, &transposed, err);
	/* The device gathers the view into a dense array, which is then downloaded in one piece. */
	if (!rc)
		rc = bi_view_empty(context, int16, 2, bi_view_shape(transposed), &dense, err);
	if (!rc)
		rc = bi_copy(dense, transposed, NULL, err);
	if (!rc)
		rc = bi_view_read(dense, result, sizeof(int16_t) * (COLUMNS / 2) * ROWS, err);

	bi_view_release(dense);
	bi_view_release(transposed);
	bi_view_release(part);
	bi_view_release(whole);
	return rc;
}

int main(int argc, char **argv)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi_error err;
	int16_t result[COLUMNS / 2][ROWS];
	int rc;

	options.device = argc > 1 ? argv[1] : NULL;
	rc = bi_context_open(&options, &context, &err);
	if (rc) {
		fprintf(stderr, "choose_device: %s\n", err.message);
		return 1;
	}
	printf("device: %s (%s)\n", bi_context_device(context)->spec, bi_context_device(context)->name);
	if (bi_context_notes(context)[0])
		printf("passed over:\n%s", bi_context_notes(context));

	rc = reverse_and_transpose(context, result, &err);
	bi_context_release(context);
	if (rc) {
		fprintf(stderr, "choose_device: %s\n", err.message);
		return 1;
	}
	for (int i = 0; i < COLUMNS / 2; i++) {
		for (int j = 0; j < ROWS; j++) {
			printf("%5d", result[i][j]);
			if (result[i][j] != elevation[j][COLUMNS - 1 - 2 * i]) {
				fprintf(stderr, "\nchoose_device: element (%d, %d) is wrong\n", i, j);
				return 1;
			}
		}
		printf("\n");
	}
	return 0;
}
