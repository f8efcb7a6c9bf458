"""The forms of accounts, invitations, tokens and terms."""

from collections.abc import Callable, Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.password_validation import validate_password
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy

from ..models import Collection, Query, Role, Scope
from ..web import limits
from ..web.forms import Confirmation, OfCollection
from ..web.settings_forms import Versioned
from ..web.tables import ordered
from .invitees import invitees
from .members import Person, with_work
from .names import folded, is_taken
from .tokens import MOST_DAYS, scopes_of

EVERYWHERE = "*"  # in place of a slug: all collections
MOST_TOKENS = 50  # of one account in a day
MAILED_HELP = "Each gets a link of their own, which works once. It is mailed to addresses; for names you see it."
# Columns of the list of people that `with_work` fills, which takes one more query.
WORK_COLUMNS = {"ratings", "last_act"}
# By column of the list of people: what to sort by. None comes last.
SORT_KEYS: dict[str, Callable[[Person], Any]] = {
    "name": lambda person: folded(person.name),
    "role": lambda person: person.role or None,
    "state": lambda person: person.state or None,
    "ratings": lambda person: person.ratings,
    "last_act": lambda person: person.last_act,
}
NAME_TAKEN = gettext_lazy("Somebody has this username already. If it is you, sign in; otherwise choose another.")
USERNAME_SIGNS = RegexValidator(
    r"\A[\w.@+ -]+\Z",
    gettext_lazy("A username may have letters, digits, blanks and the signs @ . + - _, and no others."),
)


class InviteForm(OfCollection):
    """Names to invite, one a line, their role, and the days until the links expire."""

    names = forms.CharField(
        label="Names or addresses, one a line",
        help_text="Idealist sends nothing. Each gets a link of their own, which works once and has their name.",
        max_length=100_000,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto", "autocomplete": "off", "spellcheck": "false"}),
        error_messages={"required": "Write at least one name."},
    )
    role = forms.ChoiceField(
        label="Role",
        choices=[
            (Role.RATER, "rater: grades documents, sees no results"),
            (Role.ANALYST, "analyst: reads results"),
            (Role.ADMIN, "admin: everything, these pages too"),
        ],
    )
    language = forms.ChoiceField(label="Language of the mail", choices=settings.LANGUAGES, required=False)
    days = forms.IntegerField(label="Days until the links end", min_value=1, max_value=90, initial=14)

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        if settings.MAIL:
            self.fields["names"].help_text = MAILED_HELP

    def clean_language(self) -> str:
        return self.cleaned_data["language"] or settings.LANGUAGE_CODE

    def clean_names(self) -> list[str]:
        return invitees(self.cleaned_data["names"], self.collection)


class TokenForm(forms.Form):
    """A token: its collection, its scopes, and the days until it expires."""

    name = forms.CharField(
        label="What it is for", max_length=100, help_text="A name for your list, such as nightly build."
    )
    collection = forms.ChoiceField(label="Where it works")
    scopes = forms.MultipleChoiceField(
        label="What it can do",
        help_text="A token never can do more than you can do there yourself.",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )
    days = forms.IntegerField(label="Days until it ends", min_value=1, max_value=MOST_DAYS, initial=90)

    def __init__(self, *args, user, **kwargs) -> None:
        """Offer the collections of the user, and the scopes that they may give a token in any of these."""
        super().__init__(*args, **kwargs)
        self.user = user
        # Value of the field `collection` → the collection. EVERYWHERE → None, which stands for all collections.
        self.collections = {collection.slug: collection for collection in Collection.objects.visible_to(user)}
        choices = [(slug, collection.name) for slug, collection in self.collections.items()]
        if user.is_superuser:
            self.collections[EVERYWHERE] = None
            choices.append((EVERYWHERE, "All collections, new ones too"))
        self.fields["collection"].choices = choices
        self.scopes_by_slug = {slug: scopes_of(user, collection) for slug, collection in self.collections.items()}
        offered_scopes = set().union(*self.scopes_by_slug.values())
        self.fields["scopes"].choices = [each for each in Scope.choices if each[0] in offered_scopes]

    def clean(self) -> None:
        """Replace the slug by its collection, and refuse scopes that the user does not have there.

        More than MOST_TOKENS new tokens of the user in a day are refused, too.
        """
        cleaned = self.cleaned_data
        if self.errors:  # a field is refused already, so its value is missing here
            return
        slug = cleaned["collection"]
        cleaned["collection"] = self.collections[slug]
        allowed_scopes = self.scopes_by_slug[slug]
        for scope in cleaned["scopes"]:
            if scope not in allowed_scopes:
                what_they_may = f"; you may {', '.join(allowed_scopes)}" if allowed_scopes else ""
                raise forms.ValidationError({"scopes": f"You may not {scope} there{what_they_may}."})
        limits.refuse_above(MOST_TOKENS, "tokens", self.user.api_tokens.all())


