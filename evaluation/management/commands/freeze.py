from django.contrib.auth import get_user_model

from evaluation import frozen
from ratings.management.commands._collection_command import CollectionCommand, Refused
from ratings.management.refusals import refusing

from .evaluate import add_measures, add_options, add_rule_and_adjudications, add_systems, asked_in


class Command(CollectionCommand):
    help = "Freeze an evaluation: judgments, rankings, options and numbers as they are now, never to be changed."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--name", required=True, help="name of the frozen evaluation, on pages and in commands"
        )
        parser.add_argument("--note", default="", help="why it is frozen, or what is special about it")
        parser.add_argument("--by", metavar="USERNAME", help="account that is shown as its author")
        add_measures(parser)
        add_systems(parser)
        add_options(parser)
        add_rule_and_adjudications(parser)
        text = "also the expected values of nDCG@k once all is judged, and the rounds that they rest on"
        parser.add_argument("--expected", action="store_true", help=text)

    def handle(self, *, slug: str, name: str, measure: list[str], system: list[str], **arguments) -> None:
        collection = self.collection(slug)
        name = " ".join(name.split())
        if not 0 < len(name) <= frozen.NAME_LENGTH:
            raise Refused(f"--name has 1 to {frozen.NAME_LENGTH} characters, not {len(name)}.")
        with refusing("Nothing was frozen."):
            asked = asked_in(collection, next(iter(measure), None), system, arguments)
            evaluation, is_new = frozen.freeze(
                collection,
                name,
                asked,
                beside=measure[1:],
                note=arguments["note"],
                by=self.account(arguments["by"]),
                expected=arguments["expected"],  # whether expected values are frozen, too
            )
        if not is_new:
            self.stderr.write(f"The same content is already frozen as {evaluation.name!r}. Nothing new was made.")
        self.stdout.write(evaluation.hash)

    def account(self, username: str | None):
        """The account with this name; None without a name. Raises Refused for an unknown one."""
        if username is None:
            return None
        user = get_user_model().objects.filter(username=username).first()
        if user is None:
            raise Refused(f"There is no account {username!r}. Nothing was frozen.")
        return user
