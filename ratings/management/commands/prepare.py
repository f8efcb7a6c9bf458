from django.core.management import call_command
from django.core.management.base import BaseCommand

from ratings import sample


class Command(BaseCommand):
    help = "Make everything ready to serve: tables, the sample collection on the first start, static files."

    def handle(self, **options) -> None:
        call_command("migrate", verbosity=0)
        if sample.load_on_first_start():
            self.stdout.write(f"The sample collection is loaded. Its sign-ins, also in {sample.sign_ins_file()}:")
            self.stdout.write(sample.sign_ins_file().read_text())
        call_command("collectstatic", interactive=False, verbosity=0)
