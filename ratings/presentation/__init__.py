"""What people see: documents and queries as an ordered list of parts, and the guidelines; both in versions."""
