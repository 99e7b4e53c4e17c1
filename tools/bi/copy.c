#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_interface/npy.h"

#include "commands.h"
#include "fail.h"
#include "file.h"
#include "indexing.h"
#include "json.h"
#include "naive.h"
#include "terminal.h"
#include "text.h"
#include "transfer.h"
#include "utf8.h"

enum { OPTION_DEVICE, OPTION_SLICE, OPTION_TRANSPOSE, OPTION_VERIFY, OPTION_JSON, OPTION_PROFILE };

static const struct option options[] = {
	[OPTION_DEVICE] = { "device", "SPEC", "device to use (default: $BI_DEVICE, else auto)" },
	[OPTION_SLICE] = { "slice", "INDEX", "take array[INDEX], NumPy's basic indexing: \"::2, ::-1\"" },
	[OPTION_TRANSPOSE] = { "transpose", "AXES", "then transpose; axis i of OUT is axis AXES[i]: 1,0" },
	[OPTION_VERIFY] = { "verify", NULL, "compare with an element by element copy on the host" },
	[OPTION_JSON] = { "json", NULL, "print one JSON object" },
	[OPTION_PROFILE] = { "profile", "FILE", "write a JSON report of what was done (-: to stdout)" },
	{ NULL, NULL, NULL },
};

/* The state of one run of the command copy. Its resources are released at the end of the run. */
struct job {
	const struct invocation *invocation;
	const char *in_path;
	const char *out_path;
	struct selection selection;
	struct input input;
	struct output output;
	struct output profile;
	int is_profile_stdout;
	int64_t read; /* bytes of the input that were read */
	int header_code; /* EXIT_CODE_USAGE if the selection does not fit the array */
	struct bi_view *source; /* in host memory */
	struct bi_view *result; /* in host memory, in C order */
	struct bi_context *context;
	struct progress progress;
	struct transfer_times times;
};

static int has_option(const struct job *job, int option)
{
	return job->invocation->values[option] != NULL;
}

static int report_failure(struct job *job, int code, const char *about, const struct bi_error *err)
{
	progress_finish(&job->progress);
	say("%s: %s", about, err->message);
	return code;
}

/* Prints the error of a command line that is wrong or does not fit the array. Returns the exit code. */
static int refuse_usage(struct job *job, const struct bi_error *err)
{
	progress_finish(&job->progress);
	say("%s", err->message);
	return usage(job->invocation->command);
}

/* Refuses outputs that would go to one file, and a profile that would replace the input. */
static int check_outputs(struct job *job)
{
	struct bi_error err;

	if (output_is_same(&job->output, &job->profile))
		fail(&err, BI_EINVAL, "OUT and --profile cannot both be %s",
		     job->is_profile_stdout ? "standard output" : job->profile.target);
	else if (output_is_input(&job->profile, &job->input))
		fail(&err, BI_EINVAL, "--profile cannot be %s, which is read: it would be replaced",
		     job->profile.target);
	else if (job->is_profile_stdout && has_option(job, OPTION_JSON))
		fail(&err, BI_EINVAL, "--json and --profile cannot both be written to standard output");
	else
		return EXIT_CODE_OK;
	return refuse_usage(job, &err);
}

static int parse_selection(struct job *job)
{
	const char *const *values = job->invocation->values;
	struct bi_error err;

	if (selection_parse(values[OPTION_SLICE], values[OPTION_TRANSPOSE], &job->selection, &err) != BI_OK)
		return refuse_usage(job, &err);
	return EXIT_CODE_OK;
}

