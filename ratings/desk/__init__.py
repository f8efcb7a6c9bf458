"""The rating desk: who rates what next, what its pages show and send, and the preferences of a browser."""
