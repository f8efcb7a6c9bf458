from evaluation.frozen import dataset
from ratings.database.snapshot import snapshot
from ratings.management.commands._collection_command import ExportCommand, Refused

from .evaluate import add_judgments, judgments_of


class Command(ExportCommand):
    help = "Export queries, documents and judgments as one data set, which import_beir reads, in a ZIP."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        text = "; ".join(f"{name}, {title}" for name, title in dataset.LAYOUTS.items())
        parser.add_argument("--layout", choices=dataset.LAYOUTS, default="beir", help=f"{text} (beir)")
        add_judgments(parser)

    def handle(self, *, slug: str, layout: str, output: str | None, **arguments) -> None:
        collection = self.collection(slug)
        if not output:
            raise Refused("A ZIP is not text. Give --output FILE.")
        with snapshot():
            rows, rule = judgments_of(collection, arguments, dataset.AS_QRELS)
            self.put_out(dataset.written(collection, layout, rows, rule), output)
