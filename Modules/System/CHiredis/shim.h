#ifndef SESSIONMESH_CHIREDIS_SHIM_H
#define SESSIONMESH_CHIREDIS_SHIM_H

#include <hiredis/hiredis.h>
#include <stdlib.h>

// Swift imports neither an array of pointers to constant characters nor an array of sizes without casts.
static inline int mesh_redis_append(redisContext *context, int count, char *const *arguments, const size_t *lengths) {
    return redisAppendCommandArgv(context, count, (const char **)arguments, lengths);
}

// The address of a field that is an array, which Swift would import as a tuple.
static inline const char *mesh_redis_error(const redisContext *context) { return context->errstr; }

#endif
