from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand

from ratings import sample


class Command(BaseCommand):
    help = "Make everything ready to serve: tables, the sample collection on the first start, static files."
    # Checks import every page, which takes longer than all the rest; `run.py test` and the server do it anyway.
    requires_system_checks = []

    def handle(self, **options) -> None:
        call_command("migrate", verbosity=0)
        call_command("createcachetable", verbosity=0)
        if sample.load_on_first_start():
            self.stdout.write(f"The sample collection is loaded. Its sign-ins, also in {sample.sign_ins_file()}:")
            self.stdout.write(sample.sign_ins_file().read_text())
        if not static_files_are_collected():
            call_command("collectstatic", interactive=False, verbosity=0)


def static_files_are_collected() -> bool:
    """Whether no file was touched since they were collected; to collect 150 files takes seconds."""
    manifest = Path(settings.STATIC_ROOT, "staticfiles.json")
    if not manifest.exists():
        return False
    files = (storage.path(name) for finder in get_finders() for name, storage in finder.list([]))
    return max(Path(file).stat().st_mtime for file in files) < manifest.stat().st_mtime
