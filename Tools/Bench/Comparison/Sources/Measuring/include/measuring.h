#ifndef SESSIONMESH_MEASURING_H
#define SESSIONMESH_MEASURING_H

#include <stddef.h>
#include <stdint.h>

/// How many blocks the calling thread has allocated; always 0 where allocations cannot be counted.
uint64_t measuring_allocations(void);
/// Whether this C library lets a program count its allocations.
int measuring_counts_allocations(void);

/// zlib without anything around it: one stream for each direction, reset for each body. Raw deflate (RFC 1951).
struct measuring_zlib;
/// NULL when there is no memory. Never freed: it lives as long as the measurement.
struct measuring_zlib *measuring_zlib_create(int level);
/// How many bytes were written; 0 when they do not fit.
size_t measuring_deflate(struct measuring_zlib *zlib, const void *bytes, size_t count, void *output, size_t room);
size_t measuring_inflate(struct measuring_zlib *zlib, const void *bytes, size_t count, void *output, size_t room);

#endif