/* Opens the files. The outputs are opened before any work, so that a missing directory is reported without delay. */
static int open_files(struct job *job)
{
	const char *profile = job->invocation->values[OPTION_PROFILE];
	struct bi_error err;

	if (input_open(&job->input, job->in_path, &err) != BI_OK)
		return report_failure(job, EXIT_CODE_FAILURE, job->in_path, &err);
	if (output_open(&job->output, job->out_path, &err) != BI_OK)
		return report_failure(job, EXIT_CODE_FAILURE, job->out_path, &err);
	if (profile && output_open(&job->profile, profile, &err) != BI_OK)
		return report_failure(job, EXIT_CODE_FAILURE, profile, &err);
	job->is_profile_stdout = job->profile.is_stdout;
	return check_outputs(job);
}

static int read_source(void *data, void *bytes, size_t nbytes, size_t *got, struct bi_error *err)
{
	struct job *job = data;
	int rc = input_read(&job->input, bytes, nbytes, got, err);

	if (rc == BI_OK) {
		job->read += (int64_t)*got;
		progress_add(&job->progress, *got);
	}
	return rc;
}

/* Checks that the selection fits the array, before the elements are read. */
static int check_header(void *data, const struct bi_layout *layout, struct bi_error *err)
{
	struct job *job = data;
	struct bi_layout view = *layout;
	int rc = selection_apply(&job->selection, &view, err);

	if (rc != BI_OK) {
		job->header_code = EXIT_CODE_USAGE;
		return rc;
	}
	progress_start(&job->progress, 2 * ((uint64_t)bi_layout_nbytes(layout) + (uint64_t)bi_layout_nbytes(&view)));
	progress_step(&job->progress, "reading");
	return BI_OK;
}

static int load_source(struct job *job)
{
	struct bi_npy_source source = { read_source, check_header, job, job->input.size };
	struct bi_context *host;
	struct bi_error err;
	int rc = bi_context_shared("host", &host, &err);

	if (rc == BI_OK) {
		rc = bi_npy_read(host, &source, &job->source, &err);
		bi_context_release(host);
	}
	if (job->header_code != EXIT_CODE_OK)
		return refuse_usage(job, &err);
	if (rc != BI_OK)
		return report_failure(job, input_exit_code(rc), job->in_path, &err);
	if (job->input.size > job->read)
		say("warning: %s: bytes after the elements are ignored: %" PRId64, job->in_path,
		    job->input.size - job->read);
	return EXIT_CODE_OK;
}

static int use_device(struct job *job)
{
	struct bi_options opening = BI_OPTIONS_INIT;
	struct transfer_request request;
	struct bi_error err;

	opening.device = job->invocation->values[OPTION_DEVICE];
	opening.profile = has_option(job, OPTION_PROFILE);
	if (bi_context_open(&opening, &job->context, &err) != BI_OK) {
		progress_finish(&job->progress);
		say("%s; see 'bi devices'", err.message);
		return EXIT_CODE_FAILURE;
	}
	request = (struct transfer_request){ job->source, &job->selection, &job->progress };
	if (transfer(job->context, &request, &job->result, &job->times, &err) != BI_OK)
		return report_failure(job, EXIT_CODE_FAILURE, bi_context_device(job->context)->spec, &err);
	return EXIT_CODE_OK;
}

static void say_difference(const struct job *job, const int64_t *index)
{
	char text[256] = "";
	size_t used = 0;

	for (int i = 0; i < bi_view_ndim(job->result) && used < sizeof(text) - 24; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, i ? ", %" PRId64 : "%" PRId64, index[i]);
	say("verification: element [%s] of the result differs from the input", text);
}

static struct naive_array naive_array(const struct bi_view *array)
{
	struct bi_layout layout;

	bi_view_layout(array, &layout);
	return (struct naive_array){ bi_view_host_pointer(array), layout.dtype.item_size,
				     !bi_layout_is_contiguous(&layout, 'C'), layout.ndim, bi_view_shape(array) };
}

