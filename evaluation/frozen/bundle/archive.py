"""The files of a bundle and their ZIP, which is streamed and has the same bytes every time."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain, islice

from django.utils.text import slugify

from ratings.formats import ir_metadata, spreadsheet
from ratings.formats.zipped import FixedZip, sums_as_text

from ...charts import pictures
from ...models import FrozenEvaluation
from ...page import documents
from ...results import comparison, csv_and_json
from .. import about, evaluation_of, files_of, settings_of
from ..content import Broken
from ..stored import pieces
from . import figures, latex, texts
from .comparisons import comparisons

SUMS_FILE, ABOUT_FILE, NUMBERS_FILE, PAIRS_FILE = "SHA256SUMS", "about.json", "evaluation.json", "comparisons.json"
ZIP64_BYTES = 1 << 31  # files of this size need a ZIP64 entry


def file_name(frozen: FrozenEvaluation) -> str:
    """The file name of the bundle: slug, name and beginning of the hash."""
    name = slugify(frozen.name)[:60]
    return "-".join(part for part in (about(frozen).collection, name, frozen.short) if part) + ".zip"


def bundle(frozen: FrozenEvaluation) -> Iterator[bytes]:
    """The ZIP, in chunks. Raises Broken where a stored file does not have its hash any more."""
    archive = FixedZip()
    for name, size, parts in _files(frozen):
        yield from archive.add(name, parts, large=size >= ZIP64_BYTES)
    # Before SHA256SUMS is written, since a bundle without that file is not taken for a whole one.
    for file in files_of(frozen):
        if archive.sums[file.name] != file.sha256:
            raise Broken(f"{file.name} is not what was frozen as {frozen}: the database was changed from outside.")
    yield from archive.add(SUMS_FILE, [sums_as_text(archive.sums).encode()])
    yield archive.end()


def _files(frozen: FrozenEvaluation) -> Iterator[tuple[str, int, Iterable[bytes]]]:
    """(name, size, content) of each file of the bundle, in order.

    size: in bytes; 0 for a file that is small in every bundle, and so needs no ZIP64 entry. First the README, then
    the frozen files themselves, then what is made from them: tables, texts and charts.
    """
    evaluation = evaluation_of(frozen)
    charts = figures.figures(evaluation)
    tests = comparisons(evaluation)
    document = csv_and_json.document(evaluation, per_query=True)
    yield "README.md", 0, [texts.readme(frozen, charts, tests is not None).encode()]
    for file in files_of(frozen):
        yield file.name, file.bytes, pieces(frozen, file.name)
    for system in settings_of(frozen).systems:
        lines = ir_metadata.as_yaml(texts.run_metadata(frozen, system))
        name = system.run.removeprefix("runs/").removesuffix(".run")
        yield f"ir_metadata/{name}.yml", 0, ["".join(lines).encode()]
    about_text = json.dumps(about_document(frozen), indent=2, ensure_ascii=False) + "\n"
    yield ABOUT_FILE, 0, [about_text.encode()]
    yield NUMBERS_FILE, 0, [documents.as_text(document).encode()]
    yield "means.csv", 0, _csv(*csv_and_json.means(evaluation))
    yield "per_query.csv", 0, _csv(*csv_and_json.every_query(evaluation))
    if tests:
        yield PAIRS_FILE, 0, [documents.as_text(comparison.document([tests])).encode()]
        yield "comparisons.csv", 0, _csv(*comparison.table([tests]))
    yield "methods.txt", 0, [texts.methods(frozen, evaluation, tests).encode()]
    yield "table.tex", 0, [latex.table(frozen, evaluation).encode()]
    for chart in charts:
        name, width = f"charts/{chart.id}", figures.width(chart)
        svg = pictures.svg(chart.spec, width=width, title=chart.title, description=chart.alt_text, paper=True)
        yield f"{name}.svg", 0, [svg.encode()]
        yield f"{name}.png", 0, [pictures.png(svg)]
        yield f"{name}.pdf", 0, [pictures.pdf(svg)]


def about_document(frozen: FrozenEvaluation) -> dict:
    """The document of about.json: name, note, hash, time, systems, and `About` without expected values."""
    return {
        "name": frozen.name,
        "note": frozen.note,
        "hash": frozen.hash,
        "frozen_at": frozen.created_at.isoformat(timespec="seconds"),
        "systems": [system.system for system in settings_of(frozen).systems],
        **{name: fact for name, fact in asdict(about(frozen)).items() if name != "expected"},
    }


def _csv(header: list[str], rows: Iterable[list]) -> Iterator[bytes]:
    """The table as CSV, in pieces of up to 1,000 lines."""
    lines = spreadsheet.written(chain([header], rows), end="\n")
    while piece := "".join(islice(lines, 1_000)):
        yield piece.encode()
