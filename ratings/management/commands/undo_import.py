from ratings.intake.publishing import remove
from ratings.intake.undoing import remains, undo_import
from ratings.models import Job

from ._collection_command import CollectionCommand, Refused


class Command(CollectionCommand):
    help = "Undo an import on which nothing depends yet. Without a number, list the imports."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("number", nargs="?", type=int, help="the import to undo, as the list has it")

    def handle(self, *, slug: str, number: int | None, **options) -> None:
        imports = Job.objects.filter(
            collection=self.collection(slug, to_change=number is not None), state=Job.State.PUBLISHED
        )
        if number is None:
            for job in imports:
                self.stdout.write(f"{job.pk}  {job.ended_at:%Y-%m-%d %H:%M}  {job}")
            self.stderr.write(f"Nothing was undone. To undo one: undo_import {slug} NUMBER")
            return
        job = imports.filter(pk=number).first()
        if job is None:
            raise Refused(f"{slug} has no import {number}. To list them: undo_import {slug}")
        if obstacles := undo_import(job):
            raise Refused(" ".join(obstacles))
        remove(job)
        self.stdout.write(" ".join([f"Undone: {job}.", *remains(job)]))
