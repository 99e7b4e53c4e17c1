/* Arrays in NumPy's files: what NumPy has written is read, and what is written is what NumPy writes. */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#ifndef _WIN32
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "buffer_interface/npy.h"

#define IS_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* A file in memory. */
struct bytes {
	unsigned char *at;
	size_t count, position;
	int headers; /* that were seen */
	int left; /* calls until one fails; -1: none does */
};

static int call_fails(struct bytes *file, struct bi_error *err)
{
	if (file->left < 0 || file->left--)
		return BI_OK;
	if (err)
		*err = (struct bi_error){ BI_EDRIVER, 77, "the file is gone" };
	return BI_EDRIVER;
}

static int read_bytes(void *data, void *bytes, size_t nbytes, size_t *got, struct bi_error *err)
{
	struct bytes *file = data;
	size_t left = file->count - file->position;

	*got = nbytes < left ? nbytes : left;
	if (call_fails(file, err))
		return BI_EDRIVER;
	memcpy(bytes, file->at + file->position, *got);
	file->position += *got;
	return BI_OK;
}

static int write_bytes(void *data, const void *bytes, size_t nbytes, struct bi_error *err)
{
	struct bytes *file = data;

	if (call_fails(file, err))
		return BI_EDRIVER;
	file->at = realloc(file->at, file->count + nbytes + 1);
	assert_non_null(file->at);
	memcpy(file->at + file->count, bytes, nbytes);
	file->count += nbytes;
	return BI_OK;
}

static struct bi_context *host;

static int open_host(void **state)
{
	(void)state;
	host = open_device("host");
	return 0;
}

static int close_host(void **state)
{
	(void)state;
	bi_context_release(host);
	return 0;
}

/* A file as NumPy 2.4 writes it: the text of the header, padded to `header` bytes, and the elements. */
struct numpy_file {
	int version;
	size_t header;
	const char *text;
	const char *elements;
	size_t nbytes;
	const char *in_c_order; /* NULL: as the elements are */
};

#define ELEMENTS(text) text, sizeof(text) - 1

