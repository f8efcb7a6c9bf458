from evaluation import record
from evaluation.agreeing import consistency
from evaluation.agreeing.consistency import Agreement, Order
from evaluation.measures import parse_measure
from evaluation.page import documents
from evaluation.page.words import degree
from evaluation.significance.draws import MOST_RATERS, RATERS, SEED
from ratings.formats import spreadsheet
from ratings.management.commands._collection_command import ExportCommand, Refused

from .evaluate import (
    add_format,
    add_options,
    add_rule,
    add_systems,
    aligned,
    asked_in,
    between,
    decimals,
    format_in,
    refuse_format,
)

DISPUTED = 10  # pairs that the table shows


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
            "--draws", type=int, default=RATERS, help=f"number of resamples of the ratings ({RATERS})"
        )
        parser.add_argument("--seed", type=int, default=SEED, help=f"seed of the resamples ({SEED})")
        add_options(parser)
        add_rule(parser)
        add_format(parser)

    def handle(
        self, *, slug: str, measure: str | None, system: list[str], draws: int, seed: int, **arguments
    ) -> None:
        collection = self.collection(slug)
        refuse_format(arguments["format"])
        if not 1 <= draws <= MOST_RATERS:
            raise Refused(f"--draws must be from 1 to {MOST_RATERS:,}, not {draws}.")
        if seed < 0:
            raise Refused(f"--seed must not be negative, not {seed}.")
        try:
            asked = asked_in(collection, measure, system, arguments)
            order = measure and consistency.order_of(collection, asked, draws, seed)
        except ValueError as error:
            raise Refused(str(error)) from error
        agreement = consistency.agreement_of(record.opinions(collection))
        self.put_out([format_in(FORMATS, arguments)(agreement, order)], arguments["output"])
        if agreement.lacking:
            self.stderr.write(f"{slug}: {agreement.lacking}, so that there is nothing to agree")


# The three formats: (agreement, order of systems or None) -> text


def as_json(agreement: Agreement, order: Order | None) -> str:
    return documents.as_text(consistency.document(agreement, order))


def as_csv(agreement: Agreement, order: Order | None, *, raw: bool = False) -> str:
    header, lines = consistency.table(agreement, order)
    return "".join(spreadsheet.written([header, *lines], raw=raw, end="\n"))


def as_table(agreement: Agreement, order: Order | None) -> str:
    document = consistency.document(agreement, order)
    parts = [count_line(document["counts"])]
    parts.append(aligned(coefficient_lines(document), left=1))
    if document["raters"]:
        parts.append(aligned(rater_lines(document), left=1))
    if document["pairs_of_raters"]:
        parts.append(aligned(pair_of_raters_lines(document), left=2))
    if document["disputed"]:
        parts.append(aligned(disputed_lines(document), left=2))
    if order:
        parts.append(order_lines(document["order"]))
    return "\n".join(parts)


def count_line(counts: dict) -> str:
    text = {name: f"{count:,}" for name, count in counts.items()}
    return (
        f"raters with grades: {text['raters']}; grades: {text['ratings']}, of {text['graded']} pairs;"
        f' with two or more: {text["graded_twice"]}; "cannot judge": {text["cannot_judge"]}\n'
    )


def coefficient_lines(document: dict) -> list[list[str]]:
    lines = [["", "value", "95 % interval", "pairs", ""]]
    for row in document["coefficients"]:
        notes = list(dict.fromkeys(row["why"].values()))
        if row["few"] and not notes:
            notes = [f"fewer than {consistency.FEWEST} pairs: too few to go by"]
        numbers = [decimals(row["value"]), between(row["low"], row["high"]), f"{row['pairs']:,}"]
        lines.append([NAMES[row["name"]], *numbers, *(notes[:1] or [""])])
    return lines


NAMES = {
    "agree": "same grade",
    "within_one": "same or next grade",
    "alpha_nominal": "Krippendorff's alpha, nominal",
    "alpha_ordinal": "Krippendorff's alpha, ordinal",
    "alpha_interval": "Krippendorff's alpha, interval",
    "fleiss_kappa": "Fleiss' kappa",
}


def rater_lines(document: dict) -> list[list[str]]:
    header = "rater, grades, cannot judge, mean, shared, bias, 95 % interval, spread, same grade"
    lines = [header.split(", ")]
    for row in document["raters"]:
        numbers = [
            decimals(row["bias"]),
            between(row["low"], row["high"]),
            decimals(row["spread"]),
            decimals(row["agree"]),
        ]
        counts = [f"{row['ratings']:,}", f"{row['cannot']:,}", decimals(row["mean"]), f"{row['shared']:,}"]
        lines.append([row["rater"], *counts, *numbers])
    return lines


def pair_of_raters_lines(document: dict) -> list[list[str]]:
    lines = [["rater", "and", "pairs", "same grade", "next", "kappa", "linear", "quadratic"]]
    for row in document["pairs_of_raters"]:
        numbers = [decimals(row[name]) for name in ("agree", "within_one", "kappa", "linear", "quadratic")]
        lines.append([row["first"], row["second"], f"{row['pairs']:,}", *numbers])
    return lines


def disputed_lines(document: dict) -> list[list[str]]:
    shown, more = document["disputed"][:DISPUTED], len(document["disputed"]) - DISPUTED
    lines = [["query", "document", "grades", "lowest", "highest", "mean", "deviation"]]
    for row in shown:
        numbers = [f"{row['lowest']:g}", f"{row['highest']:g}", decimals(row["mean"]), decimals(row["deviation"])]
        lines.append([row["query"], row["document"], str(row["ratings"]), *numbers])
    return lines + ([[f"and {more:,} more", *[""] * 6]] if more > 0 else [])


def order_lines(order: dict) -> str:
    if not order["systems"]:
        return f"{order['measure']}: no order of systems, because {order['why']['systems']}\n"
    lines = [["system", order["measure"], "queries", "95 % interval by raters"]]
    lines += [
        [row["system"], decimals(row["mean"]), str(row["queries"]), between(row["low"], row["high"])]
        for row in order["systems"]
    ]
    resamples = f"{order['draws']:,} resamples of the ratings of {order['pairs']:,} pairs (seed {order['seed']})"
    if order["holds"] is None:
        notes = [f"no order to hold in {resamples}: {order['why']['holds']}"]
    else:
        holds, leads = f"{order['holds']:.1%}", f"{order['leader_holds']:.1%}"
        most = degree(parse_measure(order["measure"])).most
        notes = [f"the order holds in {holds} of {resamples}, the {most} system in {leads}"]
    if order["tau"] is not None:
        notes.append(f"Kendall's tau with the order of all ratings is {decimals(order['tau'])} in the mean")
    for row in order["without"]:
        swaps = ", ".join(f"{second} passes {first}" for first, second in row["reversed"]) or "the order holds"
        lost = (
            f" ({row['unjudged']:,} pair{' is' if row['unjudged'] == 1 else 's are'} then unjudged)"
            if row["unjudged"]
            else ""
        )
        notes.append(f"without {row['rater']}: {swaps}{lost}")
    return aligned(lines, left=1) + "".join(f"{line}\n" for line in notes) + f"{order['fingerprint']}\n"


FORMATS = {"table": as_table, "csv": as_csv, "json": as_json}
