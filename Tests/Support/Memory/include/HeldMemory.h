#include <stddef.h>

/// Returns the number of bytes that this process has allocated and not freed; 0 where the system doesn't say.
size_t held_memory(void);
