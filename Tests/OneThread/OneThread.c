// All tasks of a process on the main queue, one after another in the order in which they became ready.
//
// Virtual time must not pass while a task could still go on. On one thread a yield lets each of the others have its
// turn; on several, one of which the system has put aside in the midst of its work, no number of yields does. The price
// is that no test of the process may block: Tests/suite gives those that bear it a process of their own, in which
// MESH_ONE_THREAD is 1.
//
// It begins before main does. Tests that had begun elsewhere would keep the threads of the pool for minutes, and what
// virtual time waits for would wait behind them.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Hook)(void *job, void *original) __attribute__((swiftcall));

void swift_task_enqueueMainExecutor(void *job) __attribute__((swiftcall));

static __attribute__((swiftcall)) void enqueueOnMain(void *job, void *original) {
    (void)original;
    swift_task_enqueueMainExecutor(job);
}

static __attribute__((constructor)) void begin(void) {
    const char *wish = getenv("MESH_ONE_THREAD");
    if (wish == NULL || strcmp(wish, "1") != 0) return;
    // Through this hook of the concurrency runtime go all jobs that belong to no global actor.
    Hook *hook = dlsym(dlopen(NULL, RTLD_LAZY), "swift_task_enqueueGlobal_hook");
    if (hook == NULL) {
        fputs("MESH_ONE_THREAD is 1, and the concurrency runtime has no such hook any more\n", stderr);
        abort();
    }
    *hook = enqueueOnMain;
}
