"""What unknown columns of a table may hold, by the words of their names and by their first values.

A proposal fills the form of the page, where people confirm it. Nothing is read by it before.
"""

from collections.abc import Mapping, Sequence

from ..formats.columns import FIELDS, RATERS, SEVERAL, Layout, is_field, is_of_pairs, missing, normalised
from ..formats.header import is_number
from ..formats.values import without_blanks
from ..models import Collection

FIT_KNOWN = 4  # how well a column fits a role: most values are ids or texts of the collection
FIT_NAMED = 2  # a word of the name says it
FIT_ALIKE = 1  # the values look like it
LENGTH_OF_PROSE = 80  # characters from which on texts are prose

_ID = {"id", "key", "code", "no", "nr", "num", "number", "sku", "ean", "gtin", "isbn", "asin"}
_ITEM = _ID | {"product", "article", "item", "document", "doc"}
_SEARCH = {"query", "search", "term", "keyword", "phrase", "text", "question"}
# Kind of row -> role -> words that its columns have in their names.
_WORDS: Mapping[str, Mapping[str, set[str]]] = {
    "queries": {"text": _SEARCH, "key": _ID, "need": {"intent", "need", "description", "narrative"}},
    "documents": {
        "id": _ID,
        "title": {"title", "name", "headline"},
        "body": {"text", "body", "content", "description", "details", "summary"},
        "url": {"url", "link"},
    },
    "results": {
        "query": _SEARCH,
        "document": _ITEM,
        "rank": {"rank", "position", "pos", "place"},
        "score": {"score"},
        "system": {"system", "engine", "run", "variant", "algorithm"},
    },
    "ratings": {
        "query": _SEARCH,
        "document": _ITEM,
        "rater": {"rater", "judge", "assessor", "annotator", "reviewer"},
        "grade": {"grade", "rating", "relevance", "label", "judgment", "judgement", "score"},
    },
}
_DOCUMENT_IDS = ("id", "document")  # the roles of ids of documents; those of queries have the role "key"
_NEVER_BLANK = (*_DOCUMENT_IDS, "key", "query", "text", "rank")
Cells = Mapping[str, Sequence[str]]  # column -> the texts of its first cells, without blank ones


def proposed(kind: str, cells: Cells, roles: Mapping[str, str], collection: Collection) -> dict[str, str]:
    """Column -> role for all columns of `cells`: as in `roles`, and proposals for roles without a column.

    A column that is only an extra field (FIELDS) counts as one without a role. "" for a column that holds nothing
    of this kind. Three database queries.
    """
    documents, queries = _stored_names(cells, collection)
    records = max(map(len, cells.values()), default=0)  # a column without blank cells has as many texts
    fits: dict[tuple[str, str], int] = {}  # (column, role) -> how well the column fits the role
    for role, role_words in _WORDS[kind].items():
        # `_fit` uses these names only for roles of ids and of queries.
        stored = documents if role in _DOCUMENT_IDS else queries
        for name, texts in cells.items():
            has_blanks = len(texts) < records
            if not (has_blanks and role in _NEVER_BLANK):
                words_of_name = set(normalised(name).split("_"))
                fits[name, role] = _fit(role, texts, named=bool(role_words & words_of_name), stored=stored)
    result = {name: role for name, role in roles.items() if role not in ("", FIELDS)}
    # The best fit first. Among equal ones they stay in the order of the roles and then of the columns.
    for name, role in sorted(fits, key=lambda key: -fits[key]):
        # 0 is no fit. A column gets one role, and a role one column.
        if fits[name, role] and name not in result and role not in result.values():
            result[name] = role
    # In a table of pairs (query, document), some columns belong to the pair, and so are no field of either.
    is_table_of_pairs = is_of_pairs(kind, cells.keys())
    keeps_fields = SEVERAL.get(kind) == FIELDS  # of queries and documents, other columns are kept as fields
    for name in cells.keys() - result.keys():
        result[name] = FIELDS if keeps_fields and is_field(kind, name, is_table_of_pairs) else ""
    return {name: result[name] for name in cells}


def lacking(kind: str, roles: Mapping[str, str]) -> list[str]:
    """The roles that rows of `kind` need and that no column has."""
    raters = tuple(name for name, role in roles.items() if role == RATERS)
    return missing(kind, Layout({role: name for name, role in roles.items() if role}, raters, ()))


def _stored_names(cells: Cells, collection: Collection) -> tuple[set[str], set[str]]:
    """The ids of documents, and the ids and texts of queries of the collection that are among the cells."""
    texts = {text for column in cells.values() for text in column}
    ids = set(map(without_blanks, texts))
    documents = set(collection.documents.filter(key__in=ids).values_list("key", flat=True))
    keys = collection.queries.filter(key__in=ids).values_list("key", flat=True)
    return documents, {*keys, *collection.queries.filter(text__in=texts).values_list("text", flat=True)}


def _fit(role: str, texts: Sequence[str], *, named: bool, stored: set[str]) -> int:
    """How well a column with these texts fits a role; 0 if the texts cannot be of this role.

    It is FIT_KNOWN for a role of ids or queries if most texts are those of the collection. Otherwise it is
    FIT_NAMED for a fitting name of the column, plus FIT_ALIKE for texts that look like those of the role.
    `named`: whether the name fits. `stored`: the ids and texts of the collection that are among the cells.
    """
    if not texts:
        return 0
    found = sum(text in stored or without_blanks(text) in stored for text in texts)
    if role in (*_DOCUMENT_IDS, "key", "query") and found > len(texts) / 2:
        return FIT_KNOWN
    addresses = all(text.startswith(("http://", "https://")) for text in texts)
    long = sum(map(len, texts)) > LENGTH_OF_PROSE * len(texts)
    numbers = all(map(is_number, texts))
    distinct = 1 < len(texts) == len(set(texts))  # several, and no two the same
    # `fits`: whether the texts can be of the role. `alike`: whether they also look like those of the role.
    alike = False
    if role == "url":
        fits = alike = addresses
    elif role in ("rank", "score"):
        fits = numbers
    elif role in (*_DOCUMENT_IDS, "key"):
        no_ids = long or addresses or any(" " in text or _is_decimal(text) for text in texts)
        # Many results or ratings may be of one document. With a single text nothing shows whether it repeats.
        may_repeat = role == "document" or len(texts) == 1
        fits = not no_ids and (distinct or may_repeat)
        alike = distinct and all(any(map(str.isdigit, text)) for text in texts)
    elif role == "body":
        fits, alike = not addresses, long
    elif role in ("title", "text", "query"):
        fits = not (long or addresses or numbers)
        alike = distinct and any(" " in text for text in texts)
    else:
        fits = not addresses
    return FIT_NAMED * named + FIT_ALIKE * alike if fits else 0


def _is_decimal(text: str) -> bool:
    return is_number(text) and not text.isdecimal()
