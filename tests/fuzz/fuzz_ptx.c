/*
 * Fuzzes the reader of the tables of parameters in PTX, with a kernel "k". A kernel on the host gets each table that
 * the reader accepts. Either bi_kernel_get refuses the table, or a launch with arguments of these kinds succeeds or is
 * refused. No driver is called.
 */
#include "cuda/program.c"
#undef FAIL
#include "common/launch/launch.h"
#include "fuzz/target.h"

static void run(const struct bi_host_box *box, const struct bi_host_argument *arguments)
{
	(void)box;
	(void)arguments;
}

static void launch(struct bi_kernel *kernel, struct bi_view *view)
{
	const struct bi_grid grid = { 1, { 4 }, { 4 } };
	struct bi_argument arguments[BI_MAX_ARGUMENTS];
	struct bi_error err = { 0, 0, "" };
	char bytes[256] = "";
	int rc;

	for (unsigned i = 0; i < kernel->kernel.count; i++) {
		const struct bi_parameter *parameter = &kernel->kernel.parameters[i];

		require(parameter->size > 0 && parameter->rank <= 6 &&
				memchr(parameter->name, 0, sizeof(parameter->name)),
			"a parameter is impossible");
		if (parameter->kind == BI_PARAMETER_LOCAL)
			arguments[i] = bi_argument_local(64);
		else if (parameter->kind == BI_PARAMETER_VALUE)
			arguments[i] = bi_argument_bytes(bytes, parameter->size % sizeof(bytes));
		else
			arguments[i] = bi_argument_array(view, parameter->access);
	}
	rc = bi_launch(kernel, NULL, &grid, arguments, kernel->kernel.count, &err);
	if (rc)
		check_refusal(rc, &err);
}

static void use_table(const struct bi__kernel *read)
{
	const struct bi_host_kernel function = { "k", read->parameters, 1, run }, *const functions[] = { &function };
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	struct bi_error err = { 0, 0, "" };
	struct bi_program *program;
	struct bi_context *host;
	struct bi_dtype dtype;
	struct bi_kernel *kernel;
	struct bi_view *view;
	int rc;

	source.functions = functions;
	source.function_count = 1;
	require(!bi_context_shared("host", &host, &err), err.message);
	require(!bi_program_build(host, &source, &program, &err), err.message);
	require(!bi_dtype_make(BI_INT32, 1, 0, &dtype, &err), err.message);
	require(!bi_view_empty(host, dtype, 1, (const int64_t[]){ 4 }, &view, &err), err.message);
	rc = bi_kernel_get(program, "k", &kernel, &err);
	fuzz_refused = rc != BI_OK;
	if (rc)
		check_refusal(rc, &err);
	else
		launch(kernel, view);
	bi_kernel_release(kernel);
	bi_view_release(view);
	bi_program_release(program);
	bi_context_release(host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bi__kernel kernel = { 0 };
	struct bi_error err = { 0, 0, "" };
	char *text = copy_string(data, size);
	int rc;

	rc = read_table(text, "k", &kernel, &err);
	fuzz_refused = rc != BI_OK;
	if (rc)
		check_refusal(rc, &err);
	if (kernel.parameters)
		use_table(&kernel);
	free(kernel.parameters);
	free(text);
	return 0;
}
