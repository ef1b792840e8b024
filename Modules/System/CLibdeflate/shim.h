#ifndef SESSIONMESH_CLIBDEFLATE_SHIM_H
#define SESSIONMESH_CLIBDEFLATE_SHIM_H

#include <libdeflate.h>

#endif
