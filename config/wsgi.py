"""The WSGI application that gunicorn serves."""

import os
from importlib import import_module
from threading import Thread

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("IDEALIST_PATIENCE", "4")

# What is loaded when it is first needed, and would keep the first visitors waiting for two seconds.
LATE = ("config.urls", "scipy.stats", "altair")


def load_late() -> None:
    for name in LATE:
        import_module(name)


application = get_wsgi_application()
Thread(target=load_late, daemon=True).start()
