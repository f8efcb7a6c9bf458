"""What is loaded on first use, and would delay the first request by two seconds. A server imports it first."""

import os
from importlib import import_module

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ["IDEALIST_SHORT_WAITS"] = "1"

LATE_MODULES = ("config.urls", "scipy.special", "altair")
LATE_TEMPLATES = ("evaluation/overview.html", "evaluation/compare.html")


def load_late() -> None:
    from django.template.loader import get_template

    for name in LATE_MODULES:
        import_module(name)
    for name in LATE_TEMPLATES:
        get_template(name)
