"""What Idealist knows of a run, in the names of ir_metadata.

A file that somebody sent does not say who made it, on which platform and how: nothing is guessed. Of a run that
Idealist fetched itself it knows the engine, who fetched it and when.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Any

from django.conf import settings
from django.db.models import Max

from ..formats import ir_metadata
from ..formats.values import BLANK
from ..models import Engine, Job, System
from ..people.names import shown

FETCHING_KINDS = (Job.Kind.ENGINE, Job.Kind.NIGHT)
METADATA_PLACES = ("comments", "file")


def with_metadata(run: Iterable[str | bytes], system: System, how: str) -> Iterable[str | bytes]:
    """The run with the facts as comments before it, or the facts alone in place of it; "": the run as it is."""
    if how == "file":
        return ir_metadata.as_yaml(facts_of(system))
    return chain(ir_metadata.as_comments(facts_of(system)), run) if how == "comments" else run


def facts_of(system: System) -> dict[str, Any]:
    """The metadata of the run of a system, as nested names and values of ir_metadata. Five database queries."""
    collection = system.collection
    facts: dict[str, Any] = {"tag": system.name.replace(" ", BLANK)}  # as `formats.trec.write_run` writes it
    if system.description:
        facts["method"] = {"description": system.description}
    jobs = Job.objects.filter(pk__in=system.rankings.values("job"))  # those that stored its rankings
    fetching_job = jobs.filter(kind__in=FETCHING_KINDS).select_related("by").order_by("-pk").first()
    if fetching_job:
        facts |= _fetched(fetching_job)  # "implementation" and, if a person asked for it, "actor"
    facts["data"] = {"test collection": {"name": collection.name, "topics": collection.queries.count()}}
    facts["idealist"] = {
        "exported with": f"Idealist {settings.VERSION}",
        "collection": collection.slug,
        "rankings": system.rankings.count(),
    }
    if ended_at := jobs.aggregate(last=Max("ended_at"))["last"]:
        facts["idealist"]["fetched" if fetching_job else "imported"] = ended_at.isoformat(timespec="seconds")
    return facts


def _fetched(job: Job) -> dict[str, Any]:
    """What is known of a run that a job fetched: whom it asked, and for whom."""
    engine = Engine.objects.filter(pk=job.options.get("engine"), collection=job.collection_id).first()
    name = engine.name if engine else job.options.get("of", "")
    of_engine = {"name": name} | ({"software": engine.get_dialect_display()} if engine else {})
    of_job = {"depth": job.options["depth"]} if "depth" in job.options else {}
    actor = {"actor": {"name": shown(job.by)}} if job.by else {}
    return {"implementation": {"engine": of_engine | of_job}, **actor}
