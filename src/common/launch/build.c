/* Programs and kernels: building, finding and releasing them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/sized.h"
#include "common/launch/launch.h"

#define MOST_RANK 6 /* the largest rank of a strided parameter */

static const char *const preamble[] = {
#include "common/launch/generated/preamble.inc"
	"#line 1 \"source\"\n",
};

#define PREAMBLE_LINES (sizeof(preamble) / sizeof(*preamble))

/* Returns kernel.h with the text behind it, which the caller frees. Returns NULL if there is no memory. */
static char *prepend_preamble(const char *text)
{
	size_t nbytes = strlen(text) + 1;
	char *joined, *end;

	for (size_t i = 0; i < PREAMBLE_LINES; i++)
		nbytes += strlen(preamble[i]);
	joined = end = malloc(nbytes);
	if (!joined)
		return NULL;
	for (size_t i = 0; i <= PREAMBLE_LINES; i++) {
		const char *part = i < PREAMBLE_LINES ? preamble[i] : text;
		size_t length = strlen(part);

		memcpy(end, part, length + 1);
		end += length;
	}
	return joined;
}

static void copy_log(const struct bi_program_source *wanted, const char *log)
{
	if (wanted->log && wanted->log_capacity)
		snprintf(wanted->log, wanted->log_capacity, "%s", log ? log : "");
}

#define BLANKS " \r\n\t"

/*
 * Returns the first line of the log that has "error" before a colon, or NULL. Compilers write
 * "error: source:3:32: ...", "source:3:32: error: ...", "source(3): error: ..." or "ptxas error   : ...".
 */
static const char *find_error(const char *log)
{
	const char *line;

	for (line = strstr(log, "error"); line; line = strstr(line + 1, "error"))
		if (line[5 + strspn(line + 5, " ")] == ':')
			break;
	while (line && line > log && line[-1] != '\n')
		line--;
	return line;
}

/*
 * Fails with the message of a failed build and one line of its log. The line is the first error, or else the first line
 * that is not blank. If the compiler refused the source, the status is BI_EINVAL, and the line replaces the message. If
 * the log is empty, the message stays.
 */
static int fail_with_log(const struct bi__source *source, int status, const struct bi_error *failed,
			 struct bi_error *err)
{
	const char *log = source->log ? source->log : "", *error = find_error(log);
	const char *line = error ? error : log + strspn(log, BLANKS);
	int length = (int)strcspn(line, "\n");

	if (!source->is_refused)
		return bi__fail_vendor(err, status, failed->vendor, "%s%s%.*s", failed->message, length ? ": " : "",
				       length, line);
	if (error)
		return bi__fail_vendor(err, BI_EINVAL, failed->vendor, "the source does not compile: %.*s", length,
				       line);
	/* The log is empty or gives no reason: Intel's compiler writes "Compilation failed" for a wrong option. */
	if (!length) {
		line = failed->message;
		length = (int)strlen(line);
	}
	return bi__fail_vendor(err, BI_EINVAL, failed->vendor,
			       "the source or its options do not compile, and the compiler names no error: %.*s",
			       length, line);
}

static int build_program(struct bi_context *context, const struct bi_program_source *wanted, uintptr_t *handle,
			 struct bi_error *err)
{
	struct bi__source source = {
		.options = wanted->options ? wanted->options : "",
		.functions = wanted->functions,
		.function_count = wanted->functions ? wanted->function_count : 0,
		.image = wanted->image,
	};
	struct bi_error failed = { 0 };
	char *text;
	int rc;

	copy_log(wanted, "");
	for (size_t i = 0; i < source.function_count; i++)
		if (!source.functions[i])
			return bi__fail(err, BI_EINVAL, "source.functions[%zu] is NULL", i);
	text = wanted->text ? prepend_preamble(wanted->text) : NULL;
	if (wanted->text && !text)
		return bi__fail(err, BI_ENOMEM, "no memory for the source");
	source.text = text;
	rc = bi__dispatch_build(&context->device, &source, handle, &failed);
	copy_log(wanted, source.log);
	if (rc)
		rc = fail_with_log(&source, rc, &failed, err);
	free(source.log);
	free(text);
	return rc;
}

int bi_program_build(struct bi_context *context, const struct bi_program_source *source, struct bi_program **out,
		     struct bi_error *err)
{
	static const struct bi__sized source_size = { "source", sizeof(*source),
						      BI__SIZED_END(struct bi_program_source, log_capacity) };
	struct bi_program_source known;
	struct bi_program *program;
	int rc;

	if (bi__check_out(out, context && source, "context or source is NULL", err))
		return BI_EINVAL;
	source = bi__sized_read(&source_size, source, &known, err);
	if (!source)
		return BI_EINVAL;
	program = malloc(sizeof(*program));
	if (!program)
		return bi__fail(err, BI_ENOMEM, "no memory for a program");
	rc = build_program(context, source, &program->handle, err);
	if (rc) {
		free(program);
		return rc;
	}
	atomic_init(&program->refs, 1);
	program->context = bi_context_retain(context);
	*out = program;
	return BI_OK;
}

