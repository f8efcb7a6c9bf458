"""The pages of guidelines: the text, its versions, and the editor of admins."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from ...models import Collection, Guidelines, Rater, Role
from ...people.access import of_collection, of_rater, rater_in
from ...web.language import in_english
from ...web.pages import frame, wants_json
from ..guidelines import versions as acts
from ..guidelines.changes import changes
from ..guidelines.forms import GuidelinesForm
from ..guidelines.markdown import rendered
from ..guidelines.template import first_text


@require_safe
@of_collection()
def guidelines(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The page of the latest version. A rater also sees the changes since the version that they read."""
    latest = collection.latest_guidelines()
    context = base_context(collection) | {"guidelines": latest}
    if latest:
        context["html"] = rendered(latest.text, context["scale"])
    if latest and collection.role == Role.RATER:
        version_read = rater_in(request, collection.slug).guidelines_read
        context["unread"] = version_read < latest.version
        if context["unread"] and (earlier := collection.guidelines.filter(version=version_read).first()):
            context |= {"since": earlier, "changes": changes(earlier.text, latest.text)}
    return render(request, "ratings/guidelines.html", context)


@require_POST
@of_rater
def read_guidelines(request: HttpRequest, rater: Rater) -> HttpResponse:
    """Record that the rater has seen the version in the form. A script gets 204 and no page."""
    version = request.POST.get("version", "")
    if not version.isdecimal() or len(version) > 9:
        raise Http404("No such version.")
    acts.mark_read(rater, int(version))
    return HttpResponse(status=204) if wants_json(request) else redirect("rate", rater.collection.slug)


@require_safe
@of_collection()
def guidelines_versions(request: HttpRequest, collection: Collection) -> HttpResponse:
    """All versions, the latest first."""
    context = base_context(collection) | {"versions": collection.guidelines.defer("text")}
    return render(request, "ratings/guidelines_versions.html", context)


@require_safe
@of_collection()
def guidelines_version(request: HttpRequest, collection: Collection, version: int) -> HttpResponse:
    """The page of one version, with its changes from the one before."""
    shown = get_object_or_404(Guidelines, collection=collection, version=version)
    in_order = collection.guidelines.order_by("version")
    earlier = in_order.filter(version__lt=version).last()
    context = base_context(collection) | {
        "guidelines": shown,
        "html": rendered(shown.text, collection.grades.all()),
        "since": earlier,  # the version before; None for the first one
        "changes": changes(earlier.text, shown.text) if earlier else [],
        "later": in_order.filter(version__gt=version).values_list("version", flat=True).first(),
    }
    return render(request, "ratings/guidelines_version.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@of_collection(Role.ADMIN)
def edit_guidelines(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The form for a new version. A POST saves it, or with `preview` only shows it as raters would see it."""
    latest = collection.latest_guidelines()
    if request.method != "POST":
        text = latest.text if latest else first_text(collection.grades.all())
        form = GuidelinesForm(initial={"text": text, "base": latest.version if latest else 0})
        return editor(request, collection, form)
    form = GuidelinesForm(request.POST)
    if not form.is_valid():
        return editor(request, collection, form)
    if "preview" in request.POST:
        return editor(request, collection, form, preview=form.cleaned_data["text"])
    try:
        written = acts.publish(collection, **form.cleaned_data)
    except acts.Outdated as outdated:
        return editor(request, collection, form, outdated=outdated.current)
    except acts.Unchanged:
        messages.info(request, "Nothing was changed, so there is no new version.")
    else:
        messages.success(request, f"Version {written.version} is saved. Raters are told that it changed.")
    return redirect("guidelines", collection.slug)


def editor(
    request: HttpRequest,
    collection: Collection,
    form: GuidelinesForm,
    *,
    preview: str = "",
    outdated: Guidelines | None = None,
) -> HttpResponse:
    """The page with the form. `preview`: a text to show as HTML; "": none.

    `outdated`: a version that somebody saved meanwhile, on which the next save is based; None: nobody did.
    """
    context = base_context(collection) | {"form": form, "outdated": outdated}
    if preview:
        latest = collection.latest_guidelines()
        context["preview"] = rendered(preview, context["scale"])
        context["changes"] = changes(latest.text, preview) if latest else []
    if outdated:
        # The box keeps the sent text; the page shows what it would change of the other version.
        sent = form.cleaned_data["text"]
        context["form"] = GuidelinesForm(initial={"text": sent, "base": outdated.version})
        context["changes"] = changes(outdated.text, sent)
        return render(request, "ratings/guidelines_edit.html", context, status=409)
    return render(request, "ratings/guidelines_edit.html", context, status=400 if form.errors else 200)


def base_context(collection: Collection) -> dict:
    if collection.role != Role.RATER:
        in_english()
    return {**frame(collection, "guidelines"), "scale": list(collection.grades.all())}
