"""A collection as a data set: a ZIP in the layout of BEIR, or of Hugging Face with tables of Parquet.

Beside queries, documents and qrels by split it has who graded what, and with what chance a pair was drawn.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.conf import settings
from django.template.loader import render_to_string

from ratings.copies import rows as record_rows
from ratings.formats import beir, parquet, spreadsheet
from ratings.formats.registry import BY_NAME
from ratings.formats.rows import RatingLine
from ratings.formats.zipped import FixedZip
from ratings.models import Collection
from ratings.pool import rounds

AS_QRELS = BY_NAME["trec-qrels"]  # whose grades are whole, as those of a data set
LAYOUTS = {"beir": "BEIR: JSON lines and TSV", "huggingface": "Hugging Face: Parquet"}


def written(
    collection: Collection,
    layout: str,
    judgments: Sequence[RatingLine],
    rule: str,
    names: Mapping[int, str] | None = None,
) -> Iterator[bytes]:
    """The ZIP of a data set in one of LAYOUTS, in pieces.

    judgments: with whole grades, as qrels have them, made from the ratings by `rule`; names: the names that raters
    get in place of their own, by pk; None: their own. A tag of a query can name its split: train, dev or test. A
    split is a part of the queries, which machine learning keeps apart.
    """
    archive = FixedZip()
    has_rounds = collection.rounds.exists()
    tags = dict(collection.queries.values_list("key", "tags"))
    lines_by_split: dict[str, list[RatingLine]] = {split: [] for split in beir.SPLITS}
    for line in judgments:
        for split in beir.splits_of(tags[line.query]):
            lines_by_split[split].append(line)
    splits = {split: lines for split, lines in lines_by_split.items() if lines}
    readme = {
        "layout": layout,
        "splits": splits,
        "name": collection.name,
        "version": settings.VERSION,
        "rule": rule,
        "usual": beir.USUAL_SPLIT,
        "rounds": has_rounds,
    }
    text = render_to_string("evaluation/dataset_readme.txt", readme)
    yield from archive.add("README.md", [text.encode()])
    for name, content in _files(collection, layout, splits):
        yield from archive.add(name, content, large=True)
    csv = BY_NAME["csv"].written("ratings", record_rows.ratings(collection, BY_NAME["csv"], names))
    yield from archive.add("ratings.csv", _encoded(csv), large=True)
    if has_rounds:
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


def _encoded(lines: Iterable[str | bytes]) -> Iterator[bytes]:
    return (line if isinstance(line, bytes) else line.encode() for line in lines)
