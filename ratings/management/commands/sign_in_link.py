from django.contrib.auth import get_user_model
from django.core.management import BaseCommand, CommandError
from django.urls import reverse

from ratings.audit import Act, note
from ratings.people.mail import usual_site
from ratings.sign_in import links


class Command(BaseCommand):
    help = "Create a link that signs a person in once, within 10 minutes, for when the provider does not answer."

    def add_arguments(self, parser) -> None:
        parser.add_argument("username")
        parser.add_argument("--site", metavar="URL", help=f"where people reach Idealist ({usual_site()})")

    def handle(self, *, username: str, site: str | None, **options) -> None:
        user = get_user_model().objects.filter(username=username, is_active=True).first()
        if user is None:
            raise CommandError(f"There is no open account {username}.")
        note(Act.SIGN_IN, about=user, made="link")
        address = reverse("sign_in_link", args=[links.key_for(user)])
        self.stdout.write((site or usual_site()).rstrip("/") + address)
