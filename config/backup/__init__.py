"""Back up all data of Idealist to one file, and restore it into SQLite or PostgreSQL.

A backup is a ZIP with one Arrow stream for each table and each store of files, and a manifest as its last member.
The tables are those of the migrations that the database has, not those of the code: an upgrade can back up before
it migrates.
"""
