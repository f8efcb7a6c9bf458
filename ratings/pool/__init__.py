"""Pairs, as admins see them: pooling, anchors, adjudication, how pairs are given out, and how far rating is."""
