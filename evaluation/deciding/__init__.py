"""The orders by rounds: which documents to judge next, and the expected means meanwhile.

`state` makes the arrays of `expected` from the record, `drawing` draws rounds in the worker, and `report` has the
expected means of the systems. The room can be taken out: delete this folder and its line in config/settings.py.
"""
