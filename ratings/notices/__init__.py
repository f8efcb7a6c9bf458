"""Notices: what happened, gathered from all rooms, and delivered by page, mail and webhook."""
