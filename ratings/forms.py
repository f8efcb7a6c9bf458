"""What people send."""

from collections.abc import Sequence
from decimal import Decimal

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator

from .cost import Rate
from .models import Anchor, Collection, Grade, Pair, Query, Rater, Reason, Role, Scope, Shown, System
from .prepared import Blank, Prepared
from .queue import MOST_HELD
from .tokens import MOST_DAYS, scopes_of

LONGEST_VISIT = 600.0  # seconds; a page left open overnight says nothing about effort
MOST_INVITED = 500  # at once
LONGEST_NAME = 150
LONGEST_COMMENT = 5_000
EVERYWHERE = "*"  # in place of a slug: all collections
NAME_TAKEN = "Somebody has this name already. If it is you, sign in with it below; otherwise choose another."


scale_of = Prepared(lambda: Grade.objects.filter(collection=Blank("collection", Grade, "collection")))


class RatingForm(forms.Form):
    """One rating: a grade by its value, or a reason. `cleaned_data` fits `queue.save`."""

    grade = forms.DecimalField(required=False)
    reason = forms.ChoiceField(choices=[("", ""), *Reason.choices], required=False)
    comment = forms.CharField(max_length=LONGEST_COMMENT, required=False)
    base_revision = forms.IntegerField(min_value=0)
    client_key = forms.UUIDField(required=False)
    seconds = forms.FloatField(required=False, min_value=0)
    shown = forms.ChoiceField(choices=[("", ""), *Shown.choices], required=False)
    guidelines = forms.IntegerField(required=False, min_value=0)  # the version that was beside the document

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        self.collection = collection
        super().__init__(*args, **kwargs)

    def clean_grade(self) -> Grade | None:
        value = self.cleaned_data["grade"]
        return None if value is None else on_scale(value, scale_of(collection=self.collection.pk))

    def clean_comment(self) -> str:
        return comment_of(self.cleaned_data["comment"])

    def clean_seconds(self) -> float | None:
        seconds = self.cleaned_data["seconds"]
        return None if seconds is None else min(seconds, LONGEST_VISIT)

    def clean_shown(self) -> str:
        return self.cleaned_data["shown"] or Shown.ALONE

    def clean(self) -> dict:
        cleaned = super().clean()
        if not self.errors and (cleaned["grade"] is None) == (cleaned["reason"] == ""):
            raise forms.ValidationError("Choose a grade, or say why this cannot be judged.")
        return cleaned


def comment_of(text: str) -> str:
    """What is kept of a comment. Forms send their lines in another way than the desk's script."""
    return text.replace("\x00", "").replace("\r\n", "\n").strip()[:LONGEST_COMMENT]


class ClaimForm(forms.Form):
    """How many tasks to hold, the tokens of those whose text is there already, whether to count what is left."""

    count = forms.IntegerField(min_value=1, max_value=MOST_HELD)
    have = forms.CharField(required=False, max_length=2_000)
    outlook = forms.BooleanField(required=False)

    def clean_have(self) -> set[str]:
        return set(self.cleaned_data["have"].split())


class DistanceForm(forms.Form):
    """How far apart grades must lie to be adjudicated: more than `steps` steps of the scale."""

    steps = forms.TypedChoiceField(label="Pairs with", coerce=int)

    def __init__(self, given: str, *, scale: Sequence[Grade]) -> None:
        self.scale = scale
        # On a scale of two grades nothing can lie more than one step apart.
        self.usual = 1 if len(scale) > 2 else 0
        super().__init__({"steps": given or self.usual})
        field = self.fields["steps"]
        field.choices = [(steps, apart(steps)) for steps in range(max(1, len(scale) - 1))]
        field.error_messages["invalid_choice"] = (
            f"“%(value)s” is no distance on this scale: steps can be 0 to {field.choices[-1][0]}."
        )

    @property
    def steps_apart(self) -> int:
        return self.cleaned_data["steps"]

    @property
    def words(self) -> str:
        return apart(self.steps_apart)

    @property
    def keep(self) -> str:
        """The end of an address that asks for the same distance; empty for the usual one."""
        return "" if self.steps_apart == self.usual else f"?steps={self.steps_apart}"


def apart(steps: int) -> str:
    if steps == 0:
        return "grades that differ"
    return f"grades more than {steps} step{'s' if steps > 1 else ''} apart"


class WithReason(forms.Form):
    """An act of an admin that is kept with its reason."""

    reason = forms.CharField(max_length=5_000, error_messages={"required": "Say why: the reason is kept with it."})


