"""Everything that is kept about the person who asks, as a file."""

from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from .. import privacy


@require_safe
@never_cache
def my_data(request: HttpRequest) -> StreamingHttpResponse:
    """Sent while it is read: a hundred thousand ratings never lie in memory together."""
    response = StreamingHttpResponse(privacy.export(request.user), content_type="application/json")
    response["Content-Disposition"] = 'attachment; filename="my-data.json"'
    return response
