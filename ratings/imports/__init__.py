"""Files that people send: stored, previewed, and imported by a worker."""