struct bi_program *bi_program_retain(struct bi_program *program)
{
	atomic_fetch_add_explicit(&program->refs, 1, memory_order_relaxed);
	return program;
}

void bi_program_release(struct bi_program *program)
{
	if (!program || !bi__release_reference(&program->refs))
		return;
	bi__dispatch_unload(&program->context->device, program->handle);
	bi_context_release(program->context);
	free(program);
}

static struct bi_kernel *make_kernel(struct bi_program *program, const char *name, struct bi_error *err)
{
	size_t length = strlen(name) + 1;
	struct bi_kernel *kernel = calloc(1, sizeof(*kernel) + length);

	if (!kernel) {
		bi__fail(err, BI_ENOMEM, "no memory for a kernel");
		return NULL;
	}
	memcpy(kernel->name, name, length);
	atomic_init(&kernel->refs, 1);
	kernel->program = bi_program_retain(program);
	return kernel;
}

/* Checks one parameter. PTX and host functions contain tables of parameters, maybe of another version of kernel.h. */
static int check_parameter(const struct bi_parameter *parameter, unsigned index, const char *kernel,
			   struct bi_error *err)
{
	const int is_strided = parameter->kind == BI_PARAMETER_STRIDED;
	const int is_array = is_strided || parameter->kind == BI_PARAMETER_ARRAY;
	const char type_class = parameter->type_class;
	char fault[48] = "";

	if (!memchr(parameter->name, '\0', sizeof(parameter->name)))
		snprintf(fault, sizeof(fault), "a name of more than %zu characters", sizeof(parameter->name) - 1);
	else if (parameter->kind < BI_PARAMETER_ARRAY || parameter->kind > BI_PARAMETER_LOCAL)
		snprintf(fault, sizeof(fault), "the unknown kind %u", parameter->kind);
	else if (!parameter->size)
		snprintf(fault, sizeof(fault), "a type of 0 bytes");
	else if (type_class && type_class != 'i' && type_class != 'f')
		snprintf(fault, sizeof(fault), "the type class %d", type_class);
	else if (type_class && parameter->size & (parameter->size - 1))
		snprintf(fault, sizeof(fault), "a number of %u bytes, no power of two", parameter->size);
	else if (parameter->access > BI_ACCESS_READ_WRITE || (parameter->access != 0) != is_array)
		snprintf(fault, sizeof(fault), "the access %u", parameter->access);
	else if (parameter->rank > MOST_RANK || (parameter->rank != 0) != is_strided)
		snprintf(fault, sizeof(fault), "the rank %u", parameter->rank);
	if (!*fault)
		return BI_OK;
	return bi__fail(err, BI_EINVAL,
			"parameter %u ('%.39s') of kernel '%s' has %s: compile the kernel with the kernel.h of this "
			"version",
			index, parameter->name, kernel, fault);
}

/* Checks the parameters of a kernel that the backend has found. */
static int check_parameters(const struct bi_kernel *kernel, struct bi_error *err)
{
	const unsigned count = kernel->kernel.count;
	int rc = BI_OK;

	if (count > BI_MAX_ARGUMENTS)
		return bi__fail(err, BI_EINVAL, "kernel '%s' has %u parameters, and the limit is %d", kernel->name,
				count, BI_MAX_ARGUMENTS);
	for (unsigned i = 0; i < count && !rc; i++)
		rc = check_parameter(&kernel->kernel.parameters[i], i, kernel->name, err);
	return rc;
}

int bi_kernel_get(struct bi_program *program, const char *name, struct bi_kernel **out, struct bi_error *err)
{
	struct bi_kernel *kernel;
	int rc;

	if (bi__check_out(out, program && name, "program or name is NULL", err))
		return BI_EINVAL;
	if (strlen(name) > BI__KERNEL_NAME_MAX)
		return bi__fail(err, BI_EINVAL, "the name of kernel '%.32s...' has %zu characters, more than %d", name,
				strlen(name), BI__KERNEL_NAME_MAX);
	kernel = make_kernel(program, name, err);
	if (!kernel)
		return BI_ENOMEM;
	rc = bi__dispatch_get_kernel(&program->context->device, program->handle, name, &kernel->kernel, err);
	if (!rc)
		rc = check_parameters(kernel, err);
	if (rc)
		bi_kernel_release(kernel);
	else
		*out = kernel;
	return rc;
}

struct bi_kernel *bi_kernel_retain(struct bi_kernel *kernel)
{
	atomic_fetch_add_explicit(&kernel->refs, 1, memory_order_relaxed);
	return kernel;
}

void bi_kernel_release(struct bi_kernel *kernel)
{
	if (!kernel || !bi__release_reference(&kernel->refs))
		return;
	if (kernel->kernel.state)
		bi__dispatch_put_kernel(&kernel->program->context->device, &kernel->kernel);
	bi_program_release(kernel->program);
	free(kernel->kernel.parameters);
	free(kernel);
}
