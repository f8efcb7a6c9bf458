from evaluation import record
from evaluation.analyses import consistency, report
from evaluation.analyses.consistency import Agreement, Order
from evaluation.draws import MOST_RATERS, RATERS, SEED
from ratings.formats import spreadsheet
from ratings.management.commands._collection_command import ExportCommand, Refused

from .evaluate import (
    add_format,
    add_options,
    add_rule,
    add_systems,
    aligned,
    between,
    chosen,
    four,
    refuse_format,
    setup_in,
)

DISPUTED = 10  # pairs that the table shows


class Command(ExportCommand):
    help = "Print how far raters agree, what each does, and whether the order of systems depends on who rated."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--measure",
            help="like nDCG@10: also whether systems would stand in this order with other raters; the options"
            " below belong to it",
        )
        add_systems(parser)
        parser.add_argument(
            "--draws", type=int, default=RATERS, help=f"times that raters are resampled ({RATERS})"
        )
        parser.add_argument("--seed", type=int, default=SEED, help=f"what the draws begin with ({SEED})")
        add_options(parser)
        add_rule(parser)
        add_format(parser)

    def handle(self, *, slug: str, measure: str | None, system: list[str], draws: int, seed: int, **given) -> None:
        collection = self.collection(slug)
        refuse_format(given["format"])
        if not 1 <= draws <= MOST_RATERS:
            raise Refused(f"--draws must be from 1 to {MOST_RATERS:,}, not {draws}.")
        if seed < 0:
            raise Refused(f"--seed must not be negative, not {seed}.")
        try:
            setup = setup_in(collection, system, given)
            order = measure and consistency.order_of(collection, measure, setup, draws, seed)
        except ValueError as error:
            raise Refused(str(error)) from error
        said = consistency.agreement_of(record.opinions(collection))
        self.put_out([chosen(FORMATS, given)(said, order)], given["output"])
        if said.lacking:
            self.stderr.write(f"{slug}: {said.lacking}, so that there is nothing to agree")


# The three formats: (what was said, how systems stand or None) -> text


def as_json(said: Agreement, order: Order | None) -> str:
    return report.as_text(consistency.document(said, order))


def as_csv(said: Agreement, order: Order | None, *, raw: bool = False) -> str:
    header, lines = consistency.table(said, order)
    return "".join(spreadsheet.written([header, *lines], raw=raw, end="\n"))


def as_table(said: Agreement, order: Order | None) -> str:
    found = consistency.document(said, order)
    parts = [count_line(found["counts"])]
    parts.append(aligned(coefficient_lines(found), left=1))
    if found["raters"]:
        parts.append(aligned(rater_lines(found), left=1))
    if found["pairs_of_raters"]:
        parts.append(aligned(both_lines(found), left=2))
    if found["disputed"]:
        parts.append(aligned(disputed_lines(found), left=2))
    if order:
        parts.append(order_lines(found["order"]))
    return "\n".join(parts)


def count_line(counts: dict) -> str:
    said = {name: f"{count:,}" for name, count in counts.items()}
    return (
        f"raters with grades: {said['raters']}; grades: {said['ratings']}, of {said['graded']} pairs;"
        f' with two or more: {said["graded_twice"]}; "cannot judge": {said["cannot_judge"]}\n'
    )


def coefficient_lines(found: dict) -> list[list[str]]:
    lines = [["", "value", "95 % interval", "pairs", ""]]
    for row in found["coefficients"]:
        notes = list(dict.fromkeys(row["why"].values()))
        if row["few"] and not notes:
            notes = [f"fewer than {consistency.FEWEST} pairs: too few to go by"]
        numbers = [four(row["value"]), between(row["low"], row["high"]), f"{row['pairs']:,}"]
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


def rater_lines(found: dict) -> list[list[str]]:
    header = "rater, grades, cannot judge, mean, shared, bias, 95 % interval, spread, same grade"
    lines = [header.split(", ")]
    for row in found["raters"]:
        numbers = [four(row["bias"]), between(row["low"], row["high"]), four(row["spread"]), four(row["agree"])]
        counts = [f"{row['ratings']:,}", f"{row['cannot']:,}", four(row["mean"]), f"{row['shared']:,}"]
        lines.append([row["rater"], *counts, *numbers])
    return lines


def both_lines(found: dict) -> list[list[str]]:
    lines = [["rater", "and", "pairs", "same grade", "next", "kappa", "linear", "quadratic"]]
    for row in found["pairs_of_raters"]:
        numbers = [four(row[name]) for name in ("agree", "within_one", "kappa", "linear", "quadratic")]
        lines.append([row["first"], row["second"], f"{row['pairs']:,}", *numbers])
    return lines


def disputed_lines(found: dict) -> list[list[str]]:
    shown, more = found["disputed"][:DISPUTED], len(found["disputed"]) - DISPUTED
    lines = [["query", "document", "grades", "lowest", "highest", "mean", "deviation"]]
    for row in shown:
        numbers = [f"{row['lowest']:g}", f"{row['highest']:g}", four(row["mean"]), four(row["deviation"])]
        lines.append([row["query"], row["document"], str(row["ratings"]), *numbers])
    return lines + ([[f"and {more:,} more", *[""] * 6]] if more > 0 else [])


def order_lines(stands: dict) -> str:
    if not stands["systems"]:
        return f"{stands['measure']}: no order of systems, because {stands['why']['systems']}\n"
    lines = [["system", stands["measure"], "95 % interval by raters"]]
    lines += [[row["system"], four(row["mean"]), between(row["low"], row["high"])] for row in stands["systems"]]
    drawn = f"{stands['draws']:,} resamples of the ratings of {stands['pairs']:,} pairs (seed {stands['seed']})"
    if stands["holds"] is None:
        said = [f"no order to hold in {drawn}: {stands['why']['holds']}"]
    else:
        holds, leads = f"{stands['holds']:.1%}", f"{stands['leader_holds']:.1%}"
        said = [f"the order holds in {holds} of {drawn}, the best system in {leads}"]
    if stands["tau"] is not None:
        said.append(f"Kendall's tau with the order of all ratings is {four(stands['tau'])} in the mean")
    for row in stands["without"]:
        swaps = ", ".join(f"{second} passes {first}" for first, second in row["reversed"]) or "the order holds"
        lost = f" ({row['unjudged']:,} pairs are then unjudged)" if row["unjudged"] else ""
        said.append(f"without {row['rater']}: {swaps}{lost}")
    return aligned(lines, left=1) + "".join(f"{line}\n" for line in said) + f"{stands['fingerprint']}\n"


FORMATS = {"table": as_table, "csv": as_csv, "json": as_json}
