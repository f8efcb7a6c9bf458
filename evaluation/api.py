"""The API of results: evaluations, comparisons and judgments, with the same digits as pages and commands."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, time
from typing import Annotated, Any, Literal

from django.http import HttpResponse
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from ratings.api.access import TokenRequest, collection_in
from ratings.api.shapes import Number, OfPage, Page, Sent, SystemName, Whole, page_of, text
from ratings.formats.source import Source
from ratings.importing.intake.runs import RunReading
from ratings.models import Collection, Scope
from ratings.web.downloads import made_in_turn
from ratings.web.problems import Problem
from ratings.words import as_sentence

from . import record, scores
from .comparing import gate_reports
from .comparing.gate import ALPHA, MARGIN, gate_of
from .measures import PROFILES, Measure, Rankings
from .measures.options import CHOICES
from .models import Watch
from .page import documents
from .page.address import MOST_BOUNDED
from .results import comparison, csv_and_json, machine_only
from .results.leader import MOST_COMPARED
from .results.trust import older_texts
from .scores import Asked
from .scores.asked import OF_ADJUDICATIONS, RULES
from .scores.expected import MOST_PAIRS, expected_means
from .watching import setting_up, telling, trend
from .watching.lookup import watch_of
from .watching.nights import night_of_system

MOST_DRAWS = 20_000  # permutations of the tests in one response
MOST_VALUES = 500_000  # queries x systems x measures in one response
# Of the reports of the gate, by format.
CONTENT_TYPES = {"json": "application/json", "markdown": "text/markdown", "junit": "application/xml"}
NOT_OPTIONS = ("measure", "profile")  # fields of WithOptions that are no options
BY_DEFAULT = "By default that of the collection, or"

router = Router()

Word = Annotated[str, text(200, least=1)]


class OfJudgments(Schema):
    rule: Literal[tuple(RULES)] | None = Field(
        None, description=f"Several ratings to one judgment. {BY_DEFAULT} mean."
    )
    adjudications: Literal[tuple(OF_ADJUDICATIONS)] | None = Field(
        None, description=f"Decisions above the ratings. {BY_DEFAULT} use."
    )


class WithOptions(Schema):
    """What to compute and by which options: those of the command `evaluate`."""

    measure: list[Word] = Field(
        [], max_length=20, description=f"Like nDCG@10, P(rel=2)@5, AP. {BY_DEFAULT} nDCG@10."
    )
    profile: Literal[tuple(PROFILES)] | None = Field(None, description=f"A set of options. {BY_DEFAULT} default.")
    gain: Word | None = Field(None, description="linear, exponential, exponential_signed or map:0=0,1=1,…")
    discount: Literal[tuple(CHOICES["discount"])] | None = None
    log_base: Word | None = Field(None, description="2, 10, e")
    ideal: Literal[tuple(CHOICES["ideal"])] | None = None
    unjudged: Word | None = Field(None, description="zero, condensed, require or a grade to assume")
    negatives: Literal[tuple(CHOICES["negatives"])] | None = None
    undefined: Literal[tuple(CHOICES["undefined"])] | None = None
    missing: Literal[tuple(CHOICES["missing"])] | None = None
    ties: Literal[tuple(CHOICES["ties"])] | None = None
    relevant_from: Word | None = Field(None, description="The least grade that is relevant.")

    @property
    def changes(self) -> dict[str, str]:
        """The options that are given instead of those of the profile, by name."""
        options = {name: getattr(self, name) for name in WithOptions.model_fields if name not in NOT_OPTIONS}
        return {name: value for name, value in options.items() if value is not None}


class How(OfJudgments, WithOptions):
    """What to compute from judgments by people: measures, options, how judgments are made, and further numbers."""

    bounds: bool = Field(False, description="Also what nDCG can still become once the pool is judged.")
    expected: bool = Field(
        False, description="Also what the means of nDCG@k are expected to be once everything is judged."
    )
    per_query: bool = Field(False, description="Every query, too.")


class OfEvaluation(How):
    system: list[SystemName] = Field([], max_length=100, description="Only these.")


class OfComparison(How):
    baseline: SystemName
    other: list[SystemName] = Field([], max_length=MOST_COMPARED, description="By default all others.")
    all_pairs: bool = Field(False, description="Every pair, by Tukey's HSD; else each with the baseline, by Holm.")
    draws: Whole = Field(comparison.DRAWS_ON_PAGES, ge=1, le=MOST_DRAWS, description="Of the randomisation tests.")


class OfGate(OfJudgments, WithOptions):
    release: SystemName = Field(description="The system to be released.")
    against: list[SystemName] = Field(
        [], max_length=MOST_COMPARED, description="Systems; by default the baselines that were chosen on pages."
    )
    margin: float = Field(MARGIN, ge=0, description="A smaller loss does not matter.")
    alpha: float = Field(ALPHA, gt=0, lt=0.5, description="Of all baselines together.")
    format: Literal["json", "markdown", "junit"] = Field("json", description="Markdown for a pull request.")


class PageOfJudgments(OfPage, OfJudgments):
    pass


class MadeBy(Schema):
    collection: str
    profile: str
    rule: str
    adjudications: str
    fingerprint: str = Field(description="The options in short, as they stand beside every number.")
    options: dict[str, Any]


class EvaluationOut(MadeBy):
    older_texts: int = Field(description="Ratings that count and were given to an older text of their document.")
    results: list[dict[str, Any]] = Field(
        description="For each system and measure: system, measure, fingerprint, mean, low and high (its 95 %"
        " interval), lowest and highest (with `bounds`), queries, undefined, why, judged (the judged share of what"
        " the measure looked at), and with `per_query` the value of every query and, as `why_per_query`, why it"
        " counts in no mean. With `expected` also expected,"
        " expected_low and expected_high (its 90 % interval for missing judgments), best (the chance to be the"
        " best system) and est (design, or model: without an interval; then `+machine` where grades of machines"
        " helped to predict, and `+triage` where rounds drew by them: `expected` names both). null: there is"
        " no value."
    )


class ComparisonOut(MadeBy):
    systems: list[str]
    alpha: float
    correction: str
    draws: int
    seed: int
    dropped: dict[str, Any]
    critical_difference: dict[str, Any]
    results: list[dict[str, Any]] = Field(
        description="For each measure and pair: baseline, system, difference, low, high, p, verdict, … With"
        " `per_query` also the difference on every query and, as `why_per_query`, why a query is left out. With"
        " `expected` also the expected difference, its 90 % interval for missing judgments, and est."
    )


class GateOut(MadeBy):
    verdict: Literal["worse", "not worse", "cannot tell"]
    needed: int | None = Field(description="About how many queries would decide.")
    unjudged: list[dict[str, Any]] = Field(
        description="For the release and each system compared with: how many `results` above the cutoff nobody"
        " judged, `of` how many, and the `path` of the page that asks raters for them."
    )
    anchors: list[dict[str, Any]] = Field(
        description="For each system compared with: verdict, `plain` and `expected` (unjudged documents at their"
        " expected gain) with difference, low, high (one-sided limits), queries, and the worst queries. A verdict"
        " holds in both readings."
    )


class JudgmentOut(Schema):
    query: str
    document: str
    grade: float


@router.get("/collections/{slug:slug}/evaluation", response=EvaluationOut, summary="What systems score")
@made_in_turn
def evaluate(request: TokenRequest, slug: str, asked: Query[OfEvaluation]):
    """The document of `evaluate --format json`, in the same digits."""
    collection = collection_in(request, slug, Scope.READ)
    result = evaluated(collection, asked, asked.system)
    return as_json(csv_and_json.document(result, asked.per_query, older_texts(collection)))


class OfMachines(Schema):
    collection: str
    profile: str
    machines: list[dict[str, Any]] = Field(
        description="For each machine that has a column of its own: judge, version, model, sha256, pairs, and"
        " results: for each system and measure the mean, its interval, queries, undefined, judged, and the"
        " fingerprint, which ends with est=machine."
    )


@router.get(
    "/collections/{slug:slug}/machine-only",
    response=OfMachines,
    summary="Machine only: the scores by a judge alone",
)
@made_in_turn
def evaluate_machine_only(request: TokenRequest, slug: str, asked: Query[WithOptions]):
    """No person has a part in these numbers. `machines` is empty unless a judge got a column from an admin."""
    collection = collection_in(request, slug, Scope.READ)
    options, other_measures = asked_of(collection, asked)
    refuse_too_many(collection.queries.count(), collection.systems.count(), 1 + len(other_measures))
    # A judge is a machine that grades pairs, such as a language model. An admin allows its column of scores.
    with refusing(asked):
        machines = machine_only.alone_of(collection, options, tuple(other_measures))
    return as_json(machine_only.document(collection, options, machines))


@router.get("/collections/{slug:slug}/comparison", response=ComparisonOut, summary="Whether a difference is real")
@made_in_turn
def compare(request: TokenRequest, slug: str, asked: Query[OfComparison]):
    """The document of `compare --format json`. A randomisation test has 2,000 draws by default."""
    collection = collection_in(request, slug, Scope.READ)
    # Without others, [] for all systems: the baseline is compared with each.
    result = evaluated(collection, asked, [asked.baseline, *asked.other] if asked.other else [])
    if len(result.systems) > MOST_COMPARED + 1:  # 1: the baseline
        message = f"{len(result.systems)} systems are too many to compare at once; name at most {MOST_COMPARED}."
        refuse(message, "other")
    # The parameter that a ValueError is about: an unknown baseline, or else the systems to compare it with.
    with refusing(asked, "other" if asked.baseline in result.systems else "baseline"):
        comparisons = comparison.compared(result, asked.baseline, asked.other, asked.all_pairs, asked.draws)
    return as_json(comparison.document(comparisons, asked.per_query))


@router.get("/collections/{slug:slug}/gate", response=GateOut, summary="Whether a release is worse")
@made_in_turn
def gate_release(request: TokenRequest, slug: str, asked: Query[OfGate]):
    """The report of the command `gate`. The header Idealist-Verdict has the verdict in each format."""
    return gate_report(request, collection_in(request, slug, Scope.READ), asked)


@router.post(
    "/collections/{slug:slug}/gate",
    response=GateOut,
    summary="Whether a release that is sent is worse",
    openapi_extra={"requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
@made_in_turn  # 503 while too many other files and reports are made
def gate_run(request: TokenRequest, slug: str, asked: Query[OfGate]):
    """The report of the command `gate` for the run of TREC in the body, in UTF-8. Nothing is imported."""
    collection = collection_in(request, slug, Scope.READ)
    if collection.systems.filter(name=asked.release).exists():
        refuse(f"{asked.release} is a system already. Give what you send another name, or ask by GET.", "release")
    # RunReading makes the checks of an import, and writes nothing.
    reading = RunReading(collection, [Source("the body", io.BytesIO(request.body))], system=asked.release)
    report = reading.run()
    if report.refused:
        errors = [{"detail": refusal.message()} for refusal in report.refusals]
        raise Problem(422, f"{report.to_correct} in the run.", kind="refused", errors=errors)
    queries = record.queries_of(collection)
    return gate_report(request, collection, asked, record.rankings_of_run(collection, queries, reading.found))


def gate_report(
    request: TokenRequest, collection: Collection, asked: OfGate, rankings: Rankings | None = None
) -> HttpResponse:
    """The report of the gate, whether a release is worse than systems by more than a margin. Raises Problem.

    The report is in the asked format, and the verdict is a header, too. rankings: those of the release if they
    were sent; None if it is a system of the collection.
    """
    # Systems: the release and those that it is compared with.
    refuse_too_many(collection.queries.count(), systems=1 + len(asked.against), measures=1)
    # `options` has the first measure, too: see `Asked`.
    options, other_measures = asked_of(collection, asked)
    if other_measures:
        refuse("a gate has one measure.", "measure")
    with refusing(asked, "release"):
        gate = gate_of(
            collection, options, asked.release, asked.against, asked.margin, asked.alpha, MOST_PAIRS, rankings
        )
    site = request.build_absolute_uri("/").rstrip("/")
    text = gate_reports.FORMATS[asked.format](gate, site)
    headers = {"Idealist-Verdict": gate["verdict"].replace(" ", "-")}
    return HttpResponse(text, content_type=f"{CONTENT_TYPES[asked.format]}; charset=utf-8", headers=headers)


class VerdictOut(Schema):
    baseline: Literal["fixed", "release"]
    system: str
    verdict: Literal["worse", "not worse", "cannot tell", "judgments"]
    difference: float | None
    low: float | None = Field(description="One-sided 95 % limits of this night alone.")
    high: float | None
    queries: int
    expected: float | None = Field(description="The difference with unjudged documents at their expected gain.")
    at_best: float | None = Field(description="In its place: with the judgments that are best for the night.")
    unjudged: int = Field(description="Unjudged documents that decide.")
    is_minority: bool = Field(description="Whether fewer than half of the queries asked for count.")
    p: float | None = Field(description="Of the test of all nights so far; null where nothing was tested.")
    spent: float = Field(description="Of the chance of a false alarm.")
    answer: str


class NightOut(Schema):
    night: datetime
    state: Literal["asking", "told", "gap", "fetched"] = Field(
        description="asking: a worker asks the engine. fetched: to be told after nights before it."
    )
    problem: str
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    judged: float | None = None
    queries: int | None = None
    gaps: int | None = None
    label: str | None = Field(None, description="The measure and its options.")
    judgments: int | None = None
    judgments_version: str | None = Field(None, description="Equal for nights with the same judgments.")
    changed: list[str] = Field(description="Besides the search, since the night before.")
    verdicts: list[VerdictOut]


class WatchFields(Sent):
    """What can be said of a watch. Whatever is left out stays as it is, or at first as the page proposes it."""

    engine: Annotated[str, text(100)] | None = Field(
        None, description="One that is connected, by its name. Empty: none, and each night names a system."
    )
    depth: int | None = Field(None, ge=1, le=1_000, description="Results of each query.")
    at: Annotated[str, text(5)] | None = Field(None, description="The time of day, such as 03:00.")
    days: list[Annotated[int, Field(ge=0, le=6)]] | None = Field(None, description="Of the week, 0 for Monday.")
    zone: Annotated[str, text(50)] | None = Field(None, description="Such as Europe/Berlin.")
    holiday_until: Annotated[str, text(10)] | None = Field(
        None, description="The last day without a night, such as 2026-08-31. Empty: none."
    )
    tag: Annotated[str, text(100)] | None = Field(None, description="Only queries with this tag. Empty: all.")
    measure: Word | None = Field(None, description="Such as nDCG@10. A higher value must be better.")
    options: Annotated[str, text(300)] | None = Field(
        None, description="With blanks between: gain=exponential unjudged=condensed. Empty: the usual ones."
    )
    margin: Number | None = Field(None, description="A smaller loss of the mean does not matter.")
    budget: Number | None = Field(None, description="The chance of a false alarm in a year.")
    keep_days: int | None = Field(None, ge=0, le=30_000, description="How long nights are kept.")
    paused: bool | None = None


class WatchIn(WatchFields):
    name: Annotated[str, text(100, least=1)]


class WatchChanges(WatchFields):
    name: Annotated[str, text(100, least=1)] | None = None


class WatchOut(Schema):
    id: int
    watch: str
    engine: str | None
    paused: bool
    next_at: datetime | None
    depth: int
    at: time | None
    days: list[int]
    zone: str
    holiday_until: date | None
    tag: str
    asked: dict[str, str] = Field(description="The measure and all options.")
    margin: float
    budget: float
    keep_days: int
    alarms: list[str] = Field(description="The systems than which it is worse, until somebody answers.")


class WatchWithNights(WatchOut):
    nights: list[NightOut] = Field(description="The last one first.")


class NightIn(Sent):
    system: SystemName | None = Field(
        None, description="A system whose rankings are those of this night. Without one the engine is asked."
    )


@router.get("/collections/{slug:slug}/watches", response=list[WatchOut], summary="Watches")
def list_watches(request: TokenRequest, slug: str):
    """The watches of the collection, and the alarms that stand."""
    collection = collection_in(request, slug, Scope.READ)
    return [watch_out(watch) for watch in collection.watches.select_related("engine")]


@router.get("/collections/{slug:slug}/watches/{int:watch}", response=WatchWithNights, summary="One watch")
def get_watch(request: TokenRequest, slug: str, watch: int, limit: Annotated[int, Query(ge=1, le=1_000)] = 31):
    """The watch and its last nights, as they were told."""
    found = watch_of(collection_in(request, slug, Scope.READ), watch)
    nights = trend.document(found, trend.points(found))["nights"][::-1]
    return watch_out(found) | {"nights": nights[:limit]}


@router.post("/collections/{slug:slug}/watches", response={201: WatchOut}, tags=["import"], summary="Make a watch")
def make_watch(request: TokenRequest, slug: str, sent: WatchIn):
    """By the rules of its page."""
    watch = setting_up.blank(collection_to_change(request, slug), request.auth.user)
    return watch_out(set_up(watch, sent))


@router.patch(
    "/collections/{slug:slug}/watches/{int:watch}", response=WatchOut, tags=["import"], summary="Change a watch"
)
def change_watch(request: TokenRequest, slug: str, watch: int, sent: WatchChanges):
    """Change what is sent, or pause the watch. Another measure, option or margin begins a new path of nights."""
    return watch_out(set_up(watch_of(collection_to_change(request, slug), watch), sent))


@router.delete(
    "/collections/{slug:slug}/watches/{int:watch}",
    response={204: None},
    tags=["import"],
    summary="Remove a watch",
)
def remove_watch(request: TokenRequest, slug: str, watch: int):
    """Remove it with its nights. Documents that they brought stay."""
    setting_up.remove(watch_of(collection_to_change(request, slug), watch))


@router.post(
    "/collections/{slug:slug}/watches/{int:watch}/nights", response=NightOut, tags=["import"], summary="A night"
)
def add_night(request: TokenRequest, slug: str, watch: int, sent: NightIn):
    """A night now: from the rankings of a system that was imported, or of the engine, which a worker then asks.

    A night is one look at the search of the watch. To tell it is to score it and to store its scores and verdicts.
    That of a system is told at once or, where a night before it is not over, later by a worker.
    """
    found = watch_of(collection_to_change(request, slug), watch)
    try:
        night = night_of_system(found, sent.system, timezone.now()) if sent.system else setting_up.run(found)
    except ValueError as error:
        refuse(as_sentence(error), "system")  # the one parameter there is, given or left out
    if sent.system:
        telling.tell(night)
        night.refresh_from_db()
    return trend.as_json(trend.point_of(night))


def collection_to_change(request: TokenRequest, slug: str) -> Collection:
    """The collection, whose watches the caller may change. Raises Problem."""
    collection = collection_in(request, slug, Scope.IMPORT)
    if collection.put_away_at:
        raise Problem(422, f"{slug} is put away. Take it out again on its page Collection.", kind="refused")
    return collection


def set_up(watch: Watch, sent: WatchFields) -> Watch:
    """Store the watch with what was sent. Raises Problem."""
    try:
        return setting_up.set_up(watch, sent.model_dump(exclude_none=True))
    except setting_up.Invalid as error:
        errors = [{"pointer": f"/{field}", "detail": sentence} for field, sentence in error.errors]
        raise Problem(422, "The watch cannot be like this.", kind="invalid", errors=errors) from error


def watch_out(watch: Watch) -> dict[str, Any]:
    """The members of WatchOut."""
    names = WatchOut.model_fields.keys() - {"id", "watch", "engine", "alarms"}
    alarms = [verdict.name for verdict in watch.open_alarms()]
    engine = watch.engine.name if watch.engine else None
    facts = {name: getattr(watch, name) for name in names}
    return facts | {"id": watch.pk, "watch": watch.name, "engine": engine, "alarms": alarms}


@router.get("/collections/{slug:slug}/judgments", response=Page[JudgmentOut], summary="Judgments")
def list_judgments(request: TokenRequest, slug: str, asked: Query[PageOfJudgments]):
    """The one grade of each pair: by the rule from its ratings, or by adjudication."""
    collection = collection_in(request, slug, Scope.READ)
    data = record.load(collection, systems=())
    with refusing(asked):
        options = Asked.of(collection, rule=asked.rule, adjudications=asked.adjudications)
        judgments = options.source.judgments(data)
    # By the number of a query in `judgments`. Documents have their pk as number.
    pks, keys = data.queries["pk"].tolist(), data.queries["key"].tolist()
    rows = zip(judgments.query.tolist(), judgments.document.tolist(), judgments.grade.tolist(), strict=True)
    # Before each row stands its place, by which pages are ordered: the pks of query and document.
    with_places = (((pks[query], document), (keys[query], document, grade)) for query, document, grade in rows)
    page = page_of(with_places, asked)
    # The keys of documents are read for this page alone.
    document_keys = record.document_keys({document for _, document, _ in page["items"]})
    page["items"] = [
        {"query": query_key, "document": document_keys[document], "grade": grade}
        for query_key, document, grade in page["items"]
    ]
    return page


def asked_of(
    collection: Collection, asked: WithOptions, systems: Sequence[str] = ()
) -> tuple[Asked, list[Measure]]:
    """What the request asks, and the measures beside. Raises Problem for texts without a meaning here."""
    of_judgments = {name: getattr(asked, name) for name in OfJudgments.model_fields if hasattr(asked, name)}
    with refusing(asked, "measure"):
        first, others = next(iter(asked.measure), None), asked.measure[1:]
        options = Asked.of(
            collection, measure=first, profile=asked.profile, systems=systems, **of_judgments, **asked.changes
        )
        return options, [scores.measure_for(collection, text) for text in others]


def refuse_too_many(queries: int, systems: int, measures: int) -> None:
    """Raises Problem for more than MOST_VALUES values."""
    values = queries * measures * systems
    if values > MOST_VALUES:
        refuse(f"that would be {values:,} values; ask for at most {MOST_VALUES:,}: fewer systems or measures.")


def evaluated(collection: Collection, asked: How, systems: Sequence[str]) -> scores.Evaluation:
    """The evaluation. Raises Problem for options without a meaning in the collection, and for too many values.

    systems: the names of those to evaluate; [] for all.
    """
    options, other_measures = asked_of(collection, asked, systems)
    queries, all_systems = collection.queries.count(), collection.systems.count()
    refuse_too_many(queries, len(systems) or all_systems, 1 + len(other_measures))
    measures = [options.measure, *other_measures] if asked.bounds else []
    bounded = list(filter(scores.has_bounds, measures))
    for measure in bounded:
        # The bounds depend on the unjudged documents of all systems, whichever are asked.
        if measure.cutoff is None or queries * all_systems * measure.cutoff > MOST_BOUNDED:
            refuse(f"the bounds of {measure} take too long here; `evaluate --bounds` computes them.", "bounds")
    with refusing(asked):
        result = scores.evaluate(collection, options, other_measures, bounded)
    if not asked.expected:
        return result
    with refusing(asked, "expected"):
        return replace(result, expected=expected_means(collection, options, result.measures, MOST_PAIRS))


@contextmanager
def refusing(asked: Schema, parameter: str = "") -> Iterator[None]:
    """Raises Problem for a ValueError: about the option that it carries, or else about this parameter."""
    try:
        yield
    except ValueError as error:
        option = getattr(error, "option", "")
        refuse(error, option if option in type(asked).model_fields else parameter)


def refuse(error: object, parameter: str = "") -> None:
    """Raises Problem with the message that the command would print."""
    errors = [{"parameter": parameter, "detail": str(error)}] if parameter else []
    raise Problem(422, str(error), kind="no-answer", errors=errors)


def as_json(document: dict) -> HttpResponse:
    """The response with the document as JSON, with the same bytes as the command prints."""
    return HttpResponse(documents.as_text(document), content_type="application/json; charset=utf-8")
