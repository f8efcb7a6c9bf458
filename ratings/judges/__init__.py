"""Judges, which are language models that grade: their prompts, calls and answers.

Nothing here writes a rating, and nothing that reads ratings reads these. The tables of judges are in
`ratings.models.judge`, since numbers, exports and archives read them. The room can be taken out: delete this
folder and its line in config/settings.py.
"""
