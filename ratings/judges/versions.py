"""Make judges and their versions. Versions are never changed."""

import json
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from typing import Any

from django.db import transaction

from ..models import Collection, Judge, JudgeVersion, plain_value
from ..people.audit import Act, note
from ..presentation.parts import Presented
from ..presentation.versions import latest_presented
from . import prompts, wire
from .answers import PARSER_VERSION, schema_of

DEFAULT_SAMPLING = {"temperature": 0, "top_p": 1, "max_tokens": 50, "frequency_penalty": 0, "presence_penalty": 0}
LONGEST_PROMPT = 50_000  # characters
# The fields of the fingerprint: all but these.
CONTENT_FIELDS = {field.name for field in JudgeVersion._meta.concrete_fields}
CONTENT_FIELDS -= {"id", "judge", "number", "created_at", "by", "fingerprint"}


@dataclass(frozen=True)
class VersionSettings:
    """The settings of a version that an admin chooses. All other fields follow from the collection."""

    model: str
    endpoint: str = ""  # "": its grades were made elsewhere
    template: str = "scale"
    own_prompt: str = ""  # the text of the template "own"
    sees: tuple[str, ...] | None = None  # paths of parts of the presentation; None: all that have words
    sampling: dict[str, Any] = field(default_factory=lambda: dict(DEFAULT_SAMPLING))
    structured: bool = True
    seed: int | None = 1
    price_in: Decimal = Decimal(0)
    price_out: Decimal = Decimal(0)


@transaction.atomic
def make_judge(collection: Collection, name: str, by=None) -> Judge:
    """The new judge. Raises ValueError for an invalid name or one that is taken."""
    name = name.strip()
    if not name or len(name) > 150:
        raise ValueError("A judge has a name of 1 to 150 characters")
    if collection.judges.filter(name=name).exists():
        raise ValueError(f"The collection has a judge {name!r} already. Make a version of it, or choose a name")
    judge = Judge.objects.create(collection=collection, name=name, by=by)
    note(Act.JUDGE, collection, about=name)
    return judge


@transaction.atomic
def make_version(judge: Judge, settings: VersionSettings, by=None) -> tuple[JudgeVersion, bool]:
    """The version with this content, and whether it is new. Raises ValueError with the cure."""
    content = content_of(judge.collection, settings)
    fingerprint = sha_of(content)
    Judge.objects.select_for_update().get(pk=judge.pk)  # one version at a time, as they are numbered
    if same := judge.versions.filter(fingerprint=fingerprint).first():
        return same, False
    latest = judge.latest()
    number = latest.number + 1 if latest else 1
    version = JudgeVersion.objects.create(judge=judge, number=number, by=by, fingerprint=fingerprint, **content)
    note(Act.JUDGE_VERSION, judge.collection, about=f"{judge.name}, version {number}", model=version.model)
    return version, True


def content_of(collection: Collection, settings: VersionSettings) -> dict[str, Any]:
    """The fields of a version, as CONTENT_FIELDS names them. Raises ValueError."""
    if not settings.model.strip():
        raise ValueError("A version names the model that it asks for")
    if settings.endpoint and not settings.endpoint.startswith(("http://", "https://")):
        raise ValueError(f"The address {settings.endpoint!r} does not begin with http:// or https://")
    if len(settings.own_prompt) > LONGEST_PROMPT:
        raise ValueError(f"The prompt has {len(settings.own_prompt):,} characters, more than {LONGEST_PROMPT:,}")
    guidelines = collection.latest_guidelines()
    guidelines_text = guidelines.text if guidelines else ""
    presentation = collection.latest_presentation()
    visible = visible_parts(latest_presented(collection), settings.sees)
    scale = list(collection.grades.order_by("value"))
    prompt = prompts.version_prompt(settings.template, scale, guidelines_text, settings.own_prompt)
    grades = [grade.plain for grade in scale]  # as texts, lowest first
    return {
        "template": settings.template,
        "prompt": prompt,
        "parts": visible.as_json(),
        "scale": grades,
        "scale_version": collection.scale_version,
        "guidelines_version": guidelines.version if guidelines else 0,  # 0, here and below: there is none
        "presentation_version": presentation.version if presentation else 0,
        "prompt_sha256": sha_of(prompt + prompts.ANSWER_RULES),
        "guidelines_sha256": sha_of(guidelines_text),
        "presentation_sha256": sha_of(visible.as_json()),
        "endpoint": settings.endpoint.strip(),
        "model": settings.model.strip()[:200],  # the most characters that the column holds
        "sampling": wire.checked_sampling(settings.sampling),
        "schema": schema_of(grades),
        "structured": settings.structured,
        "parser": PARSER_VERSION if settings.endpoint else 0,  # 0: made elsewhere, and parsed there
        "seed": settings.seed,
        "price_in": round(Decimal(settings.price_in), 6),
        "price_out": round(Decimal(settings.price_out), 6),
    }


def visible_parts(presented: Presented, paths: tuple[str, ...] | None) -> Presented:
    """The parts with text, or those of `paths`. Raises ValueError for other paths, and if no part is left."""
    shown = prompts.text_parts(presented)
    if paths is not None:
        known = {part.path for part in (*shown.document, *shown.query)}
        if unknown := [path for path in paths if path not in known]:
            raise ValueError(f"The presentation shows no {unknown[0]}. It has {', '.join(sorted(known))}")
        shown = prompts.text_parts(presented, paths)
    if not shown.document:
        raise ValueError("The judge would see nothing of a document. Let it see at least one part with words")
    return shown


def sha_of(content: Any) -> str:
    """The SHA-256 of a text, or of content as canonical JSON."""
    if not isinstance(content, str):
        canonical = {"sort_keys": True, "ensure_ascii": False, "separators": (",", ":")}
        content = json.dumps(content, **canonical, default=plain_value)
    return sha256(content.encode(errors="surrogatepass")).hexdigest()
