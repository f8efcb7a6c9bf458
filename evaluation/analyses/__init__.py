"""Reports of evaluations as JSON documents and rows of CSV, for pages, commands, the API and bundles."""
