"""Judges, which are language models that grade: what they are told, asked and answered.

Their grades are rows of their own. Nothing here writes a rating, and nothing that reads ratings reads these.
"""
