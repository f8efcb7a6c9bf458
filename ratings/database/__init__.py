"""Database access beyond the ORM: bulk rows, consistent reads, prepared statements, disk errors."""
