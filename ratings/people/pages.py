"""A limit of pages that a person opens in a minute. It stops scripts that copy everything, and no reader."""

import time
from collections import Counter
from collections.abc import Callable
from threading import Lock

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from ..web.pages import wants_json

MINUTE = 60  # seconds
PER_PERSON = 1_200  # in a minute, of one process: pages, downloads, and pictures, of which a product can have many
TOO_MANY = "Too many pages in a minute. Wait a minute. Programs read over the API, with a token."


class PagesLimited(MiddlewareMixin):
    """Middleware behind the check for a sign-in. It counts in memory: a page must not wait for a write."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        super().__init__(get_response)
        self.lock, self.minute, self.opened = Lock(), 0, Counter()

    def process_view(self, request: HttpRequest, view: Callable, args: tuple, kwargs: dict) -> HttpResponse | None:
        reads = request.method in ("GET", "HEAD") and getattr(view, "login_required", True)
        if not (reads and request.user.is_authenticated) or self.count(request.user.pk) <= PER_PERSON:
            return None
        if wants_json(request):
            response = JsonResponse({"error": TOO_MANY}, status=429)
        else:
            response = render(request, "ratings/too_many_pages.html", {"said": TOO_MANY}, status=429)
        response["Retry-After"] = str(MINUTE - int(time.time() % MINUTE))
        return response

    def count(self, person: int) -> int:
        """The number of pages that this person has opened in this minute, including this one."""
        minute = int(time.time() // MINUTE)
        with self.lock:
            if minute != self.minute:
                self.minute, self.opened = minute, Counter()
            self.opened[person] += 1
            return self.opened[person]