class ListForm(forms.Form):
    """What the list of people shows, and in which order. Values in the address that mean nothing are ignored."""

    q = forms.CharField(label="Name", required=False, max_length=150, strip=True)

    def __init__(self, data, *, people: Sequence[Person]) -> None:
        super().__init__(data, auto_id="list_%s")
        self.fields["q"].widget = forms.TextInput({"type": "search", "size": 18})
        for name in ("role", "state"):
            values = sorted({getattr(person, name) for person in people} - {""})
            choices = [("", "all"), *((value, value) for value in values)]
            self.fields[name] = forms.ChoiceField(label=name.capitalize(), required=False, choices=choices)
        self.is_valid()
        sort = str(data.get("sort", ""))
        self.sort = sort if sort.removeprefix("-") in SORT_KEYS else "role"

    @property
    def narrows(self) -> bool:
        return any(self.cleaned_data.values())

    def listed(self, people: Sequence[Person]) -> list[Person]:
        """The people with the name, role and state of the form, in the order of its sort."""
        searched = folded(self.cleaned_data.get("q", ""))
        people = [person for person in people if searched in folded(person.name)]
        for name in ("role", "state"):
            if wanted := self.cleaned_data.get(name):
                people = [person for person in people if getattr(person, name) == wanted]
        if self.sort.removeprefix("-") in WORK_COLUMNS:
            people = with_work(people)
        return people if self.sort == "role" else ordered(people, SORT_KEYS, self.sort)  # they come by role


class RoleForm(Versioned, forms.Form):
    role = forms.ChoiceField(label="Role", choices=Role.choices)


class TermsForm(Versioned, OfCollection):
    """The arguments of `members.change_terms`."""

    limit = forms.IntegerField(
        label="Rates at most",
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="Grades, including those of repeats. Empty: no limit.",
    )
    weight = forms.DecimalField(
        label="Weight",
        min_value=0,
        max_digits=7,
        decimal_places=3,
        help_text="The weight of their grades in judgments by the weighted mean. At 0 they do not count.",
    )
    queries = forms.CharField(
        label="Only these queries",
        required=False,
        max_length=1_000_000,
        help_text="Ids of queries, one a line. Empty: all.",
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto", "spellcheck": "false"}),
    )

    def clean_queries(self) -> list[Query]:
        keys = list(dict.fromkeys(self.cleaned_data["queries"].split()))
        queries = {query.key: query for query in self.collection.queries.only("key")}
        missing = [key for key in keys if key not in queries]
        if missing:
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            raise forms.ValidationError(f"There is no query {', '.join(missing[:5])}{more} in this collection.")
        return [queries[key] for key in keys]


class AccountForm(Versioned, forms.Form):
    """The arguments of `accounts.change`."""

    email = forms.EmailField(
        label="Mail address",
        required=False,
        max_length=254,
        help_text="Links for a forgotten password go there.",
    )
    is_active = forms.BooleanField(
        label="Can sign in",
        required=False,
        help_text="Without the tick the account is closed: they are signed out, their tokens do not work, and "
        "other raters get what they hold. What they rated stays and counts.",
    )
    is_superuser = forms.BooleanField(
        label="Superuser",
        required=False,
        help_text="Admin of every collection, who sees these pages. Superusers cannot rate.",
    )
    may_make = forms.BooleanField(
        label="May make collections",
        required=False,
        help_text="They become admins of those that they make. Superusers need no tick.",
    )


class ErasureForm(Confirmation):
    """The name of the rater, and whether their comments are removed."""

    comments = forms.BooleanField(label="Remove their comments as well", required=False)


class SignUpForm(forms.Form):
    """A new account: an unused username and a password that Django's validators accept, and the person's name."""

    name = forms.CharField(
        # Translators: the name of a person, as others see it; not the username
        label=gettext_lazy("Name"),
        max_length=100,
        required=False,
        help_text=gettext_lazy("The admins of the collection see it. Leave empty to use the username."),
        widget=forms.TextInput(attrs={"autocomplete": "name", "dir": "auto"}),
    )
    username = UsernameField(
        label=gettext_lazy("Username"),
        max_length=150,
        validators=[USERNAME_SIGNS],
        help_text=gettext_lazy("You sign in with it."),
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "dir": "auto"}),
    )
    password = forms.CharField(
        label=gettext_lazy("Password"),
        strip=False,
        max_length=4_096,
        help_text=gettext_lazy("At least 8 characters. A few words are good."),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean_name(self) -> str:
        return " ".join(self.cleaned_data["name"].split())

    def clean_username(self) -> str:
        name = " ".join(self.cleaned_data["username"].split())
        if is_taken(name):
            raise forms.ValidationError(NAME_TAKEN)
        return name

    def clean(self) -> None:
        cleaned = self.cleaned_data
        if "username" in cleaned and "password" in cleaned:
            try:
                user = get_user_model()(username=cleaned["username"], first_name=cleaned.get("name", ""))
                validate_password(cleaned["password"], user)
            except forms.ValidationError as error:
                self.add_error("password", error)
