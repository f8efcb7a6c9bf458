"""All data about the signed-in person, as a file."""

from django.http import FileResponse
from django.views.decorators.http import require_safe

from ...models import AuditEvent
from ...people import audit
from ...people.access import SignedInRequest
from ...web import downloads, limits
from .. import person

ABOUT = "their own data"
MOST_FILES_A_DAY = 20


@require_safe
@downloads.made_in_turn
def my_data(request: SignedInRequest) -> FileResponse:
    """A JSON file. It is written to disk first, since it may hold a hundred thousand ratings."""
    earlier = AuditEvent.objects.filter(account=request.user.pk, act=audit.Act.EXPORTED, about=ABOUT)
    limits.refuse_above(MOST_FILES_A_DAY, "files of your data", earlier, at="at")
    file = downloads.whole_file(person.export(request.user))
    audit.note(audit.Act.EXPORTED, about=ABOUT)
    return downloads.sent(file, "my-data.json")
