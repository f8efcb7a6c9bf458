import secrets

from django.contrib.auth import get_user_model

from ratings.models import Role
from ratings.people import members

from ._collection_command import CollectionCommand


class Command(CollectionCommand):
    help = "Let a person rate, read or administer a collection; makes the account if there is none."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("username")
        parser.add_argument("role", choices=Role.values)

    def handle(self, *, slug: str, username: str, role: str, **options) -> None:
        collection = self.collection(slug)
        user, new = get_user_model().objects.get_or_create(username=username)
        if new:
            password = secrets.token_urlsafe(12)
            user.set_password(password)
            self.stdout.write(f"Account {username} made. Password, shown only now: {password}")
        if role == Role.ADMIN and not user.is_staff:
            user.is_staff = True
        user.save()
        members.give_role(collection, user, role)
        self.stdout.write(f"{username} is {role} of {collection.slug}.")
