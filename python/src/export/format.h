/* Writes formats of the buffer protocol (PEP 3118). */
#ifndef BIP_EXPORT_FORMAT_H
#define BIP_EXPORT_FORMAT_H

#include "extension.h"

#define BIP_FORMAT_TEXT 8192 /* bytes of the longest format, including the NUL */

/*
 * Writes the format of the view's elements, and returns its length. Raises UnsupportedError and returns -1 if the
 * element type has no format, or the format is too long.
 */
int bip_format_write(const struct bi_view *view, char text[BIP_FORMAT_TEXT]);

/*
 * Returns true for elements of bytes without fields. NumPy reads their format ("5x") as a type without fields, and
 * copies no byte of it. Without a buffer it uses __array_struct__, which it reads correctly.
 */
int bip_format_is_raw(const struct bi_view *view);

#endif
