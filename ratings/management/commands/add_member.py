from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management import CommandError

from ratings.models import Role
from ratings.people import mail, members, names
from ratings.people.forms import SignUpForm

from ._collection_command import CollectionCommand, Refused


class Command(CollectionCommand):
    help = "Let a person rate, read or administer a collection; creates the account if there is none."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("username")
        parser.add_argument("role", choices=Role.values)

    def handle(self, *, slug: str, username: str, role: str, **options) -> None:
        collection = self.collection(slug)
        user = get_user_model().objects.filter(username=names.stored(username)).first() or new_account(username)
        try:
            members.give_role(collection, user, role)
        except members.LastAdmin as error:
            raise CommandError(
                f"{username} is the only admin of {collection.slug}. Make somebody else an admin first."
            ) from error
        except members.SuperuserCannotRate as error:
            raise CommandError(str(error)) from error
        by_provider = user.socialaccount_set.exists()  # the person signs in there, and needs no password
        if settings.PASSWORDS and not user.has_usable_password() and not by_provider:
            link = mail.usual_site() + mail.password_link(user)
            self.stdout.write(f"{username} sets a password here, once and within an hour: {link}")
            self.stdout.write("Another call of this command prints a new link.")
        self.stdout.write(f"{username} is {role} of {collection.slug}.")


def new_account(name: str):
    """A new account without a password. Raises Refused for a name that the page of an invitation refuses."""
    field = SignUpForm.base_fields["username"]
    try:
        name = field.clean(name)
    except ValidationError as error:
        raise Refused(f"{name!r} cannot be the name of an account. {' '.join(error.messages)}") from error
    if names.is_taken(name):
        raise Refused(f"An account has a name that looks like {name!r}. Write it as that account does.")
    return get_user_model().objects.create_user(name)
