"""Combine several ratings into one judgment."""
