import json
from pathlib import Path

from ratings.imports import jobs
from ratings.presentation import versions
from ratings.presentation.content import sample_of
from ratings.presentation.parts import Presented
from ratings.presentation.presets import PRESETS, proposal

from ._collection_command import CollectionCommand, Refused


class Command(CollectionCommand):
    help = "Print how documents are shown, as JSON, or save a new version from a file."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "file", nargs="?", help="JSON as this command prints it; without a file nothing is saved"
        )
        starts = ["proposal", *PRESETS]
        parser.add_argument(
            "--start", choices=starts, help="print a preset instead, or a proposal made from the documents"
        )

    def handle(self, *, slug: str, file: str | None, start: str | None, **options) -> None:
        collection = self.collection(slug)
        if file is None:
            presented = PRESETS.get(start) or versions.latest_of(collection)
            presented = proposal(sample_of(collection)) if start == "proposal" else presented
            self.stdout.write(json.dumps(presented.as_json(), indent=2, ensure_ascii=False))
            return
        latest = collection.latest_presentation()
        try:
            presented = Presented.read(json.loads(Path(file).read_text(encoding="utf-8-sig")))
            saved = versions.publish(collection, presented, base=latest.version if latest else 0)
        except (OSError, ValueError, versions.Outdated) as error:
            raise Refused(f"{file}: {str(error).rstrip('.')}. Nothing was saved.") from error
        except versions.Unchanged:
            self.stdout.write("It is the latest version already.")
        else:
            self.stdout.write(f"Version {saved.version} is saved. Raters see documents in it from now on.")
            jobs.fetch_pictures(collection, None)
