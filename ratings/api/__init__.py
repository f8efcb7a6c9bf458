"""The API of the record: calls on a router, which `config` mounts."""
