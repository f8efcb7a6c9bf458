from django.core.management.base import BaseCommand, CommandError

from ratings import pooling
from ratings.models import Collection


class Command(BaseCommand):
    help = "Ask for ratings of every document that a system ranks in its first places."

    def add_arguments(self, parser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--depth", type=int, default=10, help="how many places of each ranking (10)")
        parser.add_argument("--ratings", type=int, default=1, help="how many grades each pair should get (1)")
        parser.add_argument("--system", action="append", default=[], help="only this system; may be repeated")

    def handle(self, *, slug: str, depth: int, ratings: int, system: list[str], **options) -> None:
        collection = Collection.objects.filter(slug=slug).first()
        if collection is None:
            raise CommandError(f"There is no collection {slug!r}. Make it with create_collection.")
        systems = list(collection.systems.filter(name__in=system) if system else collection.systems.all())
        unknown = sorted(set(system) - {s.name for s in systems})
        if unknown or not systems:
            known = ", ".join(collection.systems.values_list("name", flat=True)) or "none; use import_run first"
            raise CommandError(f"No such system: {', '.join(unknown) or '(none)'}. Systems here: {known}.")
        try:
            pooled = pooling.pool(collection, depth=depth, wanted=ratings, systems=systems)
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{pooled.pairs:,} pairs in the pool, {pooled.new_assignments:,} ratings newly wanted.")
        for name, count in pooled.by_system.items():
            self.stdout.write(f"  {name}: {count:,} pairs, {pooled.only_by_system[name]:,} of them its own")
