from ratings import outlet
from ratings.formats import trec

from ._collection_command import ExportCommand, Refused


class Command(ExportCommand):
    help = "Export what a system returned, as a TREC run."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("system")

    def handle(self, *, slug: str, system: str, output: str | None, **options) -> None:
        systems = self.collection(slug).systems
        found = systems.filter(name=system).first()
        if found is None:
            known = ", ".join(systems.values_list("name", flat=True)) or "none; use import_run first"
            raise Refused(f"There is no system {system!r}. Systems here: {known}.")
        self.put_out(map(trec.run_line, outlet.run(found)), output)
