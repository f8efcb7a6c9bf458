"""The API of the record: calls that `config` mounts. Importing it registers them."""

from . import bringing, rating, reading
from .routes import router

__all__ = ["bringing", "rating", "reading", "router"]
