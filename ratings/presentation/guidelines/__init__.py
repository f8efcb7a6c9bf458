"""The guidelines for raters: their versions, the differences of these, and the text as HTML."""
