/*
 * Arrays in NumPy's files: .npy of the formats 1.0, 2.0 and 3.0
 *
 *     rc = bi_npy_load(context, "in.npy", &array, &err);
 *     ...
 *     rc = bi_npy_save(array, "out.npy", &err);
 *
 * The element types are those that have a typestr (bi_dtype_typestr), and structured types. Both byte orders are read
 * and written as they are: a type of the other order is `swapped`. Python objects (pickles) and .npz archives are
 * refused. An array is written in Fortran order if its elements are contiguous only in that order, otherwise in C
 * order, so the file is the one that numpy.save writes.
 *
 * The rules of buffer_interface.h about errors, ownership, threads and NULL hold here as well. The functions also
 * return BI_EDRIVER if the system cannot open, read or write the file; `vendor` is its errno. They block the calling
 * thread for the file, and for the device as bi_view_map does (`map`).
 */
#ifndef BUFFER_INTERFACE_NPY_H
#define BUFFER_INTERFACE_NPY_H

#include "buffer_interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Reads the array of a file into memory of the context. The result is dense, in C or Fortran order as in the
 * file. Bytes after the elements are ignored. `path` is any file that can be read from its beginning, such as a pipe.
 *
 * BI_EDTYPE: the file is no .npy file of a known format, or its element type is not known. BI_EBOUNDS: the file ends
 * before the header or the elements do. BI_EINVAL: the header is malformed. BI_EOVERFLOW: the shape is too large.
 * Owned.
 */
BI_API int bi_npy_load(struct bi_context *context, const char *path, struct bi_view **out, struct bi_error *err);

/*
 * Writes an array to a file. A regular file is written completely or not at all: it is written under another name in
 * the same directory, and then renamed to `path`, so an old file stays until the new one is complete. The new file gets
 * the permissions, the owner and the group of the old one. If the process may not set the owner, it becomes the owner.
 * If it may not set the group, the group gets no permissions. Access lists are not kept, and other hard links keep the
 * old file. If there was no file, the mode is 0666 less the umask. Symbolic links are followed. A link to a missing
 * file is refused, and so is a write-protected file. A process that is killed meanwhile leaves a file whose name begins
 * with ".bi-". A pipe or a device is written directly.
 *
 * If the program ignores SIGXFSZ and SIGPIPE, a file that grows too large and a closed pipe are BI_EDRIVER. Otherwise
 * these signals end the process.
 *
 * If the array is contiguous in neither order, a dense copy of it is made on its device. BI_EDTYPE: the element type
 * has no typestr (bfloat16, float8, vectors). BI_EBUSY: the memory is mapped for writing. Names of fields are not
 * compared: NumPy refuses a file with one name twice.
 */
BI_API int bi_npy_save(const struct bi_view *view, const char *path, struct bi_error *err);

/* A file that is read from its beginning. */
struct bi_npy_source {
	/*
	 * Reads the next bytes. *got is less than `nbytes` only at the end of the file. On failure fills *err, which
	 * is not NULL, and returns a status.
	 */
	int (*read)(void *data, void *bytes, size_t nbytes, size_t *got, struct bi_error *err);
	/*
	 * Called once, after the header was read and before the elements are; or NULL. `layout` is dense, has offset 0,
	 * and is borrowed for the call. A status other than BI_OK ends the reading, and is returned.
	 */
	int (*header)(void *data, const struct bi_layout *layout, struct bi_error *err);
	void *data;                     /* for both functions */
	int64_t nbytes;                 /* size of the whole file; -1: unknown. Below -1: BI_EINVAL */
};

/*
 * Does what bi_npy_load does, for a file that the caller reads: a member of an archive, a stream, or a file of which
 * only the header is of interest. If `out` is NULL, only the header is read, and `context` may be NULL. The elements
 * are read in parts of at most 16 MiB. Bytes after them are not read.
 *
 * The functions of the source are called on the calling thread, with no lock held. The thread cannot be cancelled
 * meanwhile. A status that one of them returns is returned. If the function gives no message, *err names the function.
 * Owned.
 */
BI_API int bi_npy_read(struct bi_context *context, const struct bi_npy_source *source, struct bi_view **out,
		       struct bi_error *err);

/* Writes the next `nbytes` bytes. On failure fills *err, which is not NULL, and returns a status. */
typedef int (*bi_npy_write_fn)(void *data, const void *bytes, size_t nbytes, struct bi_error *err);

/*
 * Does what bi_npy_save does, for a file that the caller writes: `write` is called as the functions of a source are,
 * first with the whole header, then with parts of the elements of at most 16 MiB. The memory, or the dense copy that is
 * made of it, is mapped for reading meanwhile.
 */
BI_API int bi_npy_write(const struct bi_view *view, bi_npy_write_fn write, void *data, struct bi_error *err);

#ifdef __cplusplus
}
#endif

#endif
