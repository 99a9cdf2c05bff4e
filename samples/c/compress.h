/* The shared library of the sample server: run-length compression that logs. */
#ifndef COMPRESS_H
#define COMPRESS_H

#include <stddef.h>

/* Writes size bytes of data to out, compressed, and returns how many bytes that
   took; 0 if they do not fit in room. */
size_t compress(const char *data, size_t size, char *out, size_t room);

#endif
