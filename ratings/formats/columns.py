"""The columns of a table: the names that people give them, and which column holds what.

A role is what a column can hold, such as the key or the text of a query, a document or a grade.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from . import values
from .source import LONGEST_NAME, MOST_COLUMNS

# Names of columns with queries and documents, in a table of any kind. Ids stand before possible titles, and docno
# before docid, which beside a docno is a number inside an index.
_QUERY_IDS = ["query_id", "queryid", "qid", "topic_id"]
_QUERY_TEXTS = [
    "query_text", "querytext", "query", "search_query", "search_term", "search_phrase", "search_text",
    "user_query", "search", "keyword", "keywords", "top_queries",
]  # fmt: skip
_DOCUMENTS = [
    "docno", "document_id", "doc_id", "docid", "corpus_id", "product_id", "productid", "item_id", "article_id",
    "sku", "asin", "product_no", "product_number", "product_code", "item_no", "item_number", "article_no",
    "article_number", "document", "doc", "product",
]  # fmt: skip
_KEYS = ["id", "docno", "docid", "doc_id", "_id", "key", "document_id", "product_id", "sku", "asin"]
# Of a document; the first that it has.
BODIES = [
    "body", "text", "contents", "content", "abstract", "long_description", "product_description", "description",
]  # fmt: skip
_QUERIES = ["query", *_QUERY_IDS, "topic", *_QUERY_TEXTS]

# Kind of row -> role of a column -> its usual names, the likeliest first, as `normalised` returns them.
NAMES = {
    "queries": {
        # Before the key: a column named query is the text, unless another column is.
        "text": ["text", *_QUERY_TEXTS, "title"],
        "key": ["key", *_QUERY_IDS, "_id", "id", "number", "num", "topic", "query"],
        "need": [
            "need", "information_need", "description", "narrative", "guidelines", "referenceanswer",
            "reference_answer", "intent", "user_intent", "search_intent", "shopper_intent",
        ],
        "tags": ["tags"],
        "weight": ["weight", "frequency"],
    },
    "documents": {
        "id": [*_KEYS, *(name for name in _DOCUMENTS if name not in _KEYS)],
        "title": ["title", "product_title", "product_name", "item_name", "article_name", "headline"],
        "body": BODIES,
        "url": ["url"],
    },
    "results": {
        "query": _QUERIES,
        "document": [*_DOCUMENTS, "id", "_id"],
        "rank": ["rank", "position", "doc_position"],
        "score": ["score", "_score", "ranking_score"],
        "system": ["system", "run", "run_id", "tag", "engine", "search_engine", "name", "snapshot_name"],
    },
    "ratings": {
        "query": _QUERIES,
        "document": _DOCUMENTS,
        "rater": ["rater", "judge", "assessor", "annotator", "user_email", "worker_id"],
        "grade": ["grade", "rating", "relevance", "judgment", "judgement", "rel", "label", "score"],
        "reason": ["reason"],
        "comment": ["comment", "explanation"],
        "seconds": ["seconds"],
        "rated_at": ["rated_at"],
        "unrateable": ["unrateable"],
    },
}  # fmt: skip
# A table of pairs has columns for the query, the document and the rating. When queries or documents are read from
# it, only these names are surely theirs.
OF_PAIRS = {
    "queries": {
        "text": _QUERY_TEXTS,
        "key": _QUERY_IDS,
        "need": ["need", "information_need", "narrative"],
        "tags": ["query_tags"],
        "weight": ["query_weight", "query_frequency", "frequency"],
    },
    "documents": NAMES["documents"] | {"id": [*_DOCUMENTS, *_KEYS]},
}
# Names of columns that belong to a rating or a ranking, and hardly to anything else.
_OF_RATINGS = {
    "grade", "rating", "relevance", "judgment", "judgement", "rel", "rater", "judge", "assessor", "annotator",
    "rank", "doc_position",
}  # fmt: skip
_OF_PRODUCTS = {"brand", "price", "image", "image_url", "link", "category", "colour", "color"}
_PAIR = ["query", "document"]
NEEDED = {"queries": ["text"], "documents": ["id"], "results": _PAIR, "ratings": _PAIR}
RATERS = "raters"  # of ratings: several columns, each named for the rater whose grades it holds
FIELDS = "fields"  # of documents and queries: the columns that are kept beside their text
SEVERAL = {"ratings": RATERS, "documents": FIELDS, "queries": FIELDS}  # the role of several columns
# Without a header columns are named 1, 2, 3. Their roles, by kind of row and number of columns:
BY_POSITION = {
    ("queries", 1): ["text"],
    ("queries", 2): ["key", "text"],
    ("queries", 3): ["key", "text", "need"],
    ("ratings", 3): [*_PAIR, "grade"],
}
# The names, as `normalised` returns them, of columns that only a rater has: rater1, judge_b, ann@example.org.
_RATER = re.compile(r"(rater|judge|assessor|annotator|worker|expert)(_?[0-9]+|_[a-z])|\S+@\S+\.\S+")
_UNIT = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")  # Grade (0-3)
# The columns in which pandas writes the numbers of its rows, as CSV and as Parquet.
_INDEX = re.compile(r"(unnamed: \d+|__index_level_\d+__)?", re.IGNORECASE)


Chosen = Mapping[str, str | Sequence[str]]  # role -> column, or the columns of a role of several


class Layout(NamedTuple):
    """Which column holds what. All but `column` are names of columns.

    `doubtful`: they may hold the grades of raters, or means, counts or anything else. People have to say.
    """

    column: dict[str, str]  # role -> name
    raters: tuple[str, ...]
    ignored: tuple[str, ...]
    fields: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()


def normalised(name: str) -> str:
    """The name in lower case, with _ for blanks and dashes and without a unit in brackets behind it."""
    return re.sub(r"[\s-]+", "_", _UNIT.sub("", name).strip().lower())


def usual_role(kind: str, name: str) -> str:
    """What a column of that name usually holds; "" for an unknown name."""
    name = normalised(name)
    return next((role for role, names in NAMES[kind].items() if name in names), "")


def is_index(name: str) -> bool:
    """Whether the name is empty or the one that a program gives to row numbers."""
    return _INDEX.fullmatch(name.strip()) is not None


def is_of_pairs(kind: str, names: Iterable[str]) -> bool:
    """Whether a table that is read for queries or documents is a table of pairs.

    It is one if it is read for queries and has columns of documents, ratings or rankings, or if it is read for
    documents and has columns of queries.
    """
    foreign = {"queries": {*_DOCUMENTS, *_OF_RATINGS}, "documents": {*_QUERY_IDS, *_QUERY_TEXTS}}.get(kind, set())
    return any(normalised(name) in foreign for name in names)


def is_usual(name: str) -> bool:
    """Whether columns of that name usually hold something, in rows of any kind."""
    return any(usual_role(kind, name) for kind in NAMES)


def are_only_of(kind: str, names: Iterable[str]) -> bool:
    """Whether the usual names of these columns show a table of `kind` without doubt.

    A table with ranks and grades is one of results and one of ratings by this, so callers ask for all kinds.
    """
    try:
        layout = layout_of(kind, names, chosen={})
    except ValueError:
        return False  # no column holds what rows of this kind need
    column = layout.column
    # An id and a text do not suffice: queries and documents both have them. A table of pairs of a query and a
    # document can have all of the sure roles, too, but its rows are results or ratings.
    sure_roles = {"queries": {"key", "need"}, "documents": {"title", "body"}}
    if kind in sure_roles:
        return sure_roles[kind] <= column.keys() and not is_of_pairs(kind, names)
    if any(usual_role("documents", name) in ("title", "body") for name in names):
        return False  # documents could be read from it, too
    if kind == "results":
        return "rank" in column
    # The kind is ratings. A column called score may hold the scores of a system.
    has_grades = "grade" in column and normalised(column["grade"]) != "score"
    return has_grades or bool(layout.raters)


def names_in(role: str, chosen: str | Sequence[str]) -> list[str]:
    """The names of the columns that are chosen for a role. In text, as commands have it, | parts several."""
    if isinstance(chosen, str):
        chosen = chosen.split("|") if role in SEVERAL.values() else [chosen]
    return list(filter(None, chosen))


def layout_of(
    kind: str, names: Iterable[str], chosen: Chosen, *, uniform: bool = True, people: Container[str] = ()
) -> Layout:
    """Which of the columns `names` holds what: first as people chose (`chosen`), then by their usual names.

    `chosen`: a role for which people chose "" has no column. `people`: the names of the collection's raters.
    `uniform`: whether all records have these columns.

    Of queries and documents, columns without a role become `fields`, if people chose none (see `is_field`, which
    takes fewer in a table of pairs of a query and a document).
    Of ratings, each rater may have a column, if the records are uniform, no column holds all raters or all grades,
    and people chose no columns of raters. Then columns without a usual name become `raters` if they are called
    like one of `people` or as raters often are, and `doubtful` if not. All columns that are left are `ignored`.

    Raises ValueError where people chose a column that does not exist, and where no column holds what rows of
    `kind` need.
    """
    names = list(names)
    role_of_several = SEVERAL.get(kind, "")  # the role that several columns may have; "" for results
    check_chosen(f"column of {kind}", [role for role in (*NAMES[kind], role_of_several) if role], names, chosen)
    raters = tuple(names_in(RATERS, chosen.get(RATERS, "")))
    fields = tuple(names_in(FIELDS, chosen.get(FIELDS, "")))
    doubtful: tuple[str, ...] = ()
    column = _column_of_each_role(kind, names, chosen, {*raters, *fields})
    other_names = [name for name in names if name not in {*column.values(), *raters, *fields}]
    each_rater_may_have_column = uniform and RATERS not in chosen and not {"rater", "grade"} & column.keys()
    if role_of_several == RATERS and each_rater_may_have_column:
        raters, doubtful = _raters_in(other_names, people)
    if role_of_several == FIELDS and FIELDS not in chosen:
        of_pairs = is_of_pairs(kind, names)
        fields = tuple(name for name in other_names if is_field(kind, name, of_pairs))
    ignored = tuple(name for name in other_names if name not in {*raters, *doubtful, *fields})
    layout = Layout(column, raters, ignored, fields, doubtful)
    if lacking := missing(kind, layout):
        raise ValueError(f"no column holds the {' or the '.join(lacking)}; the columns are {listed(names)}")
    return layout


def _column_of_each_role(
    kind: str, names: Sequence[str], chosen: Chosen, raters_or_fields: set[str]
) -> dict[str, str]:
    """Role -> the column that holds it: the one that people chose, or the one with the likeliest usual name.

    `raters_or_fields`: the columns that people chose as raters (of ratings) or as fields (of queries and
    documents), and that have no other role. Raises ValueError where two columns are equally likely.
    """
    usual_names = OF_PAIRS[kind] if kind in OF_PAIRS and is_of_pairs(kind, names) else NAMES[kind]
    # Without the roles for which people chose "": no column holds them, and none is guessed below.
    column = {role: name for role, name in chosen.items() if name and isinstance(name, str)}
    # Nor has the role of several columns (raters or fields) a place here. Its value is no single name: it is a
    # list or, with | between the names, a text.
    column.pop(SEVERAL.get(kind, ""), None)
    are_raters_chosen = kind == "ratings" and bool(raters_or_fields)  # their columns hold all grades
    for role, likeliest_first in usual_names.items():
        if role in chosen or (are_raters_chosen and role in ("rater", "grade")):
            continue  # people chose its column, or that it has none
        remaining_names = [name for name in names if name not in {*column.values(), *raters_or_fields}]
        candidates = with_usual_names(remaining_names, likeliest_first)
        if candidates:
            if role == "text":
                _refuse_two_texts(candidates, remaining_names)
            if role == "grade":
                _refuse_two_grades(candidates)
            column[role] = candidates[0]
    return column


def with_usual_names(names: Sequence[str], likeliest_first: Iterable[str]) -> list[str]:
    """Those of the columns `names` that have one of the usual names, in the order of the usual names."""
    # In reverse, so that of two columns with the same normalised name the first one counts.
    by_normalised = {normalised(name): name for name in reversed(names)}
    return [by_normalised[name] for name in likeliest_first if name in by_normalised]


def _raters_in(names: Iterable[str], people: Container[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that hold the grades of a rater by their name, and those that may."""
    unknown = [name for name in names if not is_of_no_rater(name)]
    raters = tuple(name for name in unknown if name.strip() in people or _RATER.fullmatch(normalised(name)))
    return raters, tuple(name for name in unknown if name not in raters)


