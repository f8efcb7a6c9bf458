"""Judges, which are language models that grade: their prompts, calls and answers.

Their grades have tables of their own. Nothing here writes a rating, and nothing that reads ratings reads these.
"""
