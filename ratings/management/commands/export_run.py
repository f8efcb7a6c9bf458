from ratings.copies import rows

from ._collection_command import ExportRowsCommand, Refused


class Command(ExportRowsCommand):
    help = "Export the rankings of a system, as a TREC run or in another format."
    kind = "results"
    default = "trec-run"

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("system")

    def handle(self, *, slug: str, system: str, format: str, output: str | None, **options) -> None:
        systems = self.collection(slug).systems
        chosen = systems.filter(name=system).first()
        if chosen is None:
            known = ", ".join(systems.values_list("name", flat=True)) or "none; use import_run first"
            raise Refused(f"There is no system {system!r}. Systems here: {known}.")
        self.write(rows.run(chosen), format, output, raw=options["raw"])
