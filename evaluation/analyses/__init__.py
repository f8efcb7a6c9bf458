"""Results of evaluations as JSON documents and CSV tables, for pages, commands, the API and bundles."""
