"""What is wrong with this installation, and its figures: `/livez`, `/readyz`, `/metrics` and `run.py doctor`.

A check is a function in `checks` that yields what is wrong, and a line in its list. `answers` has the three
addresses, `doctor` the command, `metrics` the figures.
"""
