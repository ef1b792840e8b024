#include "measuring.h"

#include <stdlib.h>
#include <zlib.h>

struct measuring_zlib {
    z_stream deflate;
    z_stream inflate;
};

struct measuring_zlib *measuring_zlib_create(int level) {
    struct measuring_zlib *zlib = calloc(1, sizeof(struct measuring_zlib));
    if (zlib == NULL) return NULL;
    if (deflateInit2(&zlib->deflate, level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        inflateInit2(&zlib->inflate, -MAX_WBITS) != Z_OK)
        return NULL;
    return zlib;
}

static void place(z_stream *stream, const void *bytes, size_t count, void *output, size_t room) {
    stream->next_in = (Bytef *)bytes;
    stream->avail_in = (uInt)count;
    stream->next_out = output;
    stream->avail_out = (uInt)room;
}

size_t measuring_deflate(struct measuring_zlib *zlib, const void *bytes, size_t count, void *output, size_t room) {
    if (deflateReset(&zlib->deflate) != Z_OK) return 0;
    place(&zlib->deflate, bytes, count, output, room);
    return deflate(&zlib->deflate, Z_FINISH) == Z_STREAM_END ? room - zlib->deflate.avail_out : 0;
}

size_t measuring_inflate(struct measuring_zlib *zlib, const void *bytes, size_t count, void *output, size_t room) {
    if (inflateReset(&zlib->inflate) != Z_OK) return 0;
    place(&zlib->inflate, bytes, count, output, room);
    return inflate(&zlib->inflate, Z_FINISH) == Z_STREAM_END ? room - zlib->inflate.avail_out : 0;
}
