"""A collection as a data set: a ZIP in the layout of BEIR, or of Hugging Face with tables of Parquet.

Beside queries, documents and qrels by split it has who graded what, and with what chance a pair was drawn.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.conf import settings

from ratings.copies import rounds
from ratings.copies import rows as record_rows
from ratings.formats import beir, parquet, spreadsheet
from ratings.formats.registry import BY_NAME
from ratings.formats.rows import RatingLine
from ratings.formats.zipped import FixedZip
from ratings.models import Collection

AS_QRELS = BY_NAME["trec-qrels"]  # whose grades are whole, as those of a data set
LAYOUTS = {"beir": "BEIR: JSON lines and TSV", "huggingface": "Hugging Face: Parquet"}
README = """\
# {name}

Exported with Idealist {version}. Several ratings of a pair became one judgment by the rule “{rule}”. A query
belongs to the splits that are among its tags; one without such a tag belongs to “{usual}”.

- `ratings.csv` has every rating: who graded, when, and why where somebody could not judge.
"""
ROUNDS = """\
- `rounds.csv` has the pairs that were drawn to be rated, with the chance of each. Whoever computes with these
  judgments needs it.
"""
CONFIGS = """\
---
configs:
- {{config_name: corpus, data_files: [{{split: corpus, path: corpus/*.parquet}}]}}
- {{config_name: queries, data_files: [{{split: queries, path: queries/*.parquet}}]}}
- {{config_name: default, data_files: [{splits}]}}
---
"""


def written(
    collection: Collection,
    layout: str,
    judgments: Sequence[RatingLine],
    rule: str,
    names: Mapping[int, str] | None = None,
) -> Iterator[bytes]:
    """The ZIP of a data set in one of LAYOUTS, in pieces.

    judgments: written as AS_QRELS, made by the rule; names: of raters by pk, in place of their own.
    """
    archive = FixedZip()
    tags = dict(collection.queries.values_list("key", "tags"))
    splits: dict[str, list[RatingLine]] = {split: [] for split in beir.SPLITS}
    for line in judgments:
        for split in beir.splits_of(tags[line.query]):
            splits[split].append(line)
    splits = {split: lines for split, lines in splits.items() if lines}
    yield from archive.add("README.md", [_readme(collection, layout, rule, splits).encode()])
    for name, content in _files(collection, layout, splits):
        yield from archive.add(name, content, large=True)
    csv = BY_NAME["csv"].written("ratings", record_rows.ratings(collection, BY_NAME["csv"], names))
    yield from archive.add("ratings.csv", _encoded(csv), large=True)
    if collection.rounds.exists():
        table = spreadsheet.written(rounds.table(collection), end="\n")
        yield from archive.add("rounds.csv", _encoded(table), large=True)
    yield archive.end()


def _files(
    collection: Collection, layout: str, splits: Mapping[str, list[RatingLine]]
) -> Iterator[tuple[str, Iterable[bytes]]]:
    """The name and the content of the files of the data set itself."""
    documents = collection.documents.order_by("key").values_list("key", "title", "body", "url", "fields")
    queries = collection.queries.order_by("key").values_list("key", "text", "need", "tags", "weight", "fields")
    document_rows = (beir.corpus_row(*row) for row in documents.iterator())
    query_rows = (beir.query_row(*row) for row in queries.iterator())
    qrels = {split: map(beir.qrels_row, lines) for split, lines in splits.items()}
    if layout == "beir":
        yield "corpus.jsonl", beir.json_lines(document_rows)
        yield "queries.jsonl", beir.json_lines(query_rows)
        for split, rows in qrels.items():
            yield f"qrels/{split}.tsv", beir.qrels_lines(rows)
    else:
        yield "corpus/corpus.parquet", parquet.write_objects(beir.CORPUS_COLUMNS, document_rows)
        yield "queries/queries.parquet", parquet.write_objects(beir.QUERIES_COLUMNS, query_rows)
        for split, rows in qrels.items():
            yield f"default/{split}.parquet", parquet.write_objects(beir.QRELS_COLUMNS, rows)


def _readme(collection: Collection, layout: str, rule: str, splits: Iterable[str]) -> str:
    """What the files hold; for Hugging Face also which are which."""
    files = ", ".join(f"{{split: {split}, path: default/{split}.parquet}}" for split in splits)
    configs = CONFIGS.format(splits=files) if layout == "huggingface" else ""
    about = README.format(name=collection.name, version=settings.VERSION, rule=rule, usual=beir.USUAL_SPLIT)
    return configs + about + (ROUNDS if collection.rounds.exists() else "")


def _encoded(lines: Iterable[str | bytes]) -> Iterator[bytes]:
    return (line if isinstance(line, bytes) else line.encode() for line in lines)
