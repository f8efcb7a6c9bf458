"""The forms of connected engines."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.validators import RegexValidator

from ...formats import strict_json
from ...models import Engine
from ..forms import checked, validator_of
from . import turns
from .answers import Found, first_result, guessed, lists_in, pictures_in, values_in
from .dialects import PLACEHOLDERS_OF_QUERY
from .engines import HEADER_NAME, PREFIX, ROLES, VARIABLE_OF_ENGINE, dialect_of, headers_in

LONGEST_PAUSE = 60.0  # seconds


class EngineForm(forms.ModelForm):
    """How an engine is asked. Only a superuser names the variable of a key, and changes an engine that has one."""

    class Meta:
        model = Engine
        fields = ["name", "address", "body", "headers", "secret", "secret_header"]
        labels = {"address": "Web address", "body": "Request", "secret": "Variable with the key"}
        labels |= {"secret_header": "Header that carries the key"}
        widgets = {
            "body": forms.Textarea({"rows": 8, "spellcheck": "false", "class": "code"}),
            "headers": forms.Textarea({"rows": 2, "spellcheck": "false", "class": "code"}),
            "address": forms.Textarea({"rows": 2, "spellcheck": "false", "class": "code"}),
        }
        help_texts = {
            "name": "For you, such as “Shop search, staging”.",
            "address": "Where queries go. {query} marks the place of the query, {depth} the number of results.",
            "body": "JSON with {query} and {depth}; {need} and {key} are its information need and id."
            " Empty: the request is a GET, and the query stands in the address.",
            "headers": "One a line, as NAME: value. Nothing secret.",
            "secret": f"A variable of the operator's, whose name begins with {PREFIX}. Its value is the header's.",
        }

    def __init__(self, *args, by: User, **kwargs) -> None:
        """`by`: who fills it in. Only superusers name a key and its header."""
        super().__init__(*args, **kwargs)
        whole = "Write the whole address, such as https://search.example.org/find?q={query}."
        in_capitals = f"Write the name of a variable that begins with {PREFIX}, in capitals."
        validators: dict[str, Callable[[str], Any]] = {
            "address": RegexValidator(r"\Ahttps?://", whole),
            "body": lambda body: checked(strict_json.loaded, body, what="request"),
            "headers": validator_of(headers_in),
            "secret": RegexValidator(rf"\A{VARIABLE_OF_ENGINE}\Z", in_capitals),
            "secret_header": RegexValidator(rf"\A{HEADER_NAME}\Z", "This is not the name of a header."),
        }
        for name, validator in validators.items():
            self.fields[name].validators.append(validator)
        if not by.is_superuser:
            del self.fields["secret"], self.fields["secret_header"]

    def clean(self) -> None:
        super().clean()
        cleaned = self.cleaned_data
        if self.errors:
            return
        request = f"{cleaned['address']} {cleaned['body']}"
        if not any(f"{{{name}}}" in request for name in PLACEHOLDERS_OF_QUERY):
            self.add_error("address", "Nothing marks the place of the query. Write {query} here or below.")


class AskForm(forms.Form):
    """A query that is sent to see an answer."""

    query = forms.CharField(label="Query", max_length=1_000, help_text="One that should have results.")


class PlacesForm(forms.Form):
    """Where an answer has the results and their parts. Choices come from the last answer, with samples."""

    def __init__(self, *args, engine: Engine, answer: Any, **kwargs) -> None:
        """Makes a field for each role. `engine`: whose answers have these places. `answer`: the last, parsed."""
        super().__init__(*args, **kwargs)
        self.engine = engine
        path_by_role = guessed(answer, dialect_of(engine))  # "results": in the answer; other roles: in a result
        result = first_result(answer, path_by_role["results"])
        values = values_in(result)  # (path, sample) of each value
        for role, label in ROLES.items():
            path = path_by_role[role]
            required = role in ("results", "id")
            choices = _choices(lists_in(answer) if role == "results" else values, path, required=required)
            field = forms.ChoiceField(label=label, choices=choices, required=required, initial=path)
            self.fields[f"{role}_at"] = field
        # The paths in a result. A guess may be several, with | between them.
        guesses = [guess for role, guess in path_by_role.items() if role != "results"]
        paths_with_role = {path for guess in guesses for path in guess.split("|")}
        pictures = pictures_in(result)
        other_choices = []
        for path, sample in values:
            if path not in paths_with_role:
                other_choices.append((path, f"{path} · {'picture ' if path in pictures else ''}{sample}"))
        if other_choices:
            self.fields["more_at"] = forms.MultipleChoiceField(
                label="Also keep, as fields of the documents",
                choices=other_choices,
                required=False,
                widget=forms.CheckboxSelectMultiple,
                initial=engine.more_at,
                help_text="The presentation decides what raters see of them, as a picture where one is meant.",
            )

    def save(self) -> None:
        for name, value in self.cleaned_data.items():
            setattr(self.engine, name, value)
        self.engine.save()


class FetchForm(forms.Form):
    """What is fetched as a system."""

    system = forms.CharField(label="Name of the system", max_length=200)
    depth = forms.IntegerField(label="Results of each query", min_value=1, max_value=turns.MOST_HITS, initial=20)
    pause = forms.FloatField(
        label="Pause between two queries, in seconds", min_value=0, max_value=LONGEST_PAUSE, initial=0
    )
    twice = forms.BooleanField(
        label="Ask for a tenth of the queries twice",
        required=False,
        initial=True,
        help_text="Shows how far the engine differs from itself. What is smaller than that is no difference.",
    )
    keep_first = forms.BooleanField(
        label="A document that an answer has twice keeps its better rank",
        required=False,
        help_text="Otherwise such an answer counts as failed.",
    )

    def __init__(self, *args, engine: Engine, **kwargs) -> None:
        self.engine = engine
        super().__init__(*args, **kwargs)

    def clean(self) -> None:
        if not self.errors:
            self.options = checked(turns.options, self.engine, **self.cleaned_data)


def _choices(places: list[Found], guess: str, *, required: bool) -> list[tuple[str, str]]:
    """The choices of a field: first the guess, then the other places of an answer, each with what is there.

    `places`: the path and a sample of each. `guess`: a path, several with | between them, or "". Only a required
    field with a guess has no empty choice.
    """
    sample_at = dict(places)  # by path
    choices = []
    if not (required and guess):
        choices.append(("", "Choose …" if required else "none"))
    if guess:
        # Of several paths the first that exists counts, so its sample is shown.
        samples = [sample_at[path] for path in guess.split("|") if path in sample_at]
        choices.append((guess, f"{guess} · {samples[0] if samples else ''}"))
    choices += [(path, f"{path} · {sample}") for path, sample in sample_at.items() if path != guess]
    return choices
