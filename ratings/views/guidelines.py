"""Guidelines: members read them, admins write new versions, everybody can see what changed."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from .. import guidelines as acts
from ..access import collection_for, rater_for, wants_json
from ..changes import changes
from ..forms import GuidelinesForm
from ..markdown import rendered
from ..models import Collection, Guidelines, Role


@require_safe
@never_cache
def guidelines(request: HttpRequest, slug: str) -> HttpResponse:
    """The latest version; for a rater with what changed since they read the last one."""
    collection = collection_for(request, slug)
    latest = collection.latest_guidelines()
    context = page(collection) | {"guidelines": latest}
    if latest:
        context["html"] = rendered(latest.text, context["scale"])
    if collection.role == Role.RATER and latest:
        read = rater_for(request, collection).guidelines_read
        context["unread"] = read < latest.version
        earlier = collection.guidelines.filter(version=read).first() if context["unread"] else None
        if earlier:
            context |= {"since": earlier, "changes": changes(earlier.text, latest.text)}
    return render(request, "ratings/guidelines.html", context)


@require_POST
def read_guidelines(request: HttpRequest, slug: str) -> HttpResponse:
    """The rater has the version before them that the form names. A script gets no page back, only 204."""
    collection = collection_for(request, slug, Role.RATER)
    version = request.POST.get("version", "")
    if not version.isdecimal() or len(version) > 9:
        raise Http404("No such version.")
    acts.mark_read(rater_for(request, collection), int(version))
    return HttpResponse(status=204) if wants_json(request) else redirect("rate", slug)


@require_safe
@never_cache
def guidelines_versions(request: HttpRequest, slug: str) -> HttpResponse:
    """All versions, the latest first."""
    collection = collection_for(request, slug)
    context = page(collection) | {"versions": collection.guidelines.defer("text")}
    return render(request, "ratings/guidelines_versions.html", context)


@require_safe
@never_cache
def guidelines_version(request: HttpRequest, slug: str, version: int) -> HttpResponse:
    """One version as it was, and what it changed of the one before."""
    collection = collection_for(request, slug)
    written = get_object_or_404(Guidelines, collection=collection, version=version)
    numbers = collection.guidelines.order_by("version")
    earlier = numbers.filter(version__lt=version).last()
    context = page(collection) | {
        "guidelines": written,
        "html": rendered(written.text, collection.grades.all()),
        "since": earlier,
        "changes": changes(earlier.text, written.text) if earlier else [],
        "later": numbers.filter(version__gt=version).values_list("version", flat=True).first(),
    }
    return render(request, "ratings/guidelines_version.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def edit_guidelines(request: HttpRequest, slug: str) -> HttpResponse:
    """Write a new version. Preview shows it and saves nothing."""
    collection = collection_for(request, slug, Role.ADMIN)
    latest = collection.latest_guidelines()
    if request.method != "POST":
        base, text = (latest.version, latest.text) if latest else (0, first_text(collection))
        return editor(request, collection, GuidelinesForm(initial={"text": text, "base": base}))
    form = GuidelinesForm(request.POST)
    if not form.is_valid():
        return editor(request, collection, form, status=400)
    if "preview" in request.POST:
        return editor(request, collection, form, preview=form.cleaned_data["text"])
    try:
        written = acts.publish(collection, **form.cleaned_data)
    except acts.Outdated as outdated:
        return editor(request, collection, form, outdated=outdated.current, status=409)
    except acts.Unchanged:
        messages.info(request, "Nothing was changed, so there is no new version.")
    else:
        messages.success(request, f"Version {written.version} is saved. Raters are told that it changed.")
    return redirect("guidelines", slug)


def editor(
    request: HttpRequest,
    collection: Collection,
    form: GuidelinesForm,
    *,
    preview: str = "",
    outdated: Guidelines | None = None,
    status: int = 200,
) -> HttpResponse:
    """The form; `outdated` is what somebody else saved meanwhile, on which the next save builds."""
    context = page(collection) | {"form": form, "outdated": outdated}
    if preview:
        latest = collection.latest_guidelines()
        context["preview"] = rendered(preview, context["scale"])
        context["changes"] = changes(latest.text, preview) if latest else []
    if outdated:
        # The text in the box is still theirs; what it would undo of the other version is shown.
        sent = form.cleaned_data["text"]
        context["form"] = GuidelinesForm(initial={"text": sent, "base": outdated.version})
        context["changes"] = changes(outdated.text, sent)
    return render(request, "ratings/guidelines_edit.html", context, status=status)


def first_text(collection: Collection) -> str:
    """Something to begin with: a heading for each grade, the best first."""
    grades = reversed(collection.grades.all())
    parts = [f"## {grade.plain} {grade.label}".rstrip() + f"\n\n{grade.meaning}".rstrip() for grade in grades]
    return "\n\n".join(["# How to grade", *parts]) + "\n"


def page(collection: Collection) -> dict:
    return {
        "collection": collection,
        "role": collection.role,
        "section": "guidelines",
        "scale": list(collection.grades.all()),
    }
