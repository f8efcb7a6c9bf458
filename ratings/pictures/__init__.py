"""Pictures that documents name: fetched once by a worker, made small and safe, and stored under their hash."""
