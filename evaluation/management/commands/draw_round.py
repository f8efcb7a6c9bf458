from evaluation.decisive import ORDERS, Aim, draw_next
from ratings.management.commands._collection_command import CollectionCommand, Refused
from ratings.models import Collection, Drawn, Round

from .evaluate import add_options, add_rule, add_systems, changes


class Command(CollectionCommand):
    help = (
        "Draw a round of pairs to be rated next, and give raters its order: of pairs that tell most about which"
        " system is better, or at random. A worker does it by itself whenever raters have done half of the last"
        " round."
    )

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--measure", help="nDCG with a cutoff, like nDCG@10 (the one of the last round, or nDCG@10)"
        )
        add_systems(parser)
        add_options(parser)
        add_rule(parser)
        parser.add_argument(
            "--order",
            choices=[order.value for order in ORDERS],
            default=Collection.Order.DECISIVE.value,
            help="decisive: what tells which system is better; random: all pairs by equal chances (decisive)",
        )
        parser.add_argument("--seed", type=int, help="of the draw, to make the same one again (a random one)")

    def handle(
        self, *, slug: str, measure: str | None, system: list[str], order: str, seed: int | None, **given
    ) -> None:
        collection = self.collection(slug, to_change=True)
        if system and order == Collection.Order.RANDOM:
            raise Refused("The order at random is about all systems: leave --system out.")
        try:
            aim = self.aim(collection, measure, system, given)
            collection.aim, collection.order = aim.stored(), order
            made = draw_next(collection, seed=seed)
        except ValueError as error:
            raise Refused(str(error)) from error
        if made is None:
            raise Refused("No pair is left to draw: pool deeper, or judge what is drawn. Nothing was changed.")
        collection.save(update_fields=["aim", "order"])
        queries = made.drawn.values("pair__query").distinct().count()
        self.stdout.write(
            f"Round {made.number}: {made.drawn.count():,} of {made.frame:,} pairs, {how(made)}, of {queries:,}"
            " queries."
        )

    def aim(self, collection: Collection, measure: str | None, system: list[str], given: dict) -> Aim:
        """What the options say; without a measure, what the collection has."""
        if not measure and not system and not changes(given):
            return Aim.of(collection)
        measure = measure or collection.aim.get("measure", "nDCG@10")
        options = {name: str(value) for name, value in changes(given).items()}
        judged = {name: given[name] for name in ("profile", "rule", "adjudications")}
        return Aim.of(collection, measure=measure, options=options, systems=system or None, **judged)


def how(made: Round) -> str:
    """How the pairs of a round were drawn."""
    if made.collection.order == Collection.Order.RANDOM:
        return f"drawn by equal chances with seed {made.seed}"
    greedy = made.drawn.filter(kind=Drawn.Kind.GREEDY).count()
    return f"{greedy:,} of them the most telling ones and the others drawn with seed {made.seed}"
