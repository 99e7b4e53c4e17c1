/* Writing formats of the buffer protocol (PEP 3118). */
#ifndef BIP_EXPORT_FORMAT_H
#define BIP_EXPORT_FORMAT_H

#include "extension.h"

#define BIP_FORMAT_TEXT 256 /* characters of the longest format, with its NUL */

/* Writes the format of the view's elements. UnsupportedError if there is none, or it is too long. */
int bip_format_write(const struct bi_view *view, char text[BIP_FORMAT_TEXT]);

#endif
