"""Requests over HTTP to the hosts that IDEALIST_PULL_HOSTS lists. Pictures and judges send theirs through it."""

from .fetching import Limits, Refused
from .places import Place, checked_place

__all__ = ["Limits", "Place", "Refused", "checked_place"]
