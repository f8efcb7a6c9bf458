import json
from decimal import Decimal, InvalidOperation
from pathlib import Path

from django.db import transaction

from ratings.formats import strict_json
from ratings.formats.refusal import as_sentence
from ratings.judges import choosing, forms, probes, prompts, runs, versions
from ratings.models import Collection, JudgeRun, JudgeVersion, Probe

from ._collection_command import CollectionCommand, Refused

CHOICES = [name for name, _ in forms.CHOICES]


class Command(CollectionCommand):
    help = "Ask a language model for grades of pairs, which are kept apart from ratings. Prints an estimate first."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="the name of the judge; an unknown one is created")
        parser.add_argument("--model", required=True, help="the model, by its name on the server")
        parser.add_argument("--url", required=True, help="the URL of the API, such as http://127.0.0.1:11434/v1")
        parser.add_argument("--template", choices=[*prompts.TEMPLATES, prompts.OWN], default="scale")
        parser.add_argument(
            "--prompt", metavar="FILE", help="for --template own: a text with {query} and {document}"
        )
        text = "the path of a part of the presentation that the judge sees; may be repeated (all parts with text)"
        parser.add_argument("--sees", action="append", metavar="PATH", help=text)
        parser.add_argument(
            "--sampling", default=json.dumps(versions.SAMPLING), help="sampling parameters, as JSON"
        )
        parser.add_argument("--no-schema", action="store_true", help="for servers that refuse response_format")
        parser.add_argument("--seed", type=int, default=1, help="the seed that is sent to the model (1)")
        parser.add_argument("--price-in", default="0", metavar="PRICE", help="price of a million input tokens")
        parser.add_argument("--price-out", default="0", metavar="PRICE", help="price of a million output tokens")
        parser.add_argument("--pairs", choices=CHOICES, default="rated", help="the pairs that it grades (rated)")
        parser.add_argument("--size", type=int, default=100, help="number of pairs, for --pairs random and again")
        parser.add_argument("--draw", type=int, default=1, metavar="SEED", help="the seed of random draws (1)")
        parser.add_argument("--depth", type=int, default=10, help="depth of the rankings, for --pairs holes (10)")
        parser.add_argument(
            "--probes", type=int, metavar="QUERIES", help="grade probes for this many queries instead of pairs"
        )
        parser.add_argument("--concurrency", type=int, default=4, help="calls at the same time (4)")
        parser.add_argument("--per-minute", type=int, default=0, help="calls a minute at most; 0 for no limit")
        parser.add_argument("--calls", type=int, help="calls at most (twice the number of pairs)")
        parser.add_argument("--cost", help="cost at most")
        parser.add_argument("--estimate", action="store_true", help="print the estimate; send and store nothing")

    def handle(self, *, slug: str, name: str, **options) -> None:
        collection = self.collection(slug, to_change=True)
        start = self.start_pairs if options["probes"] is None else self.start_probes
        try:
            with transaction.atomic():
                version = self.version(collection, name, options)
                if options["estimate"]:
                    start(version, options)
                    transaction.set_rollback(True)
                    return
            # A refused run leaves the judge, as people draw its sample on its page.
            run = start(version, options)
        except ValueError as error:
            raise Refused(f"{as_sentence(error)} Nothing was asked.") from error
        except OSError as error:
            raise Refused(f"{error.filename}: {error.strerror}. Nothing was asked.") from error
        if run:
            self.work_on(run)

    def start_probes(self, version: JudgeVersion, options: dict) -> JudgeRun | None:
        """The run that grades probes; None if only the estimate is wanted."""
        if (queries := options["probes"]) < 1:
            raise ValueError(f"Probes are for one query at least, not {queries}")
        calls = len(probes.queries_of(version, queries, options["draw"])) * len(Probe.Kind)
        self.stdout.write(
            f"{version}: at most {calls:,} calls about probes, queries: {calls // len(Probe.Kind):,}."
        )
        if options["estimate"]:
            return None
        return runs.start_probes(version, queries, options["draw"], self.limits(options, 2 * calls))

    def start_pairs(self, version: JudgeVersion, options: dict) -> JudgeRun | None:
        """The run that grades pairs; None if only the estimate is wanted."""
        values = {"size": options["size"], "seed": options["draw"], "depth": options["depth"]}
        chosen = {name: values[name] for name in choosing.OPTIONS.get(options["pairs"], ())}
        estimate = choosing.estimate(version, options["pairs"], chosen, max(1, options["concurrency"]))
        self.stdout.write(
            f"{version}: {estimate.calls:,} calls about {estimate.pairs:,} pairs, {estimate.answered:,} answered"
            f" already or waiting in another run; about {estimate.tokens_in:,} tokens read and"
            f" {estimate.tokens_out:,} written, cost {estimate.cost:f}."
        )
        if not estimate.pairs:
            label = JudgeRun.Choice(options["pairs"]).label
            self.stdout.write(f"There are no such pairs ({label}). Choose others with --pairs.")
        if options["estimate"]:
            return None
        return runs.start(version, options["pairs"], chosen, self.limits(options, 2 * estimate.calls))

    def limits(self, options: dict, usual: int) -> runs.Limits:
        cost = None if options["cost"] is None else money(options["cost"])
        calls = options["calls"] or max(1, usual)
        return runs.Limits(calls, cost, options["concurrency"], options["per_minute"])

    def version(self, collection: Collection, name: str, options: dict) -> JudgeVersion:
        own = Path(options["prompt"]).read_text(encoding="utf-8") if options["prompt"] else ""
        chosen = versions.VersionSettings(
            options["model"],
            options["url"],
            options["template"],
            own,
            tuple(options["sees"]) if options["sees"] else None,
            strict_json.loaded(options["sampling"]),
            not options["no_schema"],
            options["seed"],
            money(options["price_in"]),
            money(options["price_out"]),
        )
        judge = collection.judges.filter(name=name).first() or versions.make_judge(collection, name)
        return versions.make_version(judge, chosen)[0]

    def work_on(self, run: JudgeRun) -> None:
        """Work on the run here, unless a worker has already begun, and print its result."""
        try:
            if run.take_up():
                runs.work_on(run)
        except KeyboardInterrupt:
            runs.pause(run)
            raise Refused(f"Paused: run {run.pk} can be resumed on its page.") from None
        run.refresh_from_db()
        text = (
            f"Run {run.pk} is {run.get_state_display()}: {run.graded:,} graded, {run.ungraded:,} without a grade"
        )
        self.stdout.write(f"{text}, {run.calls:,} calls, cost {run.cost:f}. {run.message}".rstrip())
        if run.state == JudgeRun.State.FAILED:
            raise Refused("Not all pairs were asked.")


def money(text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise ValueError(f"{text!r} is no amount of money, such as 0.15") from error
    if not 0 <= value < 100_000_000:
        raise ValueError(f"{text!r} is no amount of money from 0 to 100,000,000")
    return value
