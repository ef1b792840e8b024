#include "measuring.h"

// Stands in for the C library's allocator and counts; glibc is made for this ("Replacing malloc" in its manual).

#if defined(__GLIBC__)

#include <errno.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static _Thread_local uint64_t allocations;

uint64_t measuring_allocations(void) { return allocations; }
int measuring_counts_allocations(void) { return 1; }

void *malloc(size_t size) {
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    allocations++;
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    allocations++;
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
    void *block = memalign(alignment, size);
    if (block == NULL) return ENOMEM;
    *memory = block;
    return 0;
}

#else

uint64_t measuring_allocations(void) { return 0; }
int measuring_counts_allocations(void) { return 0; }

#endif