def is_of_no_rater(name: str) -> bool:
    """Whether a column of that name surely holds something else than the grades of a rater."""
    return is_index(name) or is_usual(name) or normalised(name) in _OF_PRODUCTS


def check_chosen(what: str, roles: Iterable[str], names: Sequence[str], chosen: Chosen) -> None:
    """Raises ValueError where a chosen role is not among `roles`, or a chosen column is not among `names`.

    `what`: the columns in messages, such as "column of queries".
    """
    for role, columns in chosen.items():
        if role not in roles:
            raise ValueError(f"no {what} holds the {values.quoted(role)}; it may hold the {', '.join(roles)}")
        for name in names_in(role, columns):
            if name not in names:
                raise ValueError(f"there is no column {values.quoted(name)}; the columns are {listed(names)}")


def _refuse_two_texts(candidates: list[str], remaining_names: list[str]) -> None:
    """Raises ValueError if two columns could hold the text of a query: one of them would be lost.

    Of the columns text and query, query is the key unless another of the columns without a role may be.
    """
    has_both = {"text", "query"} <= set(map(normalised, candidates))
    other_names = set(map(normalised, remaining_names)) - {"query"}
    if has_both and not other_names.isdisjoint(NAMES["queries"]["key"]):
        raise ValueError("the text may be in the column 'query' or 'text'")


