"""Data that leave Idealist and come back: archives and copies of a collection, and backups of everything.

`tables` says for all of them which columns leave.
"""
