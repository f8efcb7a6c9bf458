from django.conf import settings
from django.urls import reverse

from ratings.models import Role
from ratings.people import members
from ratings.people.forms import InviteForm

from ._collection_command import CollectionCommand, Refused


class Command(CollectionCommand):
    help = "Create links with which people join a collection. Each is printed once and works once."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "names", nargs="+", metavar="NAME", help="the person whom a link is for: a name or an address"
        )
        parser.add_argument("--role", choices=Role.values, default=Role.RATER, help="(rater)")
        parser.add_argument("--days", type=int, default=14, help="until the links expire (14)")
        parser.add_argument("--site", metavar="URL", help=f"where people reach Idealist ({usual_site()})")

    def handle(self, *, slug: str, names: list[str], role: str, days: int, site: str | None, **options) -> None:
        collection = self.collection(slug)
        form = InviteForm({"names": "\n".join(names), "role": role, "days": days}, collection=collection)
        if not form.is_valid():
            raise Refused(
                " ".join(f"{form[name].label}: {' '.join(problems)}" for name, problems in form.errors.items())
            )
        for invitation, key in members.invite(collection, **form.cleaned_data, by=None):
            link = (site or usual_site()).rstrip("/") + reverse("join", args=[key])
            self.stdout.write(f"{invitation.name}\t{link}")
        self.stderr.write(f"Each link makes a person {role} of {slug}. They are shown only now.")


def usual_site() -> str:
    """The first host of IDEALIST_HOSTS, or the address of a server on this machine."""
    host = settings.ALLOWED_HOSTS[0]
    return f"https://{host}" if settings.HTTPS else f"http://{host}:8000"
