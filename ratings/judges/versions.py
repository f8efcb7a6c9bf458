"""Make judges and their versions. Versions are never changed."""

import json
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from typing import Any

from django.db import IntegrityError, transaction

from ..models import Collection, Judge, JudgeVersion, plain_value
from ..people.audit import Act, note
from ..presentation.parts import Presented
from ..presentation.versions import latest_of
from . import prompts, wire
from .answers import PARSER, schema_of

SAMPLING = {"temperature": 0, "top_p": 1, "max_tokens": 50, "frequency_penalty": 0, "presence_penalty": 0}
LONGEST_PROMPT = 50_000  # characters
# The fields of the fingerprint: all but number, time and account.
CONTENT = (
    "template", "prompt", "parts", "scale", "scale_version", "guidelines_version", "presentation_version",
    "prompt_sha256", "guidelines_sha256", "presentation_sha256", "endpoint", "model", "sampling", "schema",
    "structured", "parser", "seed", "price_in", "price_out",
)  # fmt: skip


@dataclass(frozen=True)
class VersionSettings:
    """The settings of a version that an admin chooses. All other fields follow from the collection."""

    model: str
    endpoint: str = ""  # "": its grades were made elsewhere
    template: str = "scale"
    own: str = ""  # the text of the template "own"
    sees: tuple[str, ...] | None = None  # paths of parts of the presentation; None: all that have words
    sampling: dict[str, Any] = field(default_factory=lambda: dict(SAMPLING))
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
        problem = f"The collection has a judge {name!r} already"
        raise ValueError(f"{problem}. Make a new version of it, or choose a name")
    judge = Judge.objects.create(collection=collection, name=name, by=by)
    note(Act.JUDGE, collection, about=name)
    return judge


def make_version(judge: Judge, chosen: VersionSettings, by=None) -> tuple[JudgeVersion, bool]:
    """The version with this content, and whether it is new. Raises ValueError with the cure."""
    content = content_of(judge.collection, chosen)
    fingerprint = sha_of(content)
    for _ in range(3):  # another one may make the same number at the same moment
        if same := judge.versions.filter(fingerprint=fingerprint).first():
            return same, False
        latest = judge.latest()
        try:
            with transaction.atomic():
                number = latest.number + 1 if latest else 1
                facts = {"judge": judge, "number": number, "by": by, "fingerprint": fingerprint}
                made = JudgeVersion.objects.create(**facts, **content)
                about = f"{judge.name}, version {number}"
                note(Act.JUDGE_VERSION, judge.collection, about=about, model=made.model)
                return made, True
        except IntegrityError:
            continue
    raise ValueError("Somebody makes versions of this judge at the same moment. Try again")


def content_of(collection: Collection, chosen: VersionSettings) -> dict[str, Any]:
    """The fields of a version. Raises ValueError."""
    if not chosen.model.strip():
        raise ValueError("A version names the model that it asks for")
    if chosen.endpoint and not chosen.endpoint.startswith(("http://", "https://")):
        raise ValueError(f"The address {chosen.endpoint!r} does not begin with http:// or https://")
    if len(chosen.own) > LONGEST_PROMPT:
        raise ValueError(f"The prompt has {len(chosen.own):,} characters, more than {LONGEST_PROMPT:,}")
    guidelines, presentation = collection.latest_guidelines(), collection.latest_presentation()
    sees = visible_parts(latest_of(collection), chosen.sees)
    scale = list(collection.grades.order_by("value"))
    text = prompts.version_prompt(chosen.template, scale, guidelines.text if guidelines else "", chosen.own)
    grades = [grade.plain for grade in scale]
    return {
        "template": chosen.template,
        "prompt": text,
        "parts": sees.as_json(),
        "scale": grades,
        "scale_version": collection.scale_version,
        "guidelines_version": guidelines.version if guidelines else 0,
        "presentation_version": presentation.version if presentation else 0,
        "prompt_sha256": sha_of(text + prompts.RULES),
        "guidelines_sha256": sha_of(guidelines.text if guidelines else ""),
        "presentation_sha256": sha_of(sees.as_json()),
        "endpoint": chosen.endpoint.strip(),
        "model": chosen.model.strip()[:200],
        "sampling": wire.checked_sampling(chosen.sampling),
        "schema": schema_of(grades),
        "structured": chosen.structured,
        "parser": PARSER if chosen.endpoint else 0,
        "seed": chosen.seed,
        "price_in": round(Decimal(chosen.price_in), 6),
        "price_out": round(Decimal(chosen.price_out), 6),
    }


def visible_parts(presented: Presented, paths: tuple[str, ...] | None) -> Presented:
    """The parts with text, or those of `paths`. Raises ValueError for other paths, and if no part is left."""
    words = prompts.text_parts(presented)
    if paths is not None:
        known = {part.path for part in (*words.document, *words.query)}
        if odd := [path for path in paths if path not in known]:
            raise ValueError(f"The presentation shows no {odd[0]}. It has {', '.join(sorted(known))}")
        words = prompts.text_parts(presented, paths)
    if not words.document:
        raise ValueError("The judge would see nothing of a document. Let it see at least one part with words")
    return words


def sha_of(content: Any) -> str:
    """The SHA-256 of a text, or of content as canonical JSON."""
    if not isinstance(content, str):
        canonical = {"sort_keys": True, "ensure_ascii": False, "separators": (",", ":")}
        content = json.dumps(content, **canonical, default=plain_value)
    return sha256(content.encode(errors="surrogatepass")).hexdigest()