static const struct numpy_file numpy_files[] = {
	{ 1, 128, "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }", ELEMENTS("\0\0\1\0\2\0\3\0\4\0\5\0"),
	  NULL },
	{ 1, 128, "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }", ELEMENTS("\0\0\0\3\0\1\0\4\0\2\0\5"),
	  "\0\0\0\1\0\2\0\3\0\4\0\5" },
	{ 1, 128, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", ELEMENTS("\0\0\x80?"), NULL },
	{ 1, 128, "{'descr': '|b1', 'fortran_order': False, 'shape': (0, 4), }", ELEMENTS(""), NULL },
	{ 1, 128, "{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }", ELEMENTS("a\0\0\0b\0\0\0"), NULL },
	{ 1, 192, "{'descr': [(('t', 'n'), '>i2'), (\"it's\", '|u1', (2,))], 'fortran_order': True, 'shape': (2, 2), }",
	  ELEMENTS("abcdefghijklmnop"), "abcdijklefghmnop" },
	{ 1, 128, "{'descr': [('\xe9', '|i1')], 'fortran_order': False, 'shape': (2,), }", ELEMENTS("ab"), NULL },
	{ 3, 128, "{'descr': [('\xce\xbb', '|i1')], 'fortran_order': False, 'shape': (2,), }", ELEMENTS("ab"), NULL },
};

static struct bytes make_file(const struct numpy_file *numpy)
{
	const size_t prefix = numpy->version == 1 ? 10 : 12, text = strlen(numpy->text);
	struct bytes file = { .left = -1, .count = numpy->header + numpy->nbytes };

	file.at = malloc(file.count);
	assert_non_null(file.at);
	memcpy(file.at, "\x93NUMPY\0\0\0\0\0\0", prefix);
	file.at[6] = (unsigned char)numpy->version;
	file.at[8] = (unsigned char)(numpy->header - prefix);
	memset(file.at + prefix, ' ', numpy->header - prefix);
	memcpy(file.at + prefix, numpy->text, text);
	file.at[numpy->header - 1] = '\n';
	memcpy(file.at + numpy->header, numpy->elements, numpy->nbytes);
	return file;
}

static struct bi_npy_source source_of(struct bytes *file)
{
	return (struct bi_npy_source){ read_bytes, NULL, file, (int64_t)file->count };
}

static void numpy_files_are_read_and_written(void **state)
{
	char elements[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(numpy_files); i++) {
		const struct numpy_file *numpy = &numpy_files[i];
		struct bytes file = make_file(numpy), written = { .left = -1 };
		struct bi_npy_source source = source_of(&file);
		struct bi_view *view = STALE(struct bi_view);

		OK(bi_npy_read(host, &source, &view, &error));
		assert_int_equal(bytes_in(view), numpy->nbytes);
		OK(bi_view_read(view, elements, numpy->nbytes, &error));
		assert_memory_equal(elements, numpy->in_c_order ? numpy->in_c_order : numpy->elements, numpy->nbytes);
		OK(bi_npy_write(view, write_bytes, &written, &error));
		assert_int_equal(written.count, file.count);
		assert_memory_equal(written.at, file.at, file.count);
		free(written.at);
		free(file.at);
		bi_view_release(view);
	}
}

/* The order of the bytes is that of the file, and a view says so. */
static void the_order_of_the_file_is_kept(void **state)
{
	struct bytes file = make_file(&numpy_files[1]);
	struct bi_npy_source source = source_of(&file);
	struct bi_layout layout;
	struct bi_view *view;

	(void)state;
	OK(bi_npy_read(host, &source, &view, &error));
	bi_view_layout(view, &layout);
	assert_int_equal(layout.strides[0], 2);
	assert_int_equal(layout.strides[1], 4);
	assert_int_equal(layout.dtype.type, BI_INT16);
	assert_int_equal(layout.dtype.swapped, IS_LITTLE);
	bi_view_release(view);
	free(file.at);
}

static void any_view_is_written(void **state)
{
	const struct bi_index items[] = { { BI_INDEX_SLICE, BI_OMITTED, BI_OMITTED, -2 },
					  { BI_INDEX_SLICE, 1, BI_OMITTED, 3 } };
	struct bytes file = { .left = -1 };
	struct bi_npy_source source;
	struct bi_view *all = NEW_ARRAY(host, "<f8", 5, 7), *view, *back;

	(void)state;
	number_bytes(all);
	OK(bi_view_index(all, items, 2, &view, &error));
	OK(bi_npy_write(view, write_bytes, &file, &error));
	source = source_of(&file);
	OK(bi_npy_read(host, &source, &back, &error));
	assert_int_equal(file.position, file.count);
	assert_int_equal(bi_view_shape(back)[0], 3);
	assert_int_equal(bi_view_shape(back)[1], 2);
	assert_same_elements(view, back);
	bi_view_release(back);
	bi_view_release(view);
	bi_view_release(all);
	free(file.at);
}

/* A typestr without its order would mean another order on another machine. */
static void the_text_of_fields_is_completed(void **state)
{
	static const char text[] = "[(\"a\",'f4'),('b' , 'u1',2)]";
	struct bytes file = { .left = -1 };
	struct bi_dtype dtype;
	struct bi_view *plain, *view;

	(void)state;
	OK(bi_dtype_parse_descr(text, &dtype, &error));
	OK(bi_view_empty(host, dtype, 0, NULL, &plain, &error));
	OK(bi_view_reinterpret(plain, dtype, text, &view, &error));
	OK(bi_npy_write(view, write_bytes, &file, &error));
	file.at[file.count] = '\0';
	assert_non_null(strstr((char *)file.at + 10, IS_LITTLE ? "[('a', '<f4'), ('b', '|u1', (2,))]"
							       : "[('a', '>f4'), ('b', '|u1', (2,))]"));
	bi_view_release(view);
	bi_view_release(plain);
	free(file.at);
}

static int keep_header(void *data, const struct bi_layout *layout, struct bi_error *err)
{
	struct bytes *file = data;

	(void)err;
	assert_int_equal(layout->ndim, 2);
	assert_int_equal(layout->offset, 0);
	assert_int_equal(file->position, 128);
	file->headers++;
	return BI_OK;
}

static int refuse_header(void *data, const struct bi_layout *layout, struct bi_error *err)
{
	(void)data;
	(void)layout;
	*err = (struct bi_error){ BI_EUNFINISHED, 5, "not this one" };
	return BI_EUNFINISHED;
}

static void the_header_comes_first(void **state)
{
	struct bytes file = make_file(&numpy_files[0]);
	struct bi_npy_source source = { read_bytes, keep_header, &file, -1 };
	struct bi_view *view = STALE(struct bi_view);

	(void)state;
	OK(bi_npy_read(NULL, &source, NULL, &error));
	assert_int_equal(file.headers, 1);
	assert_int_equal(file.position, 128);
	file.position = 0;
	OK(bi_npy_read(host, &source, &view, &error));
	assert_int_equal(file.headers, 2);
	bi_view_release(view);
	file.position = 0;
	source.header = refuse_header;
	REFUSED_FOR(BI_EUNFINISHED, "not this one", bi_npy_read(host, &source, &view, &error));
	assert_null(view);
	assert_int_equal(file.position, 128);
	free(file.at);
}

static void every_end_of_the_file_is_found(void **state)
{
	struct bytes file = make_file(&numpy_files[5]);
	const size_t whole = file.count;
	struct bi_view *view;
	const char *words;

	(void)state;
	for (file.count = 0; file.count < whole; file.count++) {
		for (int is_known = 0; is_known < 2; is_known++) {
			struct bi_npy_source source = source_of(&file);

			source.nbytes = is_known ? source.nbytes : -1;
			file.position = 0;
			view = STALE(struct bi_view);
			words = is_known && file.count >= 10 && file.count < 192
					? "says that it has 192 bytes, the file"
					: "truncated: ";
			REFUSED_FOR(BI_EBOUNDS, words, bi_npy_read(host, &source, &view, &error));
			assert_null(view);
		}
	}
	free(file.at);
}

/* A file whose size is known is refused before memory is taken for it. */
static void a_lie_about_the_size_costs_no_memory(void **state)
{
	static const struct numpy_file lie = {
		1, 128, "{'descr': '<i4', 'fortran_order': False, 'shape': (1000000000000000,), }", ELEMENTS("abcd"),
		NULL
	};
	struct bytes file = make_file(&lie);
	struct bi_npy_source source = source_of(&file);
	struct bi_view *view;

	(void)state;
	if (sizeof(size_t) == 8)
		REFUSED_FOR(BI_EBOUNDS, "4000000000000000 bytes of elements, the file holds 4",
			    bi_npy_read(host, &source, &view, &error));
	source.nbytes = -1;
	file.position = 0;
	REFUSED(sizeof(size_t) == 8 ? BI_ENOMEM : BI_EOVERFLOW, bi_npy_read(host, &source, &view, &error));
	assert_null(view);
	free(file.at);
}

/* Each call of the caller's functions fails once. */
static void a_failure_of_the_caller_is_returned(void **state)
{
	struct bytes file = make_file(&numpy_files[0]), written = { .left = -1 };
	struct bi_npy_source source = source_of(&file);
	struct bi_view *view;
	int calls;

	(void)state;
	for (calls = 0; calls < 3; calls++) {
		file.left = calls;
		file.position = 0;
		view = STALE(struct bi_view);
		REFUSED_FOR(BI_EDRIVER, "the file is gone", bi_npy_read(host, &source, &view, &error));
		assert_int_equal(error.vendor, 77);
		assert_null(view);
	}
	file.left = calls;
	file.position = 0;
	OK(bi_npy_read(host, &source, &view, &error));
	for (calls = 0; calls < 2; calls++) {
		written.left = calls;
		REFUSED_FOR(BI_EDRIVER, "the file is gone", bi_npy_write(view, write_bytes, &written, &error));
	}
	written.left = calls;
	OK(bi_npy_write(view, write_bytes, &written, &error));
	bi_view_release(view);
	free(written.at);
	free(file.at);
}

static int claim_too_much(void *data, void *bytes, size_t nbytes, size_t *got, struct bi_error *err)
{
	int rc = read_bytes(data, bytes, nbytes, got, err);

	*got = nbytes + 1;
	return rc;
}

static int fail_to_read(void *data, void *bytes, size_t nbytes, size_t *got, struct bi_error *err)
{
	(void)data;
	(void)bytes;
	(void)nbytes;
	(void)got;
	(void)err;
	return -77;
}

static int fail_to_write(void *data, const void *bytes, size_t nbytes, struct bi_error *err)
{
	(void)data;
	(void)bytes;
	(void)nbytes;
	(void)err;
	return 5;
}

/* The error may hold the failure of an earlier call. */
static void a_failure_without_a_message_gets_one(void **state)
{
	struct bi_npy_source source = { fail_to_read, NULL, NULL, -1 };
	struct bi_view *view;

	(void)state;
	REFUSED(BI_EINVAL, bi_npy_read(host, NULL, &view, &error));
	assert_int_equal(bi_npy_read(host, &source, &view, &error), -77);
	assert_string_equal(error.message, "source->read returned -77 and no message");
	assert_int_equal(error.status, -77);
	view = NEW_ARRAY(host, "<i4", 3);
	assert_int_equal(bi_npy_write(view, fail_to_write, NULL, &error), 5);
	assert_string_equal(error.message, "write returned 5 and no message");
	assert_int_equal(bi_npy_write(view, fail_to_write, NULL, NULL), 5);
	bi_view_release(view);
}

static void a_source_that_reads_too_much_is_refused(void **state)
{
	struct bytes file = make_file(&numpy_files[0]);
	struct bi_npy_source source = source_of(&file);
	struct bi_view *view;

	(void)state;
	source.read = claim_too_much;
	REFUSED_FOR(BI_EINVAL, "source->read read 11 bytes, and was asked for 10",
		    bi_npy_read(host, &source, &view, &error));
	free(file.at);
}

/* No part is written after one that failed. */
static void a_part_that_fails_is_the_last(void **state)
{
	struct bytes written = { .left = 1 };
	struct bi_view *large = NEW_ARRAY(host, "<i4", 17, 1 << 18);
	const int32_t zero = 0;
	size_t header;

	(void)state;
	OK(bi_fill(large, &zero, NULL, &error));
	REFUSED_FOR(BI_EDRIVER, "the file is gone", bi_npy_write(large, write_bytes, &written, &error));
	header = written.count;
	assert_int_equal(header, 128);
	OK(bi_npy_write(large, write_bytes, &written, &error));
	assert_int_equal(written.count, 2 * header + bytes_in(large));
	bi_view_release(large);
	free(written.at);
}

static void arguments_are_checked(void **state)
{
	struct bytes file = make_file(&numpy_files[0]), written = { .left = -1 };
	struct bi_npy_source source = source_of(&file), no_read = { NULL, NULL, NULL, -1 };
	struct bi_view *view = STALE(struct bi_view), *array = NEW_ARRAY(host, "bfloat16", 3);
	struct bi_map *map;

	(void)state;
	REFUSED_FOR(BI_EINVAL, "context is NULL", bi_npy_read(NULL, &source, &view, &error));
	assert_null(view);
	REFUSED_FOR(BI_EINVAL, "source is NULL", bi_npy_read(host, NULL, &view, &error));
	source.nbytes = -5;
	REFUSED_FOR(BI_EINVAL, "source->nbytes is -5", bi_npy_read(host, &source, &view, &error));
	REFUSED_FOR(BI_EINVAL, "source->read is NULL", bi_npy_read(host, &no_read, &view, &error));
	REFUSED_FOR(BI_EINVAL, "context is NULL", bi_npy_load(NULL, "x.npy", &view, &error));
	REFUSED_FOR(BI_EINVAL, "path is NULL", bi_npy_load(host, NULL, &view, &error));
	REFUSED_FOR(BI_EINVAL, "out is NULL", bi_npy_load(host, "x.npy", NULL, &error));
	REFUSED_FOR(BI_EINVAL, "view is NULL", bi_npy_save(NULL, "x.npy", &error));
	REFUSED_FOR(BI_EINVAL, "path is NULL", bi_npy_save(array, NULL, &error));
	REFUSED_FOR(BI_EINVAL, "view is NULL", bi_npy_write(NULL, write_bytes, &written, &error));
	REFUSED_FOR(BI_EINVAL, "write is NULL", bi_npy_write(array, NULL, NULL, &error));
	REFUSED_FOR(BI_EDTYPE, "bfloat16", bi_npy_write(array, write_bytes, &written, &error));
	bi_view_release(array);
	array = NEW_ARRAY(host, "<i4", 3);
	OK(bi_view_map(array, BI_MAP_WRITE, &map, &error));
	REFUSED(BI_EBUSY, bi_npy_save(array, "test_npy_busy.npy", &error));
	OK(bi_unmap(map, &error));
	bi_view_release(array);
	assert_null(fopen("test_npy_busy.npy", "rb"));
	free(file.at);
}

static void a_saved_file_is_loaded(void **state)
{
	static const char path[] = "test_npy_saved.npy";
	struct bi_view *array = NEW_ARRAY(host, ">c16", 3, 4), *turned, *back = STALE(struct bi_view);

	(void)state;
	number_bytes(array);
	OK(bi_view_permute(array, NULL, &turned, &error));
	for (int i = 0; i < 2; i++) {
		const struct bi_view *saved = i ? turned : array;

		OK(bi_npy_save(saved, path, &error));
		OK(bi_npy_load(host, path, &back, &error));
		assert_memory_equal(bi_view_strides(back), bi_view_strides(saved), 2 * sizeof(int64_t));
		assert_true(bi_dtype_equal(bi_view_dtype(back), bi_view_dtype(array)));
		assert_same_elements(back, saved);
		bi_view_release(back);
	}
	assert_int_equal(remove(path), 0);
	REFUSED_FOR(BI_EDRIVER, "test_npy_saved.npy: cannot open: ", bi_npy_load(host, path, &back, &error));
	assert_int_equal(error.vendor, ENOENT);
	assert_null(back);
	bi_view_release(turned);
	bi_view_release(array);
}

/* A message has the end of a long path. */
static void a_message_names_the_file(void **state)
{
	char path[400];
	struct bi_view *view;

	(void)state;
	memset(path, 'x', sizeof(path));
	strcpy(path + sizeof(path) - 20, "/last.npy");
	REFUSED_FOR(BI_EDRIVER, "/last.npy: cannot open: ", bi_npy_load(host, path, &view, &error));
	assert_int_equal(strncmp(error.message, "...xxx", 6), 0);
}

#ifndef _WIN32
#define OWNER 65534
#define GROUP 65533

static char folder[] = "/tmp/bi-npy-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s/array.npy", mkdtemp(folder));
	return 0;
}

