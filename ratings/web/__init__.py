"""What every page shares: its frame and tags, forms of settings, files to save, and answers to failures."""
