"""The pages of search engines: connect one, see an answer, choose places in it, fetch a system."""

import json
from threading import Semaphore
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.db import transaction
from django.db.models import QuerySet
from django.forms import Form
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from ...models import AllowedHost, Collection, Engine, Job, System, hosts_allowed_for
from ...models.allowed_host import host_in, is_public_name
from ...people.access import SignedInRequest, admin_page, record_act, superuser_for
from ...people.audit import Act, note
from ...web.pages import frame, paged
from ...words import as_sentence
from .. import jobs
from ..job_pages import job_context, no_worker_warning
from ..pull import Limits, allowing, turns
from ..pull.answers import first_result, guessed, pictures_in
from ..pull.dialects import PRESETS, read_answer, target
from ..pull.engines import SECONDS, connection_to, dialect_of, proposed, why_closed
from ..pull.forms import AskForm, EngineForm, FetchForm, PlacesForm

ROWS_PER_PAGE = FETCHES_SHOWN = 50
HITS_SHOWN = 5  # of the last answer
DEPTH_OF_TEST = 10  # results of the query that shows an answer
SECTION = "imports"
LARGEST_ANSWER = 1_600_000  # bytes of the answer that is kept to choose places from
ENGINES = AllowedHost.Purpose.ENGINES

# Whoever asks waits for the engine. More at a time could hold all threads of the server.
_turns = Semaphore(2)