def _refuse_two_grades(candidates: list[str]) -> None:
    """Raises ValueError if two columns could hold the grade: one of them would be lost.

    A column called grade is the grade. Beside another one, a column called score is that of a system.
    """
    rivals = [name for name in candidates if normalised(name) != "score"]
    if len(rivals) > 1 and normalised(rivals[0]) != "grade":
        raise ValueError(f"the grade may be in the column {' or '.join(map(values.quoted, rivals))}")


def is_field(kind: str, name: str, of_pairs: bool) -> bool:
    """Whether the column becomes a field of the document or query.

    In a table of pairs no column becomes a field of the query, and none that ratings or rankings usually have
    becomes a field of the document.
    """
    usual = usual_role("ratings", name) or usual_role("results", name) or _RATER.fullmatch(normalised(name))
    of_pair = of_pairs and (kind == "queries" or bool(usual))
    return not of_pair and not is_index(name) and name not in NAMES[kind]


def missing(kind: str, layout: Layout) -> list[str]:
    """The roles that rows of `kind` need and that no column of the layout has."""
    roles = [role for role in NEEDED[kind] if role not in layout.column]
    has_ratings = layout.raters or layout.doubtful or {"grade", "reason"} & layout.column.keys()
    if kind == "ratings" and not has_ratings:
        roles.append("grade")
    if kind == "results" and not {"rank", "score"} & layout.column.keys():
        roles.append("rank")
    return roles


def listed(names: Iterable[str]) -> str:
    names = list(names)
    unlisted = f" and {len(names) - 12:,} more" if len(names) > 12 else ""
    return ", ".join(map(values.quoted, names[:12])) + unlisted


def too_wide(names: Sequence[str]) -> str:
    """The problem of too many columns or a too long name; "" where there is none."""
    if len(names) > MOST_COLUMNS:
        return f"there are {len(names):,} columns, at most {MOST_COLUMNS:,} are read"
    long = next((name for name in names if len(name) > LONGEST_NAME), None)
    return f"the name {values.quoted(long)} of a column is longer than {LONGEST_NAME:,} characters" if long else ""


def example(kind: str) -> dict[str, str | None]:
    """The roles that need a column, as the value of an Option: people have to name the columns."""
    return dict.fromkeys(NEEDED[kind] + {"ratings": ["grade"], "results": ["rank"]}.get(kind, []))
