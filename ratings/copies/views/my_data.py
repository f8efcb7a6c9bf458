"""All data about the signed-in person, as a file."""

from django.http import FileResponse, HttpRequest
from django.views.decorators.http import require_safe

from ...people import audit
from ...web import downloads
from .. import person


@require_safe
@downloads.made_in_turn
def my_data(request: HttpRequest) -> FileResponse:
    """A JSON file. It is written to disk first, since it may hold a hundred thousand ratings."""
    file = downloads.whole(person.export(request.user))
    audit.note(audit.Act.EXPORTED, about="their own data")
    return downloads.sent(file, "my-data.json")
