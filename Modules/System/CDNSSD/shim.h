#ifndef SESSIONMESH_CDNSSD_SHIM_H
#define SESSIONMESH_CDNSSD_SHIM_H

#include <dns_sd.h>

#include <avahi-common/malloc.h>
#include <stdlib.h>

static void *sessionmesh_dnssd_allocate(size_t size) { return calloc(1, size); }

// Avahi's compatibility library (0.8) leaves the callbacks of a new DNSServiceRef uninitialized and reads them when the
// daemon goes away. Memory that is zero to begin with makes that safe.
static inline void sessionmesh_dnssd_prepare(void) {
    static const AvahiAllocator allocator = {sessionmesh_dnssd_allocate, free, realloc, calloc};
    avahi_set_allocator(&allocator);
}

#endif
