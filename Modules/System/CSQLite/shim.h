#ifndef SESSIONMESH_CSQLITE_SHIM_H
#define SESSIONMESH_CSQLITE_SHIM_H

#include <sqlite3.h>

// Swift cannot call variadic functions.
static inline int mesh_sqlite_set_checkpoint_on_close(sqlite3 *db, int on) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !on, (void *)0);
}

#endif
