from pathlib import Path

from django.apps import apps

from ratings.importing import intake
from ratings.management.refusals import refusing

from ._collection_command import Refused
from ._import_command import ImportRowsCommand


class Command(ImportRowsCommand):
    help = "Import ratings of several raters, as export_ratings writes them or in another format."
    kind = "ratings"

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        text = "who gave the ratings that name no rater; of machines, whose are imported"
        parser.add_argument("--rater", metavar="NAME", help=text)
        text = "who gave them; grades of machines are kept apart, under a judge, and never count as ratings"
        kinds = ["people", "machine"] if apps.is_installed("ratings.judges") else ["people"]
        parser.add_argument("--kind", choices=kinds, default="people", help=text)
        parser.add_argument("--model", default="", metavar="NAME", help="of a machine: the model that graded")
        parser.add_argument("--prompt", metavar="FILE", help="of a machine: the prompt, if it is known")

    def handle(self, *, slug: str, files: list[str], **options) -> None:
        if options["kind"] == "machine":
            self.import_machine_grades(slug, files, options)
            return
        if options["model"] or options["prompt"]:
            raise Refused("--model and --prompt are for machines: give --kind machine. Nothing was written.")
        self.run_row_import(intake.import_ratings, slug, files, options, "rater", "repeats")

    def import_machine_grades(self, slug: str, files: list[str], options: dict) -> None:
        from ratings.judges.importing import import_grades  # a room that can be taken out

        if not options["model"]:
            raise Refused("Which model graded? Name it with --model. Nothing was written.")
        with refusing():
            prompt = options["prompt"] and Path(options["prompt"]).read_text(encoding="utf-8")
        self.run_row_import(import_grades, slug, files, options | {"prompt": prompt}, "rater", "model", "prompt")
