from ratings.formats import values
from ratings.people import members, privacy

from ._collection_command import CollectionCommand, Refused


class Command(CollectionCommand):
    help = "Erase a person from a collection for good. Their ratings stay under a random name."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="the rater, as in exports")
        parser.add_argument("--comments", action="store_true", help="also remove the comments that they wrote")

    def handle(self, *, slug: str, name: str, comments: bool, **options) -> None:
        collection = self.collection(slug)
        rater = collection.raters.select_related("collection", "user").filter(name=name).first()
        if rater is None:
            raise Refused(f"{slug} has no rater {values.quoted(name)}.")
        try:
            pseudonym = privacy.erase(rater, comments=comments)
        except members.LastAdmin as error:
            raise Refused(f"{name} is the only admin of {slug}. Make somebody else an admin first.") from error
        self.stdout.write(f"Erased. Their ratings stay under the name {pseudonym}.")
