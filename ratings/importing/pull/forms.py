"""The forms of connected engines."""

from typing import Any

from django import forms
from django.contrib.auth.models import User

from ...formats import strict_json
from ...models import Engine
from ..forms import checked
from . import turns
from .answers import Found, first_result, guessed, lists_in, pictures_in, values_in
from .dialects import PLACEHOLDERS
from .engines import HEADER, PREFIX, VARIABLE, dialect_of, headers_in

PLACES = {
    "results_at": "List of results",
    "id_at": "Id",
    "score_at": "Score",
    "title_at": "Title",
    "text_at": "Text",
    "link_at": "Web address",
}
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
        super().__init__(*args, **kwargs)
        if not by.is_superuser:
            del self.fields["secret"], self.fields["secret_header"]

    def clean_address(self) -> str:
        address = self.cleaned_data["address"].strip()
        if not address.startswith(("http://", "https://")):
            raise forms.ValidationError(
                "Write the whole address, such as https://search.example.org/find?q={query}."
            )
        return address

    def clean_body(self) -> str:
        if body := self.cleaned_data["body"].strip():
            checked(strict_json.loaded, body, what="request")
        return body

    def clean_headers(self) -> str:
        checked(headers_in, self.cleaned_data["headers"])
        return self.cleaned_data["headers"]

    def clean_secret(self) -> str:
        secret = self.cleaned_data["secret"]
        if secret and not (VARIABLE.fullmatch(secret) and secret.startswith(PREFIX)):
            raise forms.ValidationError(f"Write the name of a variable that begins with {PREFIX}, in capitals.")
        return secret

    def clean_secret_header(self) -> str:
        header = self.cleaned_data["secret_header"]
        if not HEADER.fullmatch(f"{header}: value"):
            raise forms.ValidationError("This is not the name of a header.")
        return header

    def clean(self) -> dict[str, Any]:
        super().clean()
        cleaned = self.cleaned_data
        asked = f"{cleaned.get('address', '')} {cleaned.get('body', '')}"
        if not self.errors and not any(f"{{{name}}}" in asked for name in PLACEHOLDERS[:3]):
            self.add_error("address", "Nothing marks the place of the query. Write {query} here or below.")
        return cleaned


class AskForm(forms.Form):
    """A query that is sent to see an answer."""

    query = forms.CharField(label="Query", max_length=1_000, help_text="One that should have results.")


class PlacesForm(forms.Form):
    """Where an answer has the results and their parts. Choices come from the last answer, with samples."""

    def __init__(self, *args, engine: Engine, answer: Any, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.engine = engine
        guesses = guessed(answer, dialect_of(engine))
        values = values_in(first_result(answer, guesses["results"]))
        for name, label in PLACES.items():
            guess = guesses[name.removesuffix("_at")]
            required = name in ("results_at", "id_at")
            places = lists_in(answer) if name == "results_at" else values
            choices = _choices(places, guess, required=required)
            self.fields[name] = forms.ChoiceField(label=label, choices=choices, required=required, initial=guess)
        taken = {path for role, paths in guesses.items() if role != "results" for path in paths.split("|")}
        pictures = pictures_in(first_result(answer, guesses["results"]))
        untaken = [
            (place.path, f"{place.path} · {'picture ' * (place.path in pictures)}{place.sample}")
            for place in values
            if place.path not in taken
        ]
        if untaken:
            self.fields["more_at"] = forms.MultipleChoiceField(
                label="Also keep, as fields of the documents",
                choices=untaken,
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

    def clean_system(self) -> str:
        return self.cleaned_data["system"].strip()

    def clean(self) -> dict[str, Any]:
        super().clean()
        cleaned = self.cleaned_data
        if not self.errors:
            self.options = checked(turns.options, self.engine, **cleaned)
        return cleaned


def _choices(places: list[Found], guess: str, *, required: bool) -> list[tuple[str, str]]:
    """The choices of a field: the guessed paths, and the places of an answer, each with what is there."""
    samples = {place.path: place.sample for place in places}
    choices = [(path, f"{path} · {sample}") for path, sample in samples.items() if path != guess]
    if guess:
        sample = next((samples[path] for path in guess.split("|") if path in samples), "")
        choices.insert(0, (guess, f"{guess} · {sample}"))
    if required:
        return choices if guess else [("", "Choose …"), *choices]
    return [("", "none"), *choices]
