// Nothing to call: see OneThread.c.
