"""The rating desk: who rates what next, what its pages show and send."""
