"""The page of one night: what it tells, its queries, and for one query both lists; and the answer to an alarm."""

from collections.abc import Mapping

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render

from ratings.models import Collection
from ratings.people.access import SignedInRequest, readers_page, record_act
from ratings.web.forms import errors_into
from ratings.web.pages import frame, paged
from ratings.words import counted

from ...models import Night, Verdict
from .. import acts, details, trend
from ..forms import AnswerForm, WantForm
from ..lookup import SECTION, night_of
from ..trend import ENDED

QUERIES_ON_PAGE = 50


@readers_page
def night(request: HttpRequest, collection: Collection, watch: int, pk: int) -> HttpResponse:
    return night_page(request, night_of(collection, watch, pk))


@readers_page
def night_query(request: HttpRequest, collection: Collection, watch: int, pk: int, query: int) -> HttpResponse:
    """What the search returned for a query in this night, beside a baseline and the night before."""
    night = night_of(collection, watch, pk)
    asked = get_object_or_404(collection.queries, pk=query)
    context = frame(collection, SECTION) | {"night": night, "watch": night.watch, "query": asked}
    context |= details.side_by_side(night, asked)
    return render(request, "evaluation/night_query.html", context)


@record_act
def answer_alarm(request: SignedInRequest, collection: Collection, watch: int, pk: int) -> HttpResponse:
    """Answer the alarm against one of the baselines."""
    night = night_of(collection, watch, pk)
    alarms = {verdict.baseline: verdict for verdict in night.watch.open_alarms()}
    verdict = alarms.get(request.POST.get("baseline", ""))
    # An open alarm is the last verdict of its kind, so it may be of a later night than this one.
    if verdict is None or verdict.night_id != night.pk:
        messages.info(request, "Somebody answered this alarm already.")
        return redirect("watch", collection.slug, watch)
    verdict.night = night  # the same one, which has its watch and collection already
    form = answer_form(verdict, request.POST)
    if form.is_valid():
        cleaned = form.cleaned_data
        with errors_into(form, "system"):
            acts.answer(verdict, cleaned["answer"], cleaned["reason"], request.user, cleaned["system"])
            return redirect("watch", collection.slug, watch)
    return night_page(request, night, answers={verdict.baseline: form})


@record_act
def ask_raters_of_night(request: HttpRequest, collection: Collection, watch: int, pk: int) -> HttpResponse:
    """Want ratings of what nobody judged and the night or a baseline returns: `acts.unjudged`."""
    night = night_of(collection, watch, pk)
    form = WantForm(request.POST)
    if not form.is_valid():
        return night_page(request, night, want=form)
    added = acts.ask_raters(night, form.cleaned_data["wanted"])
    sentence = f"{counted(added, 'rating')} newly wanted, for the night of {night.due_at:%Y-%m-%d}."
    messages.success(request, sentence)
    return redirect("night", collection.slug, watch, pk)


def answer_form(verdict: Verdict, data: QueryDict | None = None) -> AnswerForm:
    """The form of the answer to this alarm. A page can have two of them, whose fields have ids of their own."""
    return AnswerForm(data, auto_id=f"id_{verdict.baseline}_%s")


def night_page(
    request: HttpRequest,
    night: Night,
    *,
    answers: Mapping[str, AnswerForm] | None = None,
    want: WantForm | None = None,
) -> HttpResponse:
    """The page of a night, with status 400 where it shows a form again that was sent and is invalid.

    answers: the invalid forms that answer alarms, by kind of baseline; want: the invalid form that asks for
    ratings.
    """
    watch = night.watch
    point = trend.point_of(night)
    alarms = watch.open_alarms()
    alarms_tonight = [alarm for alarm in alarms if alarm.night_id == night.pk]
    ended_nights = watch.nights.filter(state__in=ENDED).only("pk")  # in the order of their times
    sent_forms = answers or {}
    context = {
        **frame(watch.collection, SECTION),
        "watch": watch,
        "night": night,
        "point": point,
        "sides": trend.sides(watch, point.verdicts),
        "answers": [(alarm, sent_forms.get(alarm.baseline) or answer_form(alarm)) for alarm in alarms_tonight],
        # An alarm is told again each night until somebody answers it, on the page of the last one. Its notice
        # leads to the first one. So this page also names the alarms of this night that a later one told last.
        "standing": [alarm for alarm in alarms if alarm not in alarms_tonight and is_of_path(alarm, point)],
        "want": want or WantForm(),
        # How many documents raters can be asked for.
        "unjudged": len(acts.unjudged(night)) if night.state == Night.State.TOLD else 0,
        "earlier": ended_nights.filter(due_at__lt=night.due_at).last(),
        "later": ended_nights.filter(due_at__gt=night.due_at).first(),
        **paged(request, details.rows(night, point), QUERIES_ON_PAGE),
    }
    return render(request, "evaluation/night.html", context, status=400 if answers or want else 200)


def is_of_path(alarm: Verdict, point: trend.Point) -> bool:
    """Whether the night told this alarm, too."""
    verdict = point.verdicts.get(alarm.baseline)
    return verdict is not None and verdict.kind == Verdict.Kind.WORSE and verdict.path == alarm.path
