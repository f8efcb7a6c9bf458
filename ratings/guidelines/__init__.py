"""The guidelines for raters: versions, their text as HTML, and their changes."""
