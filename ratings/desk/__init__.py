"""The rating desk: what its pages show, what they send, and the preferences of a browser."""
