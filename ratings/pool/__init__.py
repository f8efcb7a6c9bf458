"""What admins do with pairs: pooling, anchors, adjudication, and the order in which pairs are given out."""
