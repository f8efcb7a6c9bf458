from ratings.importing import jobs
from ratings.management.refusals import refusing
from ratings.models import Collection
from ratings.pool import judging, pooling

from ._collection_command import CollectionCommand


class Command(CollectionCommand):
    help = "Ask for ratings of the first documents of the rankings."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--depth", type=int, default=10, help="ranks of each ranking (10)")
        parser.add_argument("--ratings", type=int, default=1, help="grades that each pair should get (1)")
        parser.add_argument("--system", action="append", default=[], help="only this system; may be repeated")
        text = "how raters get documents from now on: query by query, best ranked first, at random, or most"
        text += " informative first"
        parser.add_argument("--order", choices=Collection.Order.values, help=text)

    def handle(
        self, *, slug: str, depth: int, ratings: int, system: list[str], order: str | None = None, **options
    ) -> None:
        collection = self.collection(slug, to_change=True)
        systems = self.systems(collection, system)
        with refusing(last_sentence=""):
            pooled = pooling.pool(collection, depth=depth, wanted=ratings, systems=systems)
        jobs.fetch_pictures(collection, by=None)  # for no account; a worker does it, if any are shown
        if order:
            judging.save_settings(collection, order=order)
        self.stdout.write(f"{pooled.pairs:,} pairs in the pool, {pooled.new_ratings:,} ratings newly wanted.")
        for name, count, in_no_other in pooled.by_system:
            self.stdout.write(f"  {name}: {count:,} pairs, {in_no_other:,} of them its own")
