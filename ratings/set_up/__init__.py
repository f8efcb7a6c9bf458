"""A collection from nothing: it is made, its scale is changed, and what it still lacks is told."""
