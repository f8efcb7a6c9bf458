"""What the ORM lacks: bulk reads and inserts, snapshots, prepared statements, versions, errors of the disk."""
