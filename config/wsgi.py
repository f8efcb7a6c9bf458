"""The WSGI application that config/server serves."""

import os
from collections.abc import Callable, Iterable
from importlib import import_module
from threading import Thread

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ["IDEALIST_SHORT_WAITS"] = "1"

# What is loaded on first use, and would delay the first request by two seconds.
LATE_MODULES = ("config.urls", "scipy.special", "altair")
LATE_TEMPLATES = ("evaluation/overview.html", "evaluation/compare.html")


def load_late() -> None:
    from django.template.loader import get_template

    for name in LATE_MODULES:
        import_module(name)
    for name in LATE_TEMPLATES:
        get_template(name)


django = get_wsgi_application()


def application(environ: dict, start_response: Callable) -> Iterable[bytes]:
    """Django's answer, without a body for HEAD: waitress leaves that to the application."""
    answer = django(environ, start_response)
    if environ["REQUEST_METHOD"] != "HEAD":
        return answer
    answer.close()
    return []


Thread(target=load_late, daemon=True).start()
