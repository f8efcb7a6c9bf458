import re

from django.contrib.auth import get_user_model
from django.db import transaction

from ratings import queue
from ratings.formats import values
from ratings.formats.nearest import ending
from ratings.models import Collection, Document, Grade, Pair, Query
from ratings.pool import adjudication

from ._collection_command import CollectionCommand, Refused


class Command(CollectionCommand):
    help = "Decide the grade of a document for a query, whatever its ratings say, or withdraw the decision."

    def add_arguments(self, parser) -> None:
        # A grade may be negative; argparse would take "-1" for an option.
        parser._negative_number_matcher = re.compile(r"^-[\d.]")
        super().add_arguments(parser)
        parser.add_argument("query", help="its id")
        parser.add_argument("document", help="its id")
        parser.add_argument("grade", nargs="?", help="a grade of the scale, such as -1; none with --withdraw")
        parser.add_argument("--reason", required=True, metavar="TEXT", help="why; kept with the decision")
        parser.add_argument("--by", metavar="USERNAME", help="who decides")
        parser.add_argument(
            "--withdraw", action="store_true", help="withdraw the decision, so that the ratings count again"
        )

    @transaction.atomic
    def handle(self, *, slug: str, query: str, document: str, grade: str | None, **options) -> None:
        collection = self.collection(slug, to_change=True)
        try:
            ids = known_query(collection, query).pk, known_document(collection, query, document).pk
            facts = {"reason": options["reason"], "actor": account(options["by"])}
            if options["withdraw"]:
                done = withdraw(ids, grade, facts)
            else:
                done = adjudicate(collection, ids, grade, facts)
        except (ValueError, adjudication.Adjudicated, adjudication.NotAdjudicated) as error:
            raise Refused(str(error)) from error
        self.stdout.write(f"{query} {document}: {done}.")


def adjudicate(collection: Collection, ids: tuple[int, int], grade: str | None, facts: dict) -> str:
    """Adjudicate the pair, and return what was done. Raises ValueError."""
    if grade is None:
        raise ValueError(f"Give a grade ({scale_of(collection)}) or --withdraw.")
    decided = known_grade(collection, grade)
    pair = Pair.objects.get(pk=queue.pairs_for([ids])[ids])
    adjudication.adjudicate(pair, decided, **facts)
    return f"adjudicated {decided}"


def withdraw(ids: tuple[int, int], grade: str | None, facts: dict) -> str:
    """Withdraw the adjudication, and return what was done. Raises ValueError and NotAdjudicated."""
    if grade is not None:
        raise ValueError(f"--withdraw takes no grade, and {grade} is one.")
    pair = Pair.objects.filter(query=ids[0], document=ids[1]).first()
    if pair is None:
        raise adjudication.NotAdjudicated(None)
    adjudication.withdraw(pair, **facts)
    return "withdrawn, so that its ratings count again"


def known_query(collection: Collection, key: str) -> Query:
    query = collection.queries.filter(key=key).first()
    if query is None:
        end = ending(key, collection.queries.values_list("key", flat=True))
        raise ValueError(f"{collection.slug} has no query {values.quoted(key)}{end}")
    return query


def known_document(collection: Collection, query: str, key: str) -> Document:
    document = collection.documents.filter(key=key).first()
    if document is None:
        # A collection can hold millions of documents, so only those that are paired with the query are compared.
        paired = collection.documents.filter(pairs__query__key=query).values_list("key", flat=True)
        raise ValueError(f"{collection.slug} has no document {values.quoted(key)}{ending(key, paired)}")
    return document


def known_grade(collection: Collection, text: str) -> Grade:
    try:
        return collection.grades.get(value=values.grade(text))
    except (ValueError, Grade.DoesNotExist) as error:
        problem = f"{values.quoted(text)} is not on the scale of {collection.slug}"
        raise ValueError(f"{problem}, which is {scale_of(collection)}.") from error


def scale_of(collection: Collection) -> str:
    return ", ".join(f"{grade.plain} {grade.label}".strip() for grade in collection.grades.all()) or "still empty"


def account(username: str | None):
    """The account of this name; None for no name. Raises ValueError."""
    accounts = get_user_model().objects
    user = accounts.filter(username=username).first()
    if username is not None and user is None:
        end = ending(username, accounts.values_list("username", flat=True))
        raise ValueError(f"There is no account {values.quoted(username)}{end}")
    return user
