"""The forms of accounts, invitations, tokens and terms."""

from django import forms
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator

from ..models import Collection, Query, Role, Scope
from ..web import limits
from ..web.settings_forms import Versioned
from .invitees import invitees
from .names import is_taken
from .tokens import MOST_DAYS, scopes_of

EVERYWHERE = "*"  # in place of a slug: all collections
MOST_TOKENS = 50  # of one account in a day
MAILED = "Each gets a link of their own, which works once. It is mailed to addresses; for names you see it."
NAME_TAKEN = "Somebody has this name already. If it is you, sign in; otherwise choose another."


class InviteForm(forms.Form):
    """Names to invite, one a line, their role, and the days until the links expire."""

    names = forms.CharField(
        label="Names or addresses, one a line",
        help_text="For this list only: Idealist sends nothing. Each gets a link of their own, which works once.",
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
    days = forms.IntegerField(label="Days until the links end", min_value=1, max_value=90, initial=14)

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.collection = collection
        if settings.MAIL:
            self.fields["names"].help_text = MAILED

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
        super().__init__(*args, **kwargs)
        self.user = user
        self.places = {each.slug: each for each in Collection.objects.visible_to(user)}
        if user.is_superuser:
            self.places[EVERYWHERE] = None
        names = [
            (slug, each.name if each else "All collections, new ones too") for slug, each in self.places.items()
        ]
        self.fields["collection"].choices = names
        self.allowed = {slug: scopes_of(user, each) for slug, each in self.places.items()}
        known = {scope for scopes in self.allowed.values() for scope in scopes}
        self.fields["scopes"].choices = [each for each in Scope.choices if each[0] in known]

    def clean_name(self) -> str:
        return self.cleaned_data["name"].replace("\x00", "").strip()

    def clean(self) -> dict:
        cleaned = super().clean()
        if self.errors:
            return cleaned
        slug = cleaned["collection"]
        cleaned["collection"] = self.places[slug]
        for scope in cleaned["scopes"]:
            if scope not in self.allowed[slug]:
                may = ", ".join(self.allowed[slug])
                message = f"You may not {scope} there" + (f"; you may {may}." if may else ".")
                raise forms.ValidationError({"scopes": message})
        limits.refuse_over(MOST_TOKENS, "tokens", self.user.api_tokens.all())
        return cleaned


class RoleForm(Versioned, forms.Form):
    role = forms.ChoiceField(label="Role", choices=Role.choices)


class TermsForm(Versioned, forms.Form):
    """The arguments of `members.set_terms`."""

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
    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.collection = collection

    def clean_queries(self) -> list[Query]:
        keys = list(dict.fromkeys(self.cleaned_data["queries"].split()))
        known = {query.key: query for query in self.collection.queries.only("key")}
        missing = [key for key in keys if key not in known]
        if missing:
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            raise forms.ValidationError(f"There is no query {', '.join(missing[:5])}{more} in this collection.")
        return [known[key] for key in keys]


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


class ErasureForm(forms.Form):
    """The typed name of the rater, and whether their comments are removed."""

    name = forms.CharField(label="Type the name to confirm", max_length=150, strip=False)
    comments = forms.BooleanField(label="Remove their comments as well", required=False)

    def __init__(self, *args, expected: str, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.expected = expected
        self.fields["name"].widget.attrs |= {"autocomplete": "off", "dir": "auto"}

    def clean_name(self) -> str:
        if self.cleaned_data["name"].strip() != self.expected.strip():
            raise forms.ValidationError(f"This is not the name. Type “{self.expected}” to erase this person.")
        return self.expected


class SignUpForm(forms.Form):
    """A new account: an unused name and a password that Django's validators accept."""

    username = UsernameField(
        label="Name",
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        help_text="You sign in with it, and the admins of the collection see it.",
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "dir": "auto"}),
    )
    password = forms.CharField(
        label="Password",
        strip=False,
        max_length=4_096,
        help_text="At least 8 characters. A few words are good.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean_username(self) -> str:
        name = self.cleaned_data["username"]
        if is_taken(name):
            raise forms.ValidationError(NAME_TAKEN)
        return name

    def clean(self) -> dict:
        cleaned = super().clean()
        if "username" in cleaned and "password" in cleaned:
            try:
                validate_password(cleaned["password"], get_user_model()(username=cleaned["username"]))
            except forms.ValidationError as error:
                self.add_error("password", error)
        return cleaned
