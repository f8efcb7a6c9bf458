import secrets

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from ratings.models import Collection, Membership, Role


class Command(BaseCommand):
    help = "Let a person rate, read or administer a collection; makes the account if there is none."

    def add_arguments(self, parser) -> None:
        parser.add_argument("slug")
        parser.add_argument("username")
        parser.add_argument("role", choices=Role.values)

    def handle(self, *, slug: str, username: str, role: str, **options) -> None:
        collection = Collection.objects.filter(slug=slug).first()
        if collection is None:
            raise CommandError(f"There is no collection {slug!r}. Make it with create_collection.")
        user, new = get_user_model().objects.get_or_create(username=username)
        if new:
            password = secrets.token_urlsafe(12)
            user.set_password(password)
            self.stdout.write(f"Account {username} made. Password, shown only now: {password}")
        if role == Role.ADMIN and not user.is_staff:
            user.is_staff = True
        user.save()
        membership, added = Membership.objects.get_or_create(
            collection=collection, user=user, defaults={"role": role}
        )
        if not added and membership.role != role:
            membership.role = role
            membership.save()
        self.stdout.write(f"{username} is {role} of {collection.slug}.")
