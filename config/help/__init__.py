"""The documents of docs/ as pages of the app, with a search over all of them."""
