"""What the ORM lacks: bulk rows, consistent reads, prepared statements, versioned rows, errors of the disk."""
