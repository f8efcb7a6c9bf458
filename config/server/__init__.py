"""The HTTP server: waitress, with deadlines, and with a look at who sends before a large body is read.

A loop reads and writes for all connections at once; a thread gets a request when all of it is there. So who is
silent, or reads slowly, costs a connection and no thread. See `channel` for a connection, `loop` for the server of
one process, and `__main__` for its processes.
"""
