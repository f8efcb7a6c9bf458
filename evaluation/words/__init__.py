"""Numbers, options and results as text."""
