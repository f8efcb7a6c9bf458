from ratings.models import Pair
from ratings.pool import pooling

from ._collection_command import CollectionCommand, Refused
from .adjudicate import known_document, known_query


class Command(CollectionCommand):
    help = "Retire pairs from the pool: nobody is assigned them any more, and their ratings stay."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("query", help="its id")
        parser.add_argument("document", nargs="?", help="its id; without it, all pairs of the query")
        parser.add_argument("--back", action="store_true", help="bring retired pairs back")

    def handle(self, *, slug: str, query: str, document: str | None, back: bool, **options) -> None:
        collection = self.collection(slug, to_change=True)
        try:
            pairs = Pair.objects.filter(query=known_query(collection, query))
            if document is not None:
                pairs = pairs.filter(document=known_document(collection, query, document))
        except ValueError as error:
            raise Refused(str(error)) from error
        act, done = (pooling.bring_back, "brought back") if back else (pooling.retire, "retired")
        changed = act(collection, list(pairs.order_by("pk").values_list("pk", flat=True)))
        self.stdout.write(f"{changed:,} pair{'' if changed == 1 else 's'} {done}.")
