"""The WSGI application that config/server serves. Static files are those that are there when this is imported."""

from collections.abc import Callable, Iterable
from threading import Thread

from django.core.wsgi import get_wsgi_application

from .loading import load_late

django = get_wsgi_application()


def application(environ: dict, start_response: Callable) -> Iterable[bytes]:
    """Django's answer, without a body for HEAD: waitress leaves that to the application."""
    answer = django(environ, start_response)
    if environ["REQUEST_METHOD"] != "HEAD":
        return answer
    answer.close()
    return []


Thread(target=load_late, daemon=True).start()
