/*
 * Arrays in .npy files, the format of NumPy: versions 1.0, 2.0 and 3.0
 *
 *     rc = bi_npy_load(context, "in.npy", &array, &err);
 *     ...
 *     rc = bi_npy_save(array, "out.npy", &err);
 *
 * The element types are those that have a typestr (bi_dtype_typestr), and structured types. Both byte orders are read
 * and written as they are: a type of the other order is `swapped`. Python objects (pickles) and .npz archives are
 * refused. An array is written in Fortran order if its elements are contiguous only in that order, otherwise in C
 * order: the file is the same as that of numpy.save.
 *
 * The rules of buffer_interface.h about errors, ownership, threads and NULL hold here as well. The functions also
 * return BI_EDRIVER if the system cannot open, read or write the file; `vendor` is the errno. They block the calling
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
 * The opening of a pipe waits for its other end, also after a signal.
 *
 * BI_EDTYPE: the file is no .npy file of a known format, or its element type is not known. BI_EBOUNDS: the file ends
 * before the header or the elements do. BI_EINVAL: the header is malformed. BI_EOVERFLOW: the shape is too large.
 * Owned.
 */
BI_API int bi_npy_load(struct bi_context *context, const char *path, struct bi_view **out, struct bi_error *err);

/*
 * Writes an array to a file. A regular file is written completely or not at all: it is written under another name in
 * the same directory, and then renamed to `path`, so an old file stays until the new one is complete. The new file gets
 * the permissions, the owner and the group of the old one. If the process may not set the owner, the file belongs to
 * the user of the process. If the process may not set the group, the group gets no permissions. Access lists and the
 * set-ID bits are not kept. Other hard links still name the old file. If there was no file, the mode is 0666 less the
 * umask. Symbolic links are followed. BI_EDRIVER: the path is a link to a missing file, or a file that the process may
 * not write. A process that is killed during the call may leave the temporary file, whose name begins with ".bi-". A
 * pipe or a device is written directly. The opening of a pipe waits for its other end, also after a signal.
 *
 * If the program ignores SIGXFSZ and SIGPIPE, the call returns BI_EDRIVER for a file that grows too large and for a
 * closed pipe. Otherwise these signals end the process.
 *
 * If the array is contiguous in neither order, a dense copy of it is made on its device. BI_EDTYPE: the element type
 * has no typestr (bfloat16, float8, float6, float4, vectors). BI_EBUSY: the memory is mapped for writing. The names of
 * fields are not checked for duplicates. NumPy refuses a file in which two fields have one name.
 */
BI_API int bi_npy_save(const struct bi_view *view, const char *path, struct bi_error *err);

/* A file that functions of the caller read, from its beginning. */
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
	int64_t nbytes;                 /* size of the whole file, so that a truncated one is refused before memory is
					   allocated; -1: unknown. Below -1: BI_EINVAL */
};

/*
 * Does what bi_npy_load does, for a file that the caller reads, such as a member of an archive or a pipe. If `out` is
 * NULL, only the header is read, and `context` may be NULL. The elements are read in parts of at most 16 MiB. Bytes
 * after them are not read.
 *
 * The functions of the source are called on the calling thread, with no lock held. pthread_cancel has no effect on the
 * thread during the call. If a function of the source fails, the call returns its status. If that function gave no
 * message, *err names the function. Owned.
 */
BI_API int bi_npy_read(struct bi_context *context, const struct bi_npy_source *source, struct bi_view **out,
		       struct bi_error *err);

/* Writes the next `nbytes` bytes. On failure fills *err, which is not NULL, and returns a status. */
typedef int (*bi_npy_write_fn)(void *data, const void *bytes, size_t nbytes, struct bi_error *err);

/*
 * Does what bi_npy_save does, for a file that the caller writes. The rules for the functions of a source hold for
 * `write` too. Its first call gets the whole header. Each later call gets at most 16 MiB of the elements. The memory of
 * the array, or of its dense copy, is mapped for reading during the calls.
 */
BI_API int bi_npy_write(const struct bi_view *view, bi_npy_write_fn write, void *data, struct bi_error *err);

#ifdef __cplusplus
}
#endif

#endif
