"""Back up all data of Idealist to one file, and restore it into SQLite or PostgreSQL.

A backup is a ZIP: a stream of Arrow for each table and each store of files, and a manifest, which comes last. The
tables are those of the database's own migrations, not of the code: an upgrade can back up before it migrates.
"""
