from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError
from django.urls import reverse

from ratings.people import visits
from ratings.people.audit import Act, note
from ratings.people.mail import usual_site
from ratings.people.sign_in import links

LOOK_AROUND = "Look around in the sample; each link signs in once, within 10 minutes:"
NO_SAMPLE = (
    "This server has no sample that people can sign in to. A server gets one at its first start with an empty"
    " database, unless IDEALIST_HTTPS, IDEALIST_HOSTS or DATABASE_URL is set. To look around, start another server"
    f" with a data folder of its own: IDEALIST_DATA=another-folder {settings.PROGRAM}"
)


class Command(BaseCommand):
    help = "Create links that sign people in once, within 10 minutes: to the sample, or when no provider answers."

    def add_arguments(self, parser) -> None:
        parser.add_argument("usernames", nargs="*", metavar="username")
        parser.add_argument("--sample", action="store_true", help="links into the sample, one for each role")
        parser.add_argument("--site", metavar="URL", help=f"where people reach Idealist ({usual_site()})")

    def handle(self, *, usernames: list[str], sample: bool, site: str | None, **options) -> None:
        users = get_user_model().objects.filter(is_active=True)
        for username in usernames:
            user = users.filter(username=username).first()
            if user is None:
                raise CommandError(f"There is no open account {username}.")
            note(Act.SIGN_IN, about=user, made="link")
            self.stdout.write(_link(user, site))
        if sample:
            # These accounts are open if the server was started with IDEALIST_DEMO. That variable is not set for
            # this command, so settings.DEMO does not say it. Their links are not noted: they are of no person.
            # In the order rater, analyst, admin, which happens to be that of falling names.
            visitors = users.filter(username__in=visits.SAMPLE_USERNAMES).order_by("-username")
            # A server that other people reach (FOR_OTHERS) lets nobody into the sample, even if accounts are open.
            if settings.FOR_OTHERS or not visitors:
                raise CommandError(NO_SAMPLE)
            self.stdout.write(LOOK_AROUND)
            for user in visitors:
                role = user.get_username().removeprefix("sample-")
                self.stdout.write(f"as {role:8} {_link(user, site)}")


def _link(user: User, site: str | None) -> str:
    """The address of a link that signs the person in. `site`: of the server, such as https://ratings.example.org."""
    return (site or usual_site()).rstrip("/") + reverse("sign_in_link", args=[links.key_for(user)])
