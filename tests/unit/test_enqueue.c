/* One step on one stream: which stream it is, which streams are refused, what the log says, and that no lock is held.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static struct log_lines log_lines;
static struct bi_context *device, *other, *host;

static void without_a_stream_work_goes_to_the_home_stream(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 100), *b = NEW_ARRAY(device, "float32", 100);

	(void)state;
	log_lines.count = 0;
	OK(bi_copy(a, b, NULL, &error));
	assert_int_equal(count_lines(&log_lines, "copy: linear, 400 bytes, stream 0: success"), 1);
	bi_view_release(b);
	bi_view_release(a);
}

static void the_stream_of_the_caller_is_taken(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 100), *b = NEW_ARRAY(device, "float32", 100);
	struct bi_stream *stream;
	const float one = 1;

	(void)state;
	OK(bi_stream_create(device, BI_STREAM_IN_ORDER, &stream, &error));
	log_lines.count = 0;
	OK(bi_copy(a, b, stream, &error));
	OK(bi_fill(a, &one, stream, &error));
	assert_int_equal(count_lines(&log_lines, "stream 0"), 0);
	OK(bi_copy(a, b, stream, &error));
	assert_int_equal(count_lines(&log_lines, "400 bytes, stream "), 1);
	bi_stream_release(stream);
	bi_view_release(b);
	bi_view_release(a);
}

static void streams_that_do_not_reach_the_memory_are_refused(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 100), *b = NEW_ARRAY(device, "float32", 100);
	const float one = 1;

	(void)state;
	REFUSED_FOR(BI_EINVAL, "cannot reach memory of cuda:0", bi_copy(a, b, bi_context_stream(host), &error));
	REFUSED_FOR(BI_EINVAL, "the stream of device cuda:1", bi_fill(a, &one, bi_context_stream(other), &error));
	bi_view_release(b);
	bi_view_release(a);
}

/* A stream of either device serves a copy between two that are peers. */
static void either_stream_serves_peers(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 100), *b = NEW_ARRAY(other, "float32", 100);

	(void)state;
	number_bytes(a);
	OK(bi_copy(b, a, bi_context_stream(device), &error));
	assert_same_elements(a, b);
	number_bytes(b);
	OK(bi_copy(a, b, bi_context_stream(other), &error));
	assert_same_elements(a, b);
	bi_view_release(b);
	bi_view_release(a);
}

static int stopped[2], goes_on[2]; /* pipes */

/* Called when a page behind the end of a file is read. The file is longer when it returns. */
static void stop(int number)
{
	char byte = 0;

	(void)number;
	if (write(stopped[1], &byte, 1) != 1 || read(goes_on[0], &byte, 1) != 1)
		_exit(3);
}

struct copy {
	struct bi_view *to, *from;
	int rc;
};

static void *run_copy(void *data)
{
	struct copy *copy = data;

	copy->rc = bi_copy(copy->to, copy->from, NULL, NULL);
	return NULL;
}

/* The first copy has begun and reads a page that is not there yet. The second one has the same destination memory. */
static void threads_copy_parts_of_one_host_array_at_once(void **state)
{
	const struct sigaction stops = { .sa_handler = stop };
	const int64_t half = sysconf(_SC_PAGESIZE), all = 2 * half;
	const int file = memfd_create("source", 0);
	struct bi_view *to, *from, *parts[2], *small;
	struct copy copy = { 0 };
	pthread_t thread;
	char byte = 0;
	void *page;

	(void)state;
	assert_true(file >= 0 && !pipe(stopped) && !pipe(goes_on) && !sigaction(SIGBUS, &stops, NULL));
	page = mmap(NULL, (size_t)half, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	assert_true(page != MAP_FAILED);
	OK(bi_view_wrap_host(host, page, dtype_of("uint8"), 1, &half, NULL, NULL, &from, &error));
	OK(bi_view_empty(host, dtype_of("uint8"), 1, &all, &to, &error));
	OK(bi_view_empty(host, dtype_of("uint8"), 1, &half, &small, &error));
	for (int i = 0; i < 2; i++)
		OK(bi_view_index_axis(to, 0, (struct bi_index){ BI_INDEX_SLICE, i * half, (i + 1) * half, 1 },
				      &parts[i], &error));
	copy.to = parts[0];
	copy.from = from;
	assert_int_equal(pthread_create(&thread, NULL, run_copy, &copy), 0);
	assert_int_equal(read(stopped[0], &byte, 1), 1);
	OK(bi_copy(parts[1], small, NULL, &error));
	OK(bi_copy(small, parts[1], NULL, &error));
	assert_int_equal(ftruncate(file, half), 0);
	assert_int_equal(write(goes_on[1], &byte, 1), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(copy.rc, BI_OK);
	signal(SIGBUS, SIG_DFL);
	bi_view_release(parts[1]);
	bi_view_release(parts[0]);
	bi_view_release(small);
	bi_view_release(to);
	bi_view_release(from);
	munmap(page, (size_t)half);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_stream_work_goes_to_the_home_stream),
		cmocka_unit_test(the_stream_of_the_caller_is_taken),
		cmocka_unit_test(streams_that_do_not_reach_the_memory_are_refused),
		cmocka_unit_test(either_stream_serves_peers),
		cmocka_unit_test(threads_copy_parts_of_one_host_array_at_once),
	};
	int failed;

	device = open_logging("cuda:0", &log_lines);
	other = open_logging("cuda:1", &log_lines);
	host = open_logging("host", &log_lines);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(host);
	bi_context_release(other);
	bi_context_release(device);
	return failed;
}
