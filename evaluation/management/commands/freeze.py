from django.contrib.auth import get_user_model

from evaluation import frozen, scores
from evaluation.judgments import ADJUDICATIONS, RULES
from evaluation.measures import PROFILES
from ratings.management.commands._collection_command import CollectionCommand, Refused

from .evaluate import OPTIONS, changes


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
        parser.add_argument("--system", action="append", default=[], help="only this system; may be repeated")
        parser.add_argument("--profile", default="default", help=f"a set of options: {', '.join(PROFILES)}")
        for name, values in OPTIONS.items():
            parser.add_argument(f"--{name.replace('_', '-')}", dest=name, help=values)
        parser.add_argument("--rule", default="mean", help=f"several ratings to one judgment: {', '.join(RULES)}")
        parser.add_argument(
            "--adjudications", default="use", help=f"decisions above the ratings: {', '.join(ADJUDICATIONS)} (use)"
        )

    def handle(self, *, slug: str, name: str, measure: list[str], system: list[str], **given) -> None:
        collection = self.collection(slug)
        name = " ".join(name.split())
        if not 0 < len(name) <= frozen.NAME_LENGTH:
            raise Refused(f"--name has 1 to {frozen.NAME_LENGTH} characters, not {len(name)}.")
        try:
            found, new = frozen.freeze(
                collection,
                name,
                measure or ["nDCG@10"],
                scores.options_for(collection, given["profile"], **changes(given)),
                note=given["note"],
                by=self.account(given["by"]),
                profile=given["profile"],
                systems=system or None,
                rule=given["rule"],
                adjudications=given["adjudications"],
            )
        except ValueError as error:
            raise Refused(f"{str(error).rstrip('.')}. Nothing was frozen.") from error
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
