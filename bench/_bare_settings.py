"""The settings of the project, with one additional view: see `_bare_urls`."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "bench._bare_urls"
