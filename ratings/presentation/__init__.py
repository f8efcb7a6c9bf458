"""How a document and a query are shown: an ordered list of parts, versioned as guidelines are."""
