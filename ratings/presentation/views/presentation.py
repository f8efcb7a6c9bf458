"""The page on which an admin decides how documents and queries are shown."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.views.decorators.http import require_http_methods

from ...models import Collection, Document, Presentation, Query, Role
from ...people.access import of_collection
from ...web.pages import frame, wants_json
from .. import versions as acts
from ..content import first_of, members_of, queries_of, sample_of, source_of, source_of_query
from ..forms import PresentationForm, with_row_moved
from ..html import html_of, render_document
from ..parts import Presented, pieces_of
from ..pictures import fetch_pictures, pictures_of
from ..proposal import WEB_PAGE, proposal


@require_http_methods(["GET", "HEAD", "POST"])
@of_collection(Role.ADMIN)
def presentation(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The form for a new version of the presentation. A POST with `save` saves it.

    Any other POST only shows a document as raters would see it: on the page, or as JSON for a script.
    """
    latest = collection.latest_presentation()
    if request.method != "POST":
        start = _starting_point(collection, latest, request.GET.get("start", ""))
        form = PresentationForm(presented=start, base=latest.version if latest else 0)
        return editor(request, collection, form, preview=start)
    form = PresentationForm(with_row_moved(request.POST))
    if not form.is_valid():
        if wants_json(request):
            return JsonResponse({"problem": "A part is not complete yet."}, status=400)
        return editor(request, collection, form, status=400)
    if wants_json(request):
        return JsonResponse({"html": preview_html(request, collection, form.presented)})
    if "save" not in request.POST:
        return editor(request, collection, form, preview=form.presented)
    return save_form(request, collection, form)


def save_form(request: HttpRequest, collection: Collection, form: PresentationForm) -> HttpResponse:
    """Save the valid form as a new version, and return the response: a redirect, or the form with the problem."""
    try:
        saved = acts.publish(collection, form.presented, base=form.base)
    except acts.Outdated as outdated:
        form.base = outdated.current.version
        return editor(request, collection, form, outdated=outdated.current, preview=form.presented, status=409)
    except acts.Unchanged:
        messages.info(request, "Nothing was changed, so there is no new version.")
    except ValueError as error:
        form.errors.append(f"{error}.")
        return editor(request, collection, form, status=400)
    else:
        messages.success(request, f"Version {saved.version} is saved. Raters see documents in it from now on.")
        if fetch_pictures(collection, request.user):
            messages.info(request, "Its pictures are being fetched.")
            return redirect("pictures", collection.slug)
    return redirect("presentation", collection.slug)


def editor(
    request: HttpRequest,
    collection: Collection,
    form: PresentationForm,
    *,
    preview: Presented | None = None,
    outdated: Presentation | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page with the form, and with a document as `preview` shows it; None: without a preview.

    `outdated`: a version that somebody saved meanwhile; None: nobody did.
    """
    latest = collection.latest_presentation()
    document = preview_document(request, collection)
    context = {
        **frame(collection, "presentation"),
        "form": form,
        "latest": latest,
        "outdated": outdated,
        "shows_pictures": latest is not None and Presented.read(latest.content).has_pictures,
        # The members of their JSON objects, such as title or price, by the paths that parts of the form can name.
        "document_members": members_of(sample_of(collection)),
        "query_members": members_of(queries_of(collection)),
        "document": document,
        "preview": preview_context(collection, preview, document) if preview and document else None,
    }
    return render(request, "ratings/presentation.html", context, status=status)


def _starting_point(collection: Collection, latest: Presentation | None, start: str) -> Presented:
    """The latest version; before the first one, or if `start` asks for it, a proposal from the documents."""
    if (start == "proposal" or not latest) and (documents := sample_of(collection)):
        return proposal(documents)
    return Presented.read(latest.content) if latest else WEB_PAGE


def preview_document(request: HttpRequest, collection: Collection) -> Document | None:
    """The document of the preview: the one of the form, or the one after it if its button asks for that."""
    pks = [str(pk) for pk in first_of(collection).values_list("pk", flat=True)]
    if not pks:
        return None
    sent = request.POST.get("document", "")
    place = pks.index(sent) if sent in pks else 0
    if request.POST.get("show") == "next" and sent in pks:
        place += 1
    return Document.objects.filter(pk=pks[place % len(pks)]).first()


def preview_context(collection: Collection, presented: Presented, document: Document) -> dict:
    """The context of a preview: the document, and the first query with it in the pool, or else the first query."""
    query = Query.objects.filter(collection=collection, pairs__document=document).first()
    query = query or collection.queries.order_by("pk").first()
    query_facts = source_of_query(query) if query else {}
    document_facts = source_of(document)
    pictures = pictures_of(collection.pk, (*presented.document, *presented.query), [document_facts, query_facts])
    return {
        "query": query,
        "more_of_query": html_of(pieces_of(presented.query, query_facts), pictures),
        "document": render_document(presented, document_facts, pictures),
    }


def preview_html(request: HttpRequest, collection: Collection, presented: Presented) -> str:
    document = preview_document(request, collection)
    if document is None:
        return ""
    return render_to_string("ratings/_preview.html", {"preview": preview_context(collection, presented, document)})
