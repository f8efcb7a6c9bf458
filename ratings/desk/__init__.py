"""What the pages of raters contain, send and remember."""
