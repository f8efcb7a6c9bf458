import re
from pathlib import Path

from django.core.management.base import BaseCommand
from django.db.models import Q

from evaluation import bundle, frozen
from evaluation.models import FrozenEvaluation
from ratings import audit
from ratings.management.commands._collection_command import Refused
from ratings.management.whole_file import whole_file

HASH = re.compile("[0-9a-f]{7,64}")


class Command(BaseCommand):
    help = "Write a frozen evaluation as one ZIP to cite. The same evaluation gives the same bytes."

    def add_arguments(self, parser) -> None:
        parser.add_argument("key", metavar="HASH|NAME", help="its name, or the beginning of its hash")
        parser.add_argument(
            "--collection", metavar="SLUG", help="its collection, if several have one of this name"
        )
        parser.add_argument("--output", metavar="FILE", help="the file to write; by default in this folder")

    def handle(self, *, key: str, collection: str | None, output: str | None, **options) -> None:
        evaluation = self.frozen(key, collection)
        path = Path(output or bundle.file_name(evaluation))
        try:
            with whole_file(path) as file:
                file.writelines(bundle.bundle(evaluation))
        except frozen.Broken as error:
            raise Refused(f"{error} Nothing was written.") from error
        except OSError as error:
            raise Refused(f"{path}: {error.strerror or error}.") from error
        audit.note(audit.Act.EXPORTED, evaluation.collection, about=bundle.file_name(evaluation))
        self.stdout.write(str(path))

    def frozen(self, key: str, collection: str | None) -> FrozenEvaluation:
        """The frozen evaluation with this name or hash. Raises Refused unless there is exactly one."""
        by_key = Q(name=key) | Q(hash__startswith=key) if HASH.fullmatch(key) else Q(name=key)
        found = list(FrozenEvaluation.objects.filter(by_key).select_related("collection"))
        if collection:
            found = [each for each in found if each.collection.slug == collection]
        if not found:
            raise Refused(f"There is no frozen evaluation {key!r}{f' in {collection}' if collection else ''}.")
        if len(found) > 1:
            listed = ", ".join(f"{each} in {each.collection.slug}" for each in found[:5])
            raise Refused(f"{key!r} can be any of {len(found)}: {listed}. Give more of the hash, or --collection.")
        return found[0]
