from evaluation.agreeing import consistency
from evaluation.agreeing.consistency import Agreement, Order
from evaluation.measures import parse_measure
from evaluation.page.words import degree
from evaluation.record import cache
from evaluation.significance.draws import MOST_RATER_DRAWS, RATER_DRAWS, SEED
from ratings.management.commands._collection_command import ExportCommand, Refused
from ratings.management.refusals import refusing
from ratings.words import counted

from .evaluate import (
    Column,
    add_format,
    add_options,
    add_rule_and_adjudications,
    add_systems,
    asked_in,
    decimals,
    printed,
    refuse_format,
    text_table,
)

DISPUTED_PAIRS = 10  # in the table


class Command(ExportCommand):
    help = "Print the agreement of raters, the bias of each, and how stable the order of systems is."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--measure",
            help="a measure, like nDCG@10: also print whether the order of systems by it is the same with other"
            " raters; the options below are for this measure",
        )
        add_systems(parser)
        parser.add_argument(
            "--draws", type=int, default=RATER_DRAWS, help=f"number of resamples of the ratings ({RATER_DRAWS})"
        )
        parser.add_argument("--seed", type=int, default=SEED, help=f"seed of the resamples ({SEED})")
        add_options(parser)
        add_rule_and_adjudications(parser)
        add_format(parser)

    def handle(
        self, *, slug: str, measure: str | None, system: list[str], draws: int, seed: int, **arguments
    ) -> None:
        collection = self.collection(slug)
        refuse_format(arguments["format"])
        if not 1 <= draws <= MOST_RATER_DRAWS:
            raise Refused(f"--draws must be from 1 to {MOST_RATER_DRAWS:,}, not {draws}.")
        if seed < 0:
            raise Refused(f"--seed must not be negative, not {seed}.")
        with refusing(last_sentence=""):
            # Without a measure this only refuses arguments that have no meaning.
            asked = asked_in(collection, measure, system, arguments)
            order = consistency.order_of(collection, asked, draws, seed) if measure else None
        agreement = consistency.agreement_of(cache.opinions(collection))
        text = printed(
            arguments,
            document=lambda: consistency.document(agreement, order),
            table=lambda: consistency.table(agreement, order),
            text=lambda: as_table(agreement, order),
        )
        self.put_out([text], arguments["output"])
        if agreement.lacking:  # the reason why agreement cannot be computed
            self.stderr.write(f"{slug}: {agreement.lacking}, so that there is nothing to agree")


# The text table


def as_table(agreement: Agreement, order: Order | None) -> str:
    """The text tables: coefficients, raters, pairs of raters, disputed pairs and, unless None, the order."""
    document = consistency.document(agreement, order)
    tables = [count_line(document["counts"]), text_table(document["coefficients"], OF_COEFFICIENTS, left=1)]
    if document["raters"]:
        tables.append(text_table(document["raters"], OF_RATERS, left=1))
    if document["pairs_of_raters"]:
        tables.append(text_table(document["pairs_of_raters"], OF_TWO_RATERS, left=2))
    if disputed := document["disputed"]:
        rest = f"and {len(disputed) - DISPUTED_PAIRS:,} more\n" if len(disputed) > DISPUTED_PAIRS else ""
        tables.append(text_table(disputed[:DISPUTED_PAIRS], OF_DISPUTES, left=2) + rest)
    if order:
        tables.append(order_lines(document["order"]))
    return "\n".join(tables)


def count_line(counts: dict) -> str:
    text = {name: f"{count:,}" for name, count in counts.items()}
    return (
        f"raters with grades: {text['raters']}; grades: {text['ratings']}, of {text['graded']} pairs;"
        f' with two or more: {text["graded_twice"]}; "cannot judge": {text["cannot_judge"]}\n'
    )


def note(row: dict) -> str:
    """Why a coefficient is missing, or that it is of few pairs."""
    of_few = f"fewer than {consistency.FEWEST_PAIRS} pairs: too few to go by" if row["few"] else ""
    return next(iter(row["why"].values()), of_few)


def columns_of(names: str) -> list[tuple[str, Column]]:
    """The columns with these names, which JSON and CSV have, too; `low` stands for the 95 % interval."""
    return [("95 % interval", ("low", "high")) if name == "low" else (name, name) for name in names.split()]


OF_COEFFICIENTS: list[tuple[str, Column]] = [
    ("coefficient", lambda row: consistency.NAMES[row["name"]]),
    *columns_of("value low pairs"),
    ("note", note),
]
OF_RATERS = columns_of("rater ratings cannot mean shared bias low spread agree")
OF_TWO_RATERS = columns_of("first second pairs agree within_one kappa linear quadratic")
OF_DISPUTES = columns_of("query document ratings lowest highest mean deviation")


def order_lines(order: dict) -> str:
    """The table of systems and the notes on their order. order: that of the JSON document.

    The order holds in a resample of the ratings if no two systems change places in it. `holds` and `leader_holds`
    are the shares of resamples in which the whole order holds and in which no system passes the first one; None
    where no two systems differ.
    """
    if not order["systems"]:
        return f"{order['measure']}: no order of systems, because {order['why']['systems']}\n"
    columns: list[tuple[str, Column]] = [
        ("system", "system"),
        (order["measure"], "mean"),
        ("queries", "queries"),
        ("95 % interval by raters", ("low", "high")),
    ]
    resamples = f"{order['draws']:,} resamples of the ratings of {order['pairs']:,} pairs (seed {order['seed']})"
    if order["holds"] is None:
        notes = [f"no order to hold in {resamples}: {order['why']['holds']}"]
    else:
        holds, leads = f"{order['holds']:.1%}", f"{order['leader_holds']:.1%}"
        best_or_highest = degree(parse_measure(order["measure"])).most  # best only where more is better
        notes = [f"the order holds in {holds} of {resamples}, the {best_or_highest} system in {leads}"]
    if order["tau"] is not None:
        notes.append(f"Kendall's tau with the order of all ratings is {decimals(order['tau'])} in the mean")
    for row in order["without"]:  # the order if one rater had given no ratings
        swaps = ", ".join(f"{second} passes {first}" for first, second in row["reversed"]) or "the order holds"
        unjudged = counted(row["unjudged"], "pair is", "pairs are")
        lost = f" ({unjudged} then unjudged)" if row["unjudged"] else ""
        notes.append(f"without {row['rater']}: {swaps}{lost}")
    lines = "".join(f"{line}\n" for line in [*notes, order["fingerprint"]])
    return text_table(order["systems"], columns, left=1) + lines
