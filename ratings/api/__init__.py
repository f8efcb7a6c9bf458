"""The API of the record. Importing it registers the calls on its router, which `config` mounts."""

from . import bringing, rating, reading
from .routes import router

__all__ = ["bringing", "rating", "reading", "router"]
