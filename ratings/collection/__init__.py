"""The life of a collection: make it, change its scale, see what it lacks, put it away, delete, restore it."""
