from django.contrib.auth import get_user_model

from ratings.management.refusals import refusing
from ratings.models import Scope
from ratings.people import tokens

from ._collection_command import CollectionCommand, Refused


class Command(CollectionCommand):
    help = "Create a token with which a program uses the API as a person. Its key is printed once."

    def add_arguments(self, parser) -> None:
        parser.add_argument("slug", help="the collection; * stands for all, for a superuser")
        text = "the person in whose name it acts; it can do no more than that person"
        parser.add_argument("username", help=text)
        text = "what it can do; may be repeated"
        parser.add_argument("--scope", action="append", choices=Scope.values, required=True, help=text)
        parser.add_argument("--days", type=int, default=90, help="until it expires (90)")
        parser.add_argument("--name", default="made by a command", help="its purpose, shown in the person's list")

    def handle(self, *, slug: str, username: str, scope: list[str], days: int, name: str, **options) -> None:
        collection = None if slug == "*" else self.collection(slug)  # None: all collections
        user = get_user_model().objects.filter(username=username).first()
        if user is None:
            raise Refused(f"There is no account {username!r}. Make it with add_member.")
        if not 1 <= days <= tokens.MOST_DAYS:
            raise Refused(f"A token lasts 1 to {tokens.MOST_DAYS} days, not {days}.")
        if not name.strip() or len(name) > 100 or "\0" in name:
            raise Refused("A name has 1 to 100 characters.")
        with refusing("A token can do no more than its owner may."):
            token, key = tokens.make(user, collection, name=name, scopes=scope, days=days)
        self.stdout.write(key)
        self.stderr.write(f"It can {', '.join(token.scopes)} until {token.expires_at:%d %b %Y}. Shown only now.")
