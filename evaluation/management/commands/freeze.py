from django.contrib.auth import get_user_model

from evaluation import frozen
from ratings.management.commands._collection_command import CollectionCommand, Refused

from .evaluate import add_options, add_rule, add_systems, setup_in


class Command(CollectionCommand):
    help = "Freeze an evaluation: judgments, rankings, options and numbers as they are now, never to be changed."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--name", required=True, help="by which people and commands find it again")
        parser.add_argument("--note", default="", help="why it is frozen, or what is special about it")
        parser.add_argument("--by", metavar="USERNAME", help="the account that stands beside it")
        parser.add_argument(
            "--measure",
            action="append",
            default=[],
            help="like nDCG@10, P(rel=2)@5, AP; may be repeated, the first is the main one (nDCG@10)",
        )
        add_systems(parser)
        add_options(parser)
        add_rule(parser)
        said = "also the means of nDCG@k that are expected once everything is judged, and the rounds behind them"
        parser.add_argument("--expected", action="store_true", help=said)

    def handle(self, *, slug: str, name: str, measure: list[str], system: list[str], **given) -> None:
        collection = self.collection(slug)
        name = " ".join(name.split())
        if not 0 < len(name) <= frozen.NAME_LENGTH:
            raise Refused(f"--name has 1 to {frozen.NAME_LENGTH} characters, not {len(name)}.")
        try:
            setup = setup_in(collection, system, given)
            by = self.account(given["by"])
            found, new = frozen.freeze(
                collection, name, measure or ["nDCG@10"], setup, given["note"], by, given["expected"]
            )
        except ValueError as error:
            raise Refused(f"{error} Nothing was frozen.") from error
        if not new:
            self.stderr.write(f"The same content is already frozen as {found.name!r}. Nothing new was made.")
        self.stdout.write(found.hash)

    def account(self, username: str | None):
        if username is None:
            return None
        user = get_user_model().objects.filter(username=username).first()
        if user is None:
            raise Refused(f"There is no account {username!r}. Nothing was frozen.")
        return user
