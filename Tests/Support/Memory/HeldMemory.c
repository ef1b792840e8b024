#include "HeldMemory.h"

#ifdef __linux__
#include <malloc.h>

size_t held_memory(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
#elif defined(__APPLE__)
#include <malloc/malloc.h>

size_t held_memory(void) { return mstats().bytes_used; }
#else
size_t held_memory(void) { return 0; }
#endif