static int verify_result(struct job *job)
{
	const struct naive_array source = naive_array(job->source), result = naive_array(job->result);
	int64_t index[BI_MAX_NDIM];
	enum naive_verdict verdict;

	if (!has_option(job, OPTION_VERIFY))
		return EXIT_CODE_OK;
	progress_step(&job->progress, "verifying");
	verdict = naive_compare(&source, &job->selection, &result, index);
	if (verdict == NAIVE_SAME)
		return EXIT_CODE_OK;
	progress_finish(&job->progress);
	if (verdict == NAIVE_OTHER_BYTES)
		say_difference(job, index);
	else
		say("verification: the shape of the result is not that of the view");
	return EXIT_CODE_DIFFERS;
}

static int write_profile(struct job *job)
{
	struct bi_error err;
	int rc = EXIT_CODE_OK;
	char *text;

	if (!has_option(job, OPTION_PROFILE))
		return EXIT_CODE_OK;
	if (bi_context_report(job->context, &text, &err) != BI_OK)
		return report_failure(job, EXIT_CODE_FAILURE, "--profile", &err);
	if (output_write(&job->profile, text, strlen(text), &err) != BI_OK ||
	    output_commit(&job->profile, &err) != BI_OK)
		rc = report_failure(job, EXIT_CODE_FAILURE, job->invocation->values[OPTION_PROFILE], &err);
	bi_report_free(text);
	return rc;
}

static int write_result(void *data, const void *bytes, size_t nbytes, struct bi_error *err)
{
	struct job *job = data;

	progress_add(&job->progress, nbytes);
	return output_write(&job->output, bytes, nbytes, err);
}

static int write_outputs(struct job *job)
{
	struct bi_error err;
	int rc;

	progress_step(&job->progress, "writing");
	rc = bi_npy_write(job->result, write_result, job, &err);
	if (rc == BI_OK)
		rc = output_commit(&job->output, &err);
	return rc == BI_OK ? EXIT_CODE_OK : report_failure(job, EXIT_CODE_FAILURE, job->out_path, &err);
}

static void print_json(FILE *out, const struct job *job)
{
	struct bi_layout source, result;
	struct json json = { out, 0 };
	char dtype[BI_DTYPE_TEXT];

	bi_view_layout(job->source, &source);
	bi_view_layout(job->result, &result);
	json_open(&json, NULL, '{');
	json_text(&json, "input", job->in_path);
	json_text(&json, "output", job->out_path);
	json_text(&json, "device", bi_context_device(job->context)->spec);
	json_text(&json, "device_name", bi_context_device(job->context)->name);
	json_text(&json, "dtype", type_text(&result, dtype));
	json_integers(&json, "input_shape", source.shape, source.ndim);
	json_integers(&json, "shape", result.shape, result.ndim);
	json_integer(&json, "input_bytes", bi_layout_nbytes(&source));
	json_integer(&json, "bytes", bi_layout_nbytes(&result));
	json_open(&json, "milliseconds", '{');
	json_number(&json, "upload", job->times.upload * 1e3);
	json_number(&json, "copy", job->times.copy * 1e3);
	json_number(&json, "download", job->times.download * 1e3);
	json_close(&json, '}');
	if (has_option(job, OPTION_VERIFY))
		json_boolean(&json, "verified", 1);
	else
		json_null(&json, "verified");
	json_close(&json, '}');
	fputc('\n', out);
}

/* Prints a line such as "a.npy  <i4 (3, 4), 48 bytes". A long type is cut to the space that is left on the line. */
static void print_array(FILE *out, const char *arrow, const char *path, const struct bi_view *array)
{
	char dtype[BI_DTYPE_TEXT], size[40];
	struct bi_layout layout;
	size_t columns = (size_t)terminal_columns(out), taken;

	bi_view_layout(array, &layout);
	snprintf(size, sizeof(size), ", %" PRId64 " byte%s", bi_layout_nbytes(&layout),
		 bi_layout_nbytes(&layout) == 1 ? "" : "s");
	taken = strlen(arrow) + utf8_length(path) + 3 + tuple_length(layout.shape, layout.ndim) + strlen(size);
	fputs(arrow, out);
	text_print_cleaned(out, path, strlen(path));
	fputs("  ", out);
	text_print_cut(out, type_text(&layout, dtype), taken + 16 < columns ? columns - taken : 16);
	fputc(' ', out);
	print_tuple(out, layout.shape, layout.ndim);
	fprintf(out, "%s\n", size);
}

