"""A limit of pages that a person opens in a minute. It stops scripts that copy everything, and no reader."""

import time
from collections import Counter
from collections.abc import Callable
from threading import Lock

from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext_lazy

from ..web import limits
from ..web.pages import too_many
from . import throttle
from .sign_in.answers import refused_for_now

MINUTE = 60  # seconds
# In a minute, of one process: pages, downloads, and pictures, of which a product can have many.
PAGES_PER_PERSON = 1_200
TOO_MANY = gettext_lazy("Too many pages in a minute. Wait a minute. Programs read over the API, with a token.")


class PagesLimited(MiddlewareMixin):
    """Middleware behind the check for a sign-in. It counts in memory: a page must not wait for a write."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        super().__init__(get_response)
        self.lock = Lock()
        self.minute = 0
        self.opened = Counter()  # account → pages in this minute

    def process_view(self, request: HttpRequest, view: Callable, args: tuple, kwargs: dict) -> HttpResponse | None:
        # Views that need no sign-in are not counted; Django marks them by this attribute.
        reads = request.method in ("GET", "HEAD") and getattr(view, "login_required", True)
        if not reads or not request.user.is_authenticated:
            return None
        if self.count(request.user.pk) <= PAGES_PER_PERSON:
            return None
        return too_many(request, str(TOO_MANY), MINUTE - int(time.time() % MINUTE))

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The answer to an act that is refused since the account made too many such things, or tried too often."""
        if isinstance(error, limits.Reached):
            return too_many(request, error.messages[0], limits.RETRY_SECONDS)
        if isinstance(error, throttle.TooMany):
            return refused_for_now(request)
        return None

    def count(self, person: int) -> int:
        """The number of pages that this person has opened in this minute, including this one."""
        minute = int(time.time() // MINUTE)
        with self.lock:
            if minute != self.minute:
                self.minute = minute
                self.opened = Counter()
            self.opened[person] += 1
            return self.opened[person]
