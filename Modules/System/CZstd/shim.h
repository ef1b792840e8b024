#ifndef SESSIONMESH_CZSTD_SHIM_H
#define SESSIONMESH_CZSTD_SHIM_H

#include <zstd.h>
#include <zstd_errors.h>

#endif