class AdjudicationForm(WithReason):
    """A grade of the scale by its value, why, and the latest act about the pair that the page showed."""

    grade = forms.DecimalField(error_messages={"required": "Choose a grade."})
    seen = forms.IntegerField(min_value=0)

    def __init__(self, *args, scale: Sequence[Grade], **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.scale = scale

    def clean_grade(self) -> Grade:
        return on_scale(self.cleaned_data["grade"], self.scale)


def on_scale(value: Decimal, scale: Sequence[Grade]) -> Grade:
    for grade in scale:
        if grade.value == value:
            return grade
    raise forms.ValidationError(f"The scale has no grade {value}. Choose one of the buttons.")


class WithdrawalForm(WithReason):
    """Why, and the adjudication that the page showed."""

    seen = forms.IntegerField(min_value=1)


class InviteForm(forms.Form):
    """Whom to invite, one a line, as what and for how long."""

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

    def clean_names(self) -> list[str]:
        lines = (line.replace("\x00", "").strip() for line in self.cleaned_data["names"].splitlines())
        names = list(dict.fromkeys(line for line in lines if line))
        if not names:
            raise forms.ValidationError("Write at least one name.")
        if len(names) > MOST_INVITED:
            raise forms.ValidationError(f"{len(names)} names are too many at once: at most {MOST_INVITED}.")
        for name in names:
            if len(name) > LONGEST_NAME:
                raise forms.ValidationError(f"“{name[:40]}…” is longer than {LONGEST_NAME} characters.")
        return names


class TokenForm(forms.Form):
    """A token for a program: for which of the person's collections, what it can do there, and for how long."""

    name = forms.CharField(
        label="What it is for", max_length=100, help_text="A name for your list: nightly build."
    )
    collection = forms.ChoiceField(label="Where it works")
    scopes = forms.MultipleChoiceField(
        label="What it can do",
        help_text="No more than you can do there yourself, at each moment.",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )
    days = forms.IntegerField(label="Days until it ends", min_value=1, max_value=MOST_DAYS, initial=90)

    def __init__(self, *args, user, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        self.places = {each.slug: each for each in Collection.objects.visible_to(user)}
        # No slug is empty or has a star.
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
                said = f"You may not {scope} there" + (f"; you may {may}." if may else ".")
                raise forms.ValidationError({"scopes": said})
        return cleaned


class RoleForm(forms.Form):
    role = forms.ChoiceField(label="Role", choices=Role.choices)


class TermsForm(forms.Form):
    """What a rater may rate and how much they weigh. `cleaned_data` fits `people.set_terms`."""

    limit = forms.IntegerField(
        label="Rates at most",
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="Pairs. Empty: no limit.",
    )
    weight = forms.DecimalField(
        label="Weight",
        min_value=0,
        max_digits=7,
        decimal_places=3,
        help_text="How heavy their grades are in judgments by the weighted mean. At 0 they do not count.",
    )
    queries = forms.CharField(
        label="Only these queries",
        required=False,
        max_length=1_000_000,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto", "spellcheck": "false"}),
        help_text="Ids of queries, one a line. Empty: all.",
    )
    tag = forms.ChoiceField(
        label="Or all queries with the tag",
        required=False,
        help_text="Those that have it now; queries that come later are not added.",
    )

    def __init__(self, *args, collection: Collection, tags: Sequence[str], **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.collection = collection
        self.fields["tag"].choices = [("", "no tag"), *((tag, tag) for tag in tags)]
        if not tags:
            del self.fields["tag"]

    def clean_queries(self) -> list[Query]:
        keys = list(dict.fromkeys(self.cleaned_data["queries"].split()))
        known = {query.key: query for query in self.collection.queries.only("key")}
        missing = [key for key in keys if key not in known]
        if missing:
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            raise forms.ValidationError(f"There is no query {', '.join(missing[:5])}{more} in this collection.")
        return [known[key] for key in keys]

    def clean(self) -> dict:
        cleaned = super().clean()
        if cleaned.get("tag") and cleaned.get("queries"):
            raise forms.ValidationError("Give ids of queries or a tag, not both.")
        return cleaned


class ErasureForm(forms.Form):
    """The rater's name, typed, and whether what they wrote goes as well."""

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
    """A new account: a name that nobody has and a password that is hard to guess."""

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
        # As Django's own form does: Anna and anna would be taken for one person.
        if get_user_model().objects.filter(username__iexact=name).exists():
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


class GuidelinesForm(forms.Form):
    """A text in Markdown, and the version that it was written from: 0 for none."""

    text = forms.CharField(
        label="Text",
        max_length=50_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 24, "dir": "auto", "class": "mono"}),
        help_text="Markdown. At a grade raters see the heading that begins with it, such as “## 3 Perfect”.",
        error_messages={"required": "Write something: guidelines without a word help nobody."},
    )
    base = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    def clean_text(self) -> str:
        text = self.cleaned_data["text"].replace("\x00", "").replace("\r\n", "\n").rstrip()
        if not text:
            raise forms.ValidationError(self.fields["text"].error_messages["required"])
        return text + "\n"


class PlanForm(forms.Form):
    """Which pairs should get how many ratings. `cleaned_data` fits `pooling.plan` and `pooling.pool`."""

    depth = forms.IntegerField(
        label="Depth", min_value=1, max_value=10_000, initial=10, help_text="How many places of each ranking."
    )
    wanted = forms.IntegerField(
        label="Ratings of each pair",
        min_value=1,
        max_value=100,
        initial=1,
        help_text="By as many raters. Several show how far raters agree; pairs that have more keep them.",
    )
    systems = forms.ModelMultipleChoiceField(
        System.objects.none(),
        label="Systems",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one system."},
    )

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.fields["systems"].queryset = collection.systems.all()
        self.fields["systems"].initial = collection.systems.all()

    def clean_systems(self) -> list[System]:
        return list(self.cleaned_data["systems"])


class MoreForm(forms.Form):
    """How many ratings every pair of the pool should get at least."""

    more = forms.IntegerField(
        label="Ratings of every pair that is in the pool already",
        min_value=1,
        max_value=100,
        help_text="Pairs that have or want as many stay as they are.",
    )


class HolesForm(forms.Form):
    """The system whose unjudged documents are meant, down to which place."""

    system = forms.ModelChoiceField(System.objects.none(), label="Unjudged documents of", empty_label=None)
    depth = forms.IntegerField(label="in the first", min_value=1, max_value=10_000)

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.fields["system"].queryset = collection.systems.all()


class WantHolesForm(HolesForm):
    wanted = forms.IntegerField(label="Ratings of each", min_value=1, max_value=100)


class PairsForm(forms.Form):
    """Pairs by the ids of their query and document, or all pairs of a query, one a line."""

    lines = forms.CharField(
        label="Ids of a query and a document, or of a query alone for all its pairs, one a line",
        max_length=200_000,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto", "class": "mono", "spellcheck": "false"}),
        error_messages={"required": "Name at least one query."},
    )

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.collection = collection

    def clean_lines(self) -> list[int]:
        """Ids of the pairs. A line that means no pair is named with its number."""
        found: list[int] = []
        for number, line in enumerate(self.cleaned_data["lines"].splitlines(), start=1):
            keys = line.split()
            if not keys:
                continue
            pairs = Pair.objects.filter(query__collection=self.collection, query__key=keys[0])
            if len(keys) == 2:
                pairs = pairs.filter(document__key=keys[1])
            ids = list(pairs.values_list("pk", flat=True)) if len(keys) <= 2 else []
            if not ids:
                meant = f"“{line.strip()[:80]}”"
                raise forms.ValidationError(
                    f"Line {number}: {meant} names no pair of the pool. Write the id of a query, or those of a"
                    " query and a document with a blank between them. Nothing was changed."
                )
            found += ids
        if not found:
            raise forms.ValidationError(self.fields["lines"].error_messages["required"])
        return list(dict.fromkeys(found))


class JudgingForm(forms.ModelForm):
    """How the documents come to raters, and what comes among them."""

    class Meta:
        model = Collection
        fields = ["order", "gold_share", "repeat_share", "break_after"]
        labels = {"order": "Order", "gold_share": "Gold", "repeat_share": "Repeats", "break_after": "Break after"}
        help_texts = {
            "gold_share": "Share of a rater's work whose grade is known: 0.1 is one in ten. Shows who reads with "
            "care. A gold pair that somebody has rated does not come to them again. Query by query it comes while "
            "they rate its query, or its place would tell what it is: spread gold over the queries.",
            "repeat_share": "Share of a rater's work that they graded before. Shows whether they agree with "
            "themselves. The second grade counts for nothing else.",
            "break_after": "So many ratings in a row, then a break is offered. 0: never. To go on is one key.",
        }

    def clean(self) -> dict:
        cleaned = super().clean()
        shares = [cleaned.get("gold_share"), cleaned.get("repeat_share")]
        if None not in shares and sum(shares) > Decimal("0.5"):
            raise forms.ValidationError(
                "Gold and repeats together may be half of the work at most: otherwise little would get done."
            )
        return cleaned


class AnchorForm(forms.Form):
    """A known grade. `cleaned_data` fits `anchors.set_anchor`."""

    use = forms.ChoiceField(
        label="Use",
        choices=[
            (Anchor.Use.WARM_UP, "warm-up: raters begin with it and are told the answer"),
            (Anchor.Use.GOLD, "gold: mixed into the work, and nobody is told"),
        ],
        widget=forms.RadioSelect,
        error_messages={"required": "Choose what the pair is for."},
    )
    grade = forms.DecimalField(error_messages={"required": "Choose a grade."})
    explanation = forms.CharField(
        label="Why this grade?",
        required=False,
        max_length=5_000,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        help_text="A warm-up needs it: raters read it after their answer. Of gold only admins see it.",
    )

    def __init__(self, *args, scale: Sequence[Grade], **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.scale = scale

    def clean_grade(self) -> Grade:
        return on_scale(self.cleaned_data["grade"], self.scale)

    def clean_explanation(self) -> str:
        return self.cleaned_data["explanation"].strip()

    def clean(self) -> dict:
        cleaned = super().clean()
        if cleaned.get("use") == Anchor.Use.WARM_UP and cleaned.get("explanation") == "":
            self.add_error("explanation", "Say why: whoever warms up learns from it.")
        return cleaned


class FindPairForm(forms.Form):
    """A pair by the ids of its query and document, which need not be in the pool."""

    query = forms.CharField(label="Id of the query", max_length=500)
    document = forms.CharField(label="Id of the document", max_length=500)

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.collection = collection

    def clean_query(self) -> int:
        return self.known(self.collection.queries, self.cleaned_data["query"], "query")

    def clean_document(self) -> int:
        return self.known(self.collection.documents, self.cleaned_data["document"], "document")

    def known(self, rows, key: str, what: str) -> int:
        pk = rows.filter(key=key).values_list("pk", flat=True).first()
        if pk is None:
            raise forms.ValidationError(f"There is no {what} “{key[:80]}” in this collection.")
        return pk


class SuggestedForm(forms.Form):
    """Which grade the pairs should have on which raters agree; any, where it is not said or not on the scale."""

    grade = forms.ChoiceField(label="Graded", required=False)

    def __init__(self, *args, scale: Sequence[Grade], **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.scale = scale
        self.fields["grade"].choices = [("", "any grade"), *((grade.plain, str(grade)) for grade in scale)]

    @property
    def chosen(self) -> Grade | None:
        asked = self.cleaned_data.get("grade") if self.is_valid() else ""
        return next((grade for grade in self.scale if grade.plain == asked), None)


class RateForm(forms.Form):
    """What rating is paid, by the hour, by the answer or both."""

    hour = forms.DecimalField(label="An hour", required=False, min_value=0, max_digits=9, decimal_places=4)
    each = forms.DecimalField(label="An answer", required=False, min_value=0, max_digits=9, decimal_places=4)
    currency = forms.CharField(label="Currency", required=False, max_length=12)

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        for name, size in (("hour", 8), ("each", 8), ("currency", 6)):
            self.fields[name].widget.attrs["size"] = size

    @property
    def rate(self) -> Rate | None:
        """None where nothing was asked, or what makes no sense."""
        given = self.cleaned_data if self.is_valid() else {}
        hour, each = float(given.get("hour") or 0), float(given.get("each") or 0)
        return Rate(hour, each) if hour or each else None


class GiveForm(forms.Form):
    """A pair by its token, and the rater who is to get it."""

    pair = forms.ModelChoiceField(Pair.objects.none(), to_field_name="token")
    rater = forms.ModelChoiceField(Rater.objects.none())

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.fields["pair"].queryset = Pair.objects.filter(query__collection=collection).select_related(
            "query", "document"
        )
        self.fields["rater"].queryset = collection.raters.filter(active=True, user__isnull=False)


class ReleaseForm(forms.Form):
    """Leases to give back: one or all, of a rater, or where no rater is named of those that ran out."""

    assignment = forms.IntegerField(required=False, min_value=1)
    rater = forms.ModelChoiceField(Rater.objects.none(), required=False)
    back = forms.ChoiceField(choices=[("progress", ""), ("rater", "")], required=False)

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.fields["rater"].queryset = collection.raters.all()