@admin_page
def engines(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The engines of the collection, and kinds to connect."""
    context = {
        **frame(collection, SECTION),
        "engines": collection.engines.all(),
        "dialects": Engine.Dialect.choices,
        # Hosts, in all collections: only superusers manage them.
        "allowed": AllowedHost.objects.filter(purpose=ENGINES) if request.user.is_superuser else [],
        **paged(request, fetches_of(collection), ROWS_PER_PAGE),  # "page" of the fetches, "numbers" of its pages
        "no_worker": no_worker_warning(),
    }
    return render(request, "ratings/engines.html", context)


@admin_page
def connect(request: SignedInRequest, collection: Collection) -> HttpResponse:
    """The form for an engine of the kind that the address names."""
    engine = proposed(dialect_in(request.GET))
    return form_page(request, collection, EngineForm(instance=engine, by=request.user))


@record_act
@transaction.atomic
def make_engine(request: SignedInRequest, collection: Collection) -> HttpResponse:
    engine = proposed(dialect_in(request.POST))
    engine.collection = collection
    return saved(request, engine)


@admin_page
def engine(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    return engine_page(request, engine_of(collection, pk))


@admin_page
def change_engine(request: SignedInRequest, collection: Collection, pk: int) -> HttpResponse:
    engine = engine_of(collection, pk)
    return form_page(request, collection, EngineForm(instance=engine, by=request.user))


@record_act
@transaction.atomic
def save_engine(request: SignedInRequest, collection: Collection, pk: int) -> HttpResponse:
    """Change how the engine is asked. One with a key is changed by superusers alone: they choose where keys go."""
    engine = engine_of(collection, pk)
    if engine.secret and not request.user.is_superuser:
        messages.error(request, "This engine has a key, so only a superuser changes how it is asked.")
        return redirect("engine", collection.slug, pk)
    return saved(request, engine)


@record_act
def allow_engine(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Allow the host of the engine: the one that was seen, since admins change addresses. Only superusers may."""
    superuser_for(request)
    host = host_in(engine_of(collection, pk).address)
    if request.POST.get("host") == host:
        allowing.allow_for(request, host, ENGINES)
    else:
        messages.error(request, "The address was changed meanwhile. Look at it again.")
    return redirect("engine", collection.slug, pk)


@record_act
def ask_engine(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Send one query and keep the answer, so that places can be chosen in it."""
    engine = engine_of(collection, pk)
    form = AskForm(request.POST)
    if not form.is_valid():
        return engine_page(request, engine, ask=form)
    query = form.cleaned_data["query"]
    try:
        answer = answer_to(engine, query)
    except ValueError as error:
        form.add_error("query", as_sentence(error))
        return engine_page(request, engine, ask=form)
    is_first = not engine.answer  # the engine has no answer yet, and nobody chose places
    engine.answer = json.dumps(answer, ensure_ascii=False)
    engine.answered = query  # the text of the query that `answer` answers
    if "problem" in preview(engine):
        # The paths of the engine do not fit this answer: it gets those that are guessed from it.
        for role, path in guessed(answer, dialect_of(engine)).items():
            setattr(engine, f"{role}_at", path)
    if is_first:  # pictures are proposed as fields to keep
        engine.more_at = pictures_in(first_result(answer, engine.results_at))
    engine.save()
    return redirect("engine", collection.slug, pk)


@record_act
def place_engine(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Keep the places that were chosen."""
    engine = engine_of(collection, pk)
    if not engine.answer:
        return redirect("engine", collection.slug, pk)
    form = PlacesForm(request.POST, engine=engine, answer=json.loads(engine.answer))
    if not form.is_valid():
        return engine_page(request, engine, places=form)
    form.save()
    return redirect("engine", collection.slug, pk)


@record_act
@transaction.atomic
def replace_texts(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Let texts of the engine replace those of files from now on, or let these stay."""
    engine = engine_of(collection, pk)
    engine.replaces_texts = request.POST.get("replaces") == "1"
    engine.save(update_fields=["replaces_texts"])
    note(Act.ENGINE, collection, about=engine, replaces_texts=engine.replaces_texts)
    return redirect(f"{reverse('engine', args=[collection.slug, pk])}#texts")


@record_act
@transaction.atomic
def remove_engine(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    engine = engine_of(collection, pk)
    engine.delete()
    note(Act.ENGINE_REMOVED, collection, about=engine)
    messages.success(request, f"{engine} is removed. What was fetched from it stays.")
    return redirect("engines", collection.slug)


@record_act
def fetch_engine(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Queue a job that asks for all queries."""
    engine = engine_of(collection, pk)
    form = FetchForm(request.POST, engine=engine)
    if not form.is_valid():
        return engine_page(request, engine, fetch=form)
    job = jobs.fetch_system(engine, form.options, request.user)
    return redirect("fetch", collection.slug, job.pk)


@admin_page
def fetch(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """A system that is fetched or was."""
    job = fetch_of(collection, pk)
    system = System.objects.filter(collection=collection, name=job.options["system"]).first()
    context = {
        **frame(collection, SECTION),
        **job_context(job, doing="Fetching", done="Fetched"),
        "system": system,
        "engine": Engine.objects.filter(collection=collection, pk=job.options["engine"]).first(),
        # Queries without a ranking of the system, which can be asked for again.
        "remaining": turns.to_ask(collection, job.options["system"]).count() if system else 0,
    }
    return render(request, "ratings/fetch.html", context)


@record_act
def stop_fetch(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Ask for no more queries. What was answered is imported."""
    job = fetch_of(collection, pk)
    open_jobs = Job.objects.filter(pk=pk, state__in=[Job.State.QUEUED, Job.State.RUNNING])
    if open_jobs.update(options=job.options | {"enough": True}):
        messages.success(request, "No more queries are asked. What was answered is imported in a moment.")
    return redirect("fetch", collection.slug, pk)


def dialect_in(sent: QueryDict) -> str:
    """The kind of engine that was chosen; without a known one, that of any engine."""
    dialect = sent.get("dialect", "")
    return dialect if dialect in PRESETS else Engine.Dialect.JSON


def saved(request: SignedInRequest, engine: Engine) -> HttpResponse:
    """The answer to the form of an engine: its page, once it is stored, or the form with its errors."""
    collection = engine.collection
    form = EngineForm(request.POST, instance=engine, by=request.user)
    if not form.is_valid():
        return form_page(request, collection, form)
    form.save()
    note(Act.ENGINE, collection, about=engine, host=host_in(engine.address))
    return redirect("engine", collection.slug, engine.pk)


def form_page(request: HttpRequest, collection: Collection, form: EngineForm) -> HttpResponse:
    context = {**frame(collection, SECTION), "form": form, "engine": form.instance}
    return render(request, "ratings/engine_form.html", context, status=400 if form.errors else 200)


def engine_page(request: HttpRequest, engine: Engine, **forms: Form) -> HttpResponse:
    """The page of an engine. `forms`: those that were sent and are invalid, as ask, places or fetch.

    Without an answer of the engine, the page has no places to choose and nothing to fetch.
    """
    collection = engine.collection
    first_query = collection.queries.order_by("pk").first()
    # `answered` is the text of the query to which `answer` is the answer.
    query = engine.answered or (first_query.text if first_query else "")
    answer = json.loads(engine.answer) if engine.answer else None
    host = host_in(engine.address)
    context = {
        **frame(collection, SECTION),
        "engine": engine,
        "why_closed": why_closed(engine),
        "host": host,
        # By a superuser, in all collections.
        "can_be_allowed": host not in hosts_allowed_for(ENGINES) and is_public_name(host),
        "request_line": request_line(engine, query),
        "ask": forms.get("ask") or AskForm(initial={"query": query}),
        "queries": collection.queries.count(),
        "fetches": fetches_of(collection).filter(options__engine=engine.pk)[:FETCHES_SHOWN],
    }
    if answer is not None:
        context["places"] = forms.get("places") or PlacesForm(engine=engine, answer=answer)
        context["raw"] = json.dumps(answer, ensure_ascii=False, indent=2)
        context |= preview(engine)  # hits and pictures, or problem
        context["fetch"] = forms.get("fetch") or FetchForm(engine=engine, initial={"system": free_name(engine)})
    return render(request, "ratings/engine.html", context, status=400 if forms else 200)


def preview(engine: Engine) -> dict:
    """The first `hits` of the last answer with the fields that are `pictures`, or the `problem` of its places."""
    if not (engine.results_at and engine.id_at):
        return {"problem": "Choose where the results are, and where each has its id."}
    try:
        hits = dialect_of(engine).read(engine.answer.encode(), HITS_SHOWN)
        return {"hits": hits, "pictures": {name for hit in hits for name in pictures_in(hit.fields)}}
    except ValueError as error:
        return {"problem": as_sentence(error)}


def answer_to(engine: Engine, query: str) -> Any:
    """The JSON of the answer to a query. Raises ValueError, also while others ask."""
    if not _turns.acquire(blocking=False):
        raise ValueError("Others ask engines at this moment. Try again in some seconds")
    try:
        parameters: dict[str, str | int] = {"query": query, "need": "", "key": "", "depth": DEPTH_OF_TEST}
        once = Limits(seconds=SECONDS, bytes=LARGEST_ANSWER, total_seconds=SECONDS, tries=1)
        return read_answer(connection_to(engine).answer(parameters, once))
    finally:
        _turns.release()


def request_line(engine: Engine, query: str) -> str:
    """The method and address of a request for this query."""
    parts = urlsplit(engine.address)
    parameters: dict[str, str | int] = {"query": query, "key": "q1", "need": "", "depth": DEPTH_OF_TEST}
    method = "POST" if engine.body else "GET"
    return f"{method} {parts.scheme}://{parts.netloc}{target(parts.path or '/', parts.query, parameters)}"


def free_name(engine: Engine) -> str:
    """A name for the next system that no system has."""
    names = set(engine.collection.systems.values_list("name", flat=True))
    numbered = (f"{engine.name} {number}" for number in range(2, len(names) + 3))
    return next(name for name in [engine.name, *numbered] if name not in names)


def engine_of(collection: Collection, pk: int) -> Engine:
    """The engine, whose collection is this one: it knows the role of the user."""
    return get_object_or_404(collection.engines, pk=pk)


def fetches_of(collection: Collection) -> QuerySet[Job]:
    return collection.jobs.filter(kind=Job.Kind.ENGINE).select_related("by")


def fetch_of(collection: Collection, pk: int) -> Job:
    return get_object_or_404(fetches_of(collection), pk=pk)
