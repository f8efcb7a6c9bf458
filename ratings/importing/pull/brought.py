"""Documents that engines bring: new ones are written, and texts of stored ones where those of the engine count."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from django.db.models import Max, QuerySet

from ...models import Document, Engine, EngineAnswer, FormerText, Job, Rating
from ...words import counted
from ..intake.documents import CONTENT, content_of, write_texts
from ..intake.report import Report
from .dialects import Hit

ANSWERS_AT_ONCE = 200  # answers that are read or written at a time
ENGINE_KINDS = (Job.Kind.ENGINE, Job.Kind.NIGHT)


# Why the stored content of a document stays though an engine brings another one: its count in reports -> in words.
REASONS_TO_KEEP = {
    "texts_of_files": "another text in the engine: the one that came from a file was kept",
    "texts_that_vary": "a text in the engine that varies with the query, as highlights do: the stored one stays",
    "fields": "another address or other fields in the engine: these alone change nothing",
}


@dataclass
class BroughtTexts:
    """Which texts of an engine count for stored documents, and which documents keep what they have."""

    varying: set[str]  # keys of documents
    replaces_files: bool  # whether they count for documents whose text came from a file
    # Name in REASONS_TO_KEEP -> the keys of documents that keep what they have.
    kept: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, job: Job, answers: QuerySet[EngineAnswer]) -> Self:
        """Of a job, with all answers that it imports."""
        engines = Engine.objects.filter(pk=job.options["engine"], replaces_texts=True)
        return cls(varying_texts(answers), engines.exists())

    def reason_to_keep(self, document: Document, content: Mapping[str, Any], writer: Job | None) -> str:
        """The reason, a name in REASONS_TO_KEEP, why the document does not get this content; "" if it gets it.

        `content`: title, body, url and fields, not all equal to the stored ones. `writer`: the job that wrote the
        stored text, if one did. Another url or other fields alone are no reason to change a document.
        """
        stored_texts = (document.title, document.body)
        if stored_texts == (content["title"], content["body"]):
            return "fields"  # or the url
        if not any(stored_texts):  # it has no text yet
            return ""
        if document.key in self.varying:
            return "texts_that_vary"
        is_of_engine = writer is not None and writer.kind in ENGINE_KINDS
        return "" if is_of_engine or self.replaces_files else "texts_of_files"

    def tell(self, report: Report) -> None:
        """Count what was kept, and say it."""
        for reason, words in REASONS_TO_KEEP.items():
            if number := len(self.kept[reason]):
                report.counts[reason] = number
                report.facts.append(f"{counted(number, 'document has', 'documents have')} {words}.")


def varying_texts(answers: QuerySet[EngineAnswer]) -> set[str]:
    """The keys of documents whose text varies between answers, as where engines send what the query matched."""
    texts: dict[str, int] = {}  # key of a document -> hash of its first text
    varying = set()
    for answer in answers.iterator(ANSWERS_AT_ONCE):
        for hit in hits_of(answer):
            text = hash((hit.title, hit.body))
            if texts.setdefault(hit.document, text) != text:
                varying.add(hit.document)
    return varying


def write_documents(job: Job, hits: dict[str, Hit], report: Report, texts: BroughtTexts) -> dict[str, int]:
    """Write new documents, and texts that are new to stored ones. Returns the id of each document, by key.

    A text that is replaced is kept as a former text. `hits`: key of a document -> hit. What the engine does not
    bring of a document stays as it is stored. `texts` decides which documents get other content, and notes others.
    """
    stored = {document.key: document for document in job.destination.documents.filter(key__in=hits)}
    writers = _jobs_of_texts(stored.values())
    new: list[Document] = []
    changed: list[tuple[Document, dict[str, Any]]] = []  # with their new content
    for key, hit in hits.items():
        document = stored.get(key)
        if document is None:
            content = {name: getattr(hit, name) for name in CONTENT}
            new.append(Document(collection=job.destination, key=key, job=job, **content))
            continue
        content = _content_with(document, hit)
        if content == content_of(document):
            continue
        if reason := texts.reason_to_keep(document, content, writers.get(document.pk)):
            texts.kept[reason].add(key)
        else:
            changed.append((document, content))
    Document.objects.bulk_create(new)
    _keep_former_texts(job, [document for document, _ in changed], writers)
    write_texts(changed)
    report.counts["documents"] += len(new)
    report.counts["filled"] += len(changed)
    return {document.key: document.pk for document in [*stored.values(), *new]}


def _content_with(document: Document, hit: Hit) -> dict[str, Any]:
    """The content of the document with what the hit has of it."""
    texts = {name: getattr(hit, name) or getattr(document, name) for name in ("title", "body", "url")}
    return texts | {"fields": document.fields | hit.fields}


def _jobs_of_texts(documents: Iterable[Document]) -> dict[int, Job]:
    """Id of a document -> the job that wrote its present text. Documents whose text no job wrote are left out."""
    job_ids = {document.pk: document.job_id for document in documents}
    changes = FormerText.objects.filter(document__in=list(job_ids)).order_by("pk")
    job_ids |= dict(changes.values_list("document", "job"))
    jobs = Job.objects.only("kind", "ended_at").in_bulk(set(filter(None, job_ids.values())))
    return {document_id: jobs[job_id] for document_id, job_id in job_ids.items() if job_id in jobs}


def _keep_former_texts(job: Job, documents: Sequence[Document], writers: Mapping[int, Job]) -> None:
    """Keep the texts of these documents before they change, so that the job can be undone.

    A watch asks an engine every night, and some engines bring another text each time. If a night replaces the text
    that another night brought, that text is kept only if somebody rated the document after that other night.
    """
    ratings = Rating.objects.filter(document__in=documents).order_by().values_list("document")
    last_rated_at = dict(ratings.annotate(Max("changed_at")))
    former_texts = []
    for document in documents:
        writer = writers.get(document.pk)
        if writer and job.kind == writer.kind == Job.Kind.NIGHT:
            rated_at = last_rated_at.get(document.pk)
            if rated_at is None or (writer.ended_at and rated_at <= writer.ended_at):
                continue  # nobody rated this text: the ratings, if there are any, are older
        former_texts.append(FormerText(job=job, document=document, **content_of(document)))
    FormerText.objects.bulk_create(former_texts)


def hits_of(answer: EngineAnswer) -> list[Hit]:
    return [Hit(*parts) for parts in json.loads(bytes(answer.hits))]