static void print_summary(FILE *out, const struct job *job)
{
	const struct bi_device *device = bi_context_device(job->context);

	print_array(out, "", job->in_path, job->source);
	print_array(out, "  -> ", job->out_path, job->result);
	fprintf(out, "  on %s (%s)\n  upload %.3f ms, copy %.3f ms, download %.3f ms\n", device->spec, device->name,
		job->times.upload * 1e3, job->times.copy * 1e3, job->times.download * 1e3);
	if (has_option(job, OPTION_VERIFY))
		fputs("  verified: every byte is what the input holds\n", out);
}

static int run_job(struct job *job, FILE **report)
{
	int (*const steps[])(struct job *) = { parse_selection, open_files,    load_source,
					       use_device,      verify_result, write_profile };
	int rc = EXIT_CODE_OK;

	for (size_t i = 0; rc == EXIT_CODE_OK && i < sizeof(steps) / sizeof(steps[0]); i++)
		rc = steps[i](job);
	if (rc != EXIT_CODE_OK)
		return rc;
	*report = job->output.is_stdout ? stderr : stdout;
	return write_outputs(job);
}

static int run(const struct invocation *invocation)
{
	struct job job = {
		.invocation = invocation,
		.in_path = invocation->arguments[0],
		.out_path = invocation->arguments[1],
		.input = { -1, 0 },
		.output = OUTPUT_INIT,
		.profile = OUTPUT_INIT,
	};
	FILE *report = stdout;
	int rc = run_job(&job, &report);

	progress_finish(&job.progress);
	if (rc == EXIT_CODE_OK && has_option(&job, OPTION_JSON))
		print_json(report, &job);
	else if (rc == EXIT_CODE_OK && !job.is_profile_stdout)
		print_summary(report, &job);
	output_discard(&job.profile);
	output_discard(&job.output);
	input_close(&job.input);
	bi_view_release(job.result);
	bi_view_release(job.source);
	bi_context_release(job.context);
	return rc;
}

const struct command command_copy = {
	.name = "copy",
	.synopsis = "IN.npy OUT.npy",
	.argument_count = 2,
	.summary = "Copy a view of a NumPy file on a device into a new file.",
	.details = "IN is uploaded unchanged. The view is made on the device, first sliced, then\n"
		   "transposed, and copied there into a dense C-order array. OUT is the file that\n"
		   "numpy.save would write for this array: in C order, also if IN is in Fortran\n"
		   "order. It is written completely or not at all, and may be IN.\n"
		   "\n"
		   "An existing OUT is replaced and keeps its permissions, and its owner and group\n"
		   "if the process may give files away; a write-protected one is refused. If OUT is\n"
		   "a symbolic link, the file that it names is replaced; a dangling link is refused.\n"
		   "IN may be - (standard input), OUT may be - (standard output; the summary or\n"
		   "--json then goes to standard error).\n"
		   "\n"
		   "Examples:\n"
		   "  bi copy in.npy out.npy --device opencl --slice \"::2, ::-1\" --transpose 1,0\n"
		   "  bi copy in.npy out.npy --slice \"..., newaxis, -1\" --verify --json\n"
		   "  bi copy in.npy - --slice 0 >out.npy\n"
		   "\n"
		   "Exit codes:\n"
		   "  0  done\n"
		   "  1  a file or the device failed\n"
		   "  2  the command line is wrong, or does not fit the array\n"
		   "  3  --verify found a difference\n"
		   "  4  IN is truncated, damaged or of an unknown kind\n",
	.options = options,
	.run = run,
};
