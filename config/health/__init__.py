"""Health checks and metrics of this installation: `/livez`, `/readyz`, `/metrics` and `run.py manage doctor`.

A check is a function in `checks` or `services` that yields problems, and an entry in the list CHECKS. `endpoints`
has the three addresses, `doctor` the command, `metrics` the metrics.
"""