/* Fails if a temporary file was left. */
static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static struct bi_view *new_saved(const char *type)
{
	struct bi_view *array = NEW_ARRAY(host, type, 6);

	number_bytes(array);
	OK(bi_npy_save(array, path, &error));
	return array;
}

static void expect_saved(const struct bi_view *array)
{
	struct bi_view *back;

	OK(bi_npy_load(host, path, &back, &error));
	assert_same_elements(back, array);
	bi_view_release(back);
}

static int names_in_folder(void)
{
	DIR *directory = opendir(folder);
	int count = 0;

	assert_non_null(directory);
	for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
		count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
	closedir(directory);
	return count;
}

/* The array cannot be saved. Permissions do not hold for root, who becomes the owner of the folder in a child. */
static void expect_no_permission(struct bi_view *array, const char *words)
{
	const pid_t child = fork();
	int status;

	if (child == 0) {
		if (geteuid() == 0 && setuid(OWNER))
			_exit(2);
		const int rc = bi_npy_save(array, path, &error);

		fprintf(stderr, "%s\n", rc ? error.message : "saved");
		bi_view_release(array); /* valgrind looks for leaks in the child too */
		_exit(rc != BI_EDRIVER || !strstr(error.message, words));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void permissions_are_kept(void **state)
{
	struct bi_view *array;
	struct stat facts;
	mode_t old = umask(027);

	(void)state;
	array = new_saved("<i4");
	umask(old);
	assert_int_equal(stat(path, &facts), 0);
	assert_int_equal(facts.st_mode & 0777, 0640);
	assert_int_equal(chmod(path, 0606), 0);
	OK(bi_npy_save(array, path, &error));
	assert_int_equal(stat(path, &facts), 0);
	assert_int_equal(facts.st_mode & 0777, 0606);
	if (geteuid() == 0 && (chown(path, OWNER, (gid_t)-1) || chown(folder, OWNER, (gid_t)-1)))
		fail_msg("user %d is not mapped into this user namespace", OWNER);
	assert_int_equal(chmod(path, 0444), 0);
	expect_no_permission(array, "cannot write: Permission denied");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(chmod(folder, 0500), 0);
	expect_no_permission(array, "cannot create a file in this directory: Permission denied");
	assert_int_equal(chmod(folder, 0700), 0);
	bi_view_release(array);
}

static void owner_and_group_are_kept(void **state)
{
	struct bi_view *array = new_saved("<i4");
	struct stat facts, old;

	(void)state;
	if (geteuid() == 0 && chown(path, OWNER, GROUP))
		fail_msg("user %d is not mapped into this user namespace", OWNER);
	assert_int_equal(chmod(path, 0660), 0);
	assert_int_equal(stat(path, &old), 0);
	OK(bi_npy_save(array, path, &error));
	assert_int_equal(stat(path, &facts), 0);
	assert_int_equal(facts.st_uid, old.st_uid);
	assert_int_equal(facts.st_gid, old.st_gid);
	assert_int_equal(facts.st_mode & 0777, 0660);
	bi_view_release(array);
}

/* A user of the directory replaces the file of another user, whose group is not the group of this user. */
static void permissions_of_another_group_are_not_given(void **state)
{
	struct bi_view *array = new_saved("<i4");
	struct stat facts;
	pid_t child;
	int status;

	(void)state;
	if (geteuid() == 0) {
		if (chown(path, 0, GROUP))
			fail_msg("group %d is not mapped into this user namespace", GROUP);
		assert_int_equal(chmod(path, 0666), 0);
		assert_int_equal(chmod(folder, 0777), 0);
		child = fork();
		if (child == 0) {
			int rc = setgid(OWNER) || setuid(OWNER) ? BI_EDRIVER : bi_npy_save(array, path, &error);

			bi_view_release(array);
			_exit(rc != BI_OK);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		assert_int_equal(stat(path, &facts), 0);
		assert_int_equal(facts.st_uid, OWNER);
		assert_int_equal(facts.st_mode & 0777, 0606);
	}
	bi_view_release(array);
}

static void links_are_followed(void **state)
{
	char link[64];
	struct bi_view *array = new_saved("<i4"), *other = NEW_ARRAY(host, "<i4", 2);
	struct stat facts;

	(void)state;
	number_bytes(other);
	snprintf(link, sizeof(link), "%s/link", folder);
	assert_int_equal(symlink("array.npy", link), 0);
	OK(bi_npy_save(other, link, &error));
	assert_int_equal(lstat(link, &facts), 0);
	assert_true(S_ISLNK(facts.st_mode));
	expect_saved(other);
	assert_int_equal(unlink(path), 0);
	REFUSED_FOR(BI_EDRIVER, "cannot follow the symbolic link: No such file", bi_npy_save(array, link, &error));
	assert_int_equal(unlink(link), 0);
	assert_int_equal(names_in_folder(), 0);
	bi_view_release(array);
	bi_view_release(other);
}

/* Asserts that the folder has its old file, unchanged, and no other file. */
static void a_failed_save_changes_nothing(void **state)
{
	struct bi_view *array = new_saved("<i4"), *large = NEW_ARRAY(host, "<f8", 1000), *nameless;
	struct rlimit old, small;
	int rc;

	(void)state;
	number_bytes(large);
	nameless = NEW_ARRAY(host, "bfloat16", 6);
	REFUSED_FOR(BI_EDTYPE, "array.npy: ", bi_npy_save(nameless, path, &error));
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ 100, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	rc = bi_npy_save(large, path, &error);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	check_refused(rc, BI_EDRIVER, "array.npy: cannot write: File too large", "bi_npy_save", __FILE__, __LINE__);
	assert_int_equal(error.vendor, EFBIG);
	assert_int_equal(names_in_folder(), 1);
	expect_saved(array);
	assert_int_equal(unlink(path), 0);
	bi_view_release(nameless);
	bi_view_release(large);
	bi_view_release(array);
}

static void other_places_are_refused(void **state)
{
	char inner[80];
	struct bi_view *array = new_saved("<i4"), *view;

	(void)state;
	REFUSED_FOR(BI_EDRIVER, "Is a directory", bi_npy_save(array, folder, &error));
	REFUSED_FOR(BI_EDRIVER, "Is a directory", bi_npy_load(host, folder, &view, &error));
	snprintf(inner, sizeof(inner), "%s/none/a.npy", folder);
	REFUSED_FOR(BI_EDRIVER, "cannot create a file in this directory: No such file",
		    bi_npy_save(array, inner, &error));
	snprintf(inner, sizeof(inner), "%s/a.npy", path);
	REFUSED_FOR(BI_EDRIVER, "Not a directory", bi_npy_save(array, inner, &error));
	REFUSED_FOR(BI_EDRIVER, "No such file", bi_npy_save(array, "", &error));
	assert_int_equal(unlink(path), 0);
	bi_view_release(array);
}

/* A pipe is written and read directly. */
static void what_is_no_regular_file_is_used_directly(void **state)
{
	struct bi_view *array = new_saved("<i4"), *back;
	struct stat facts;
	int ends[2];
	char name[32];

	(void)state;
	assert_int_equal(unlink(path), 0);
	REFUSED_FOR(BI_EBOUNDS, "/dev/null: truncated: the file ends after 0 bytes",
		    bi_npy_load(host, "/dev/null", &back, &error));
	assert_int_equal(pipe(ends), 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[1]);
	OK(bi_npy_save(array, name, &error));
	close(ends[1]);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	OK(bi_npy_load(host, name, &back, &error));
	assert_same_elements(back, array);
	close(ends[0]);
	bi_view_release(back);
	assert_int_equal(mkfifo(path, 0600), 0);
	ends[0] = open(path, O_RDWR | O_NONBLOCK);
	assert_true(ends[0] >= 0);
	OK(bi_npy_save(array, path, &error));
	expect_saved(array);
	close(ends[0]);
	assert_int_equal(stat(path, &facts), 0);
	assert_true(S_ISFIFO(facts.st_mode));
	assert_int_equal(names_in_folder(), 1);
	assert_int_equal(unlink(path), 0);
	bi_view_release(array);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numpy_files_are_read_and_written),
		cmocka_unit_test(the_order_of_the_file_is_kept),
		cmocka_unit_test(any_view_is_written),
		cmocka_unit_test(the_text_of_fields_is_completed),
		cmocka_unit_test(the_header_comes_first),
		cmocka_unit_test(every_end_of_the_file_is_found),
		cmocka_unit_test(a_lie_about_the_size_costs_no_memory),
		cmocka_unit_test(a_failure_of_the_caller_is_returned),
		cmocka_unit_test(a_failure_without_a_message_gets_one),
		cmocka_unit_test(a_source_that_reads_too_much_is_refused),
		cmocka_unit_test(a_part_that_fails_is_the_last),
		cmocka_unit_test(arguments_are_checked),
		cmocka_unit_test(a_saved_file_is_loaded),
		cmocka_unit_test(a_message_names_the_file),
	};
	int failed = cmocka_run_group_tests_name("arrays", tests, open_host, close_host);
#ifndef _WIN32
	const struct CMUnitTest files[] = {
		cmocka_unit_test(permissions_are_kept),
		cmocka_unit_test(owner_and_group_are_kept),
		cmocka_unit_test(permissions_of_another_group_are_not_given),
		cmocka_unit_test(links_are_followed),
		cmocka_unit_test(a_failed_save_changes_nothing),
		cmocka_unit_test(other_places_are_refused),
		cmocka_unit_test(what_is_no_regular_file_is_used_directly),
	};

	open_host(NULL);
	failed += cmocka_run_group_tests_name("files", files, make_folder, remove_folder);
	close_host(NULL);
#endif
	return failed;
}
