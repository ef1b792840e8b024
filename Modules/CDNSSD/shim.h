#ifndef SESSIONMESH_CDNSSD_SHIM_H
#define SESSIONMESH_CDNSSD_SHIM_H

#include <dns_sd.h>

#endif
