"""Pooling, anchors and adjudication: the acts of admins on pairs."""
