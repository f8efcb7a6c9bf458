from django.contrib.auth import get_user_model
from django.core.management import BaseCommand, CommandError

from ratings.people import sessions
from ratings.people.sign_in import second_factor


class Command(BaseCommand):
    help = "Remove the app, passkeys and recovery codes that a person has lost, and end their sessions."

    def add_arguments(self, parser) -> None:
        parser.add_argument("username")

    def handle(self, *, username: str, **options) -> None:
        user = get_user_model().objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"There is no account {username}.")
        removed = second_factor.remove_all(user)
        sessions.end_all(user)
        self.stdout.write(f"{username} has no second factor any more." if removed else f"{username} had none.")
