from evaluation.management.commands.evaluate import add_options, add_rule_and_adjudications, add_systems, changes
from evaluation.scores import Asked
from ratings.management.commands._collection_command import CollectionCommand, Refused
from ratings.management.refusals import refusing
from ratings.models import Collection, Drawn, Round

from ...aims import aim_of, stored
from ...drawing import ORDERS, draw_next


class Command(CollectionCommand):
    help = (
        "Draw a round of pairs to be rated next, and switch the collection to the order of the round: decisive, or"
        " random. A worker draws a further round when fewer than 30 ratings of drawn, unrated pairs are left, or"
        " fewer than ten for each rater at work."
    )

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--measure",
            help="nDCG with a cutoff, like nDCG@10; by default that of the last round or collection",
        )
        add_systems(parser)
        add_options(parser)
        add_rule_and_adjudications(parser)
        parser.add_argument(
            "--order",
            choices=[order.value for order in ORDERS],
            default=Collection.Order.DECISIVE.value,
            help="decisive: pairs that help most to tell which system is better; random: all pairs with equal"
            " chances (decisive)",
        )
        parser.add_argument("--seed", type=int, help="seed of the draw; by default a random one")

    def handle(
        self, *, slug: str, measure: str | None, system: list[str], order: str, seed: int | None, **arguments
    ) -> None:
        collection = self.collection(slug, to_change=True)
        if system and order == Collection.Order.RANDOM:
            raise Refused("The random order is about all systems: leave --system out.")
        with refusing(last_sentence=""):
            aim = self.aim(collection, measure, system, arguments)
            # `draw_next` reads both from the object. They are saved below, and only if a round could be drawn.
            collection.aim, collection.order = stored(aim), order
            new_round = draw_next(collection, seed=seed)
        if new_round is None:
            raise Refused("No pair is left to draw: pool deeper, or judge what is drawn. Nothing was changed.")
        collection.save(update_fields=["aim", "order"])
        queries = new_round.drawn.values("pair__query").distinct().count()
        self.stdout.write(
            f"Round {new_round.number}: {new_round.drawn.count():,} of {new_round.frame:,} pairs,"
            f" {method(new_round)}, of {queries:,} queries."
        )

    def aim(self, collection: Collection, measure: str | None, system: list[str], arguments: dict) -> Asked:
        """The aim of the arguments; without any, that of the collection."""
        if not measure and not system and not changes(arguments):
            return aim_of(collection)
        measure = measure or collection.aim.get("measure")
        options = {name: str(value) for name, value in changes(arguments).items()}
        judged = {name: arguments[name] for name in ("profile", "rule", "adjudications")}
        return aim_of(collection, measure=measure, options=options, systems=system or None, **judged)


def method(new_round: Round) -> str:
    """The phrase on how the pairs of a round were drawn."""
    if new_round.collection.order == Collection.Order.RANDOM:
        return f"drawn by equal chances with seed {new_round.seed}"
    greedy = new_round.drawn.filter(kind=Drawn.Kind.GREEDY).count()
    return f"{greedy:,} of them the most informative ones and the others drawn with seed {new_round.seed}"
