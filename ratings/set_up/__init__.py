"""A collection from nothing to its end: made, its scale changed, what it lacks; put away, deleted, restored."""
