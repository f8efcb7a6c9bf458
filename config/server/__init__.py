"""The HTTP server: waitress, with deadlines, and with permission checked before a large body is read.

A loop reads and writes for all connections; a thread gets a request once it is complete. So a client that is
silent, or reads slowly, costs a connection and no thread. See `channel` for a connection, `loop` for the server of
one process, and `__main__` for the processes.
"""
