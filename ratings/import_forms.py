"""What people say of the files that they import."""

from collections.abc import Mapping

from django import forms
from django.conf import settings
from django.utils.text import capfirst

from . import archive
from .formats import values
from .formats.known import KEY, TEXT, readable
from .formats.source import ENCODINGS
from .formats.tables import NAMES, RATERS
from .models import Job

MOST_FILES = 20
LARGEST = f"{settings.LARGEST_UPLOAD // 2**20:,} MB"
SEEN = "seen from the file"
KINDS = [
    ("queries", "queries: what was searched for"),
    ("documents", "documents: titles and texts"),
    ("results", "runs: what systems returned"),
    ("ratings", "ratings: grades, or qrels"),
]
# Options of what was just sent.
USUAL = {"queries": {}, "documents": {}, "results": {}, "ratings": {"rater": "qrels"}}
WORDS = {"key": "id", "need": "information need", "rated_at": "time", "unrateable": "cannot be judged"}


class Files(forms.FileField):
    """One file or several."""

    widget = forms.ClearableFileInput

    def __init__(self, *args, **kwargs) -> None:
        several = type("SeveralFiles", (forms.ClearableFileInput,), {"allow_multiple_selected": True})
        super().__init__(*args, widget=several(), **kwargs)

    def clean(self, data, initial=None) -> list:
        sent = (data if isinstance(data, list | tuple) else [data]) or [None]
        if len(sent) > MOST_FILES:
            raise forms.ValidationError(f"These are {len(sent)} files; send at most {MOST_FILES} at once.")
        return [super(Files, self).clean(one, initial) for one in sent]


class SendForm(forms.Form):
    kind = forms.ChoiceField(
        label="What is in it?", choices=[("", SEEN), *KINDS], widget=forms.RadioSelect, initial="", required=False
    )
    files = Files(
        label="File",
        help_text=f"Plain or gzipped; several of one kind at once are one import. At most {LARGEST} together.",
        error_messages={"required": "Choose a file.", "empty": "The file is empty."},
    )


class ArchiveForm(forms.Form):
    file = forms.FileField(
        label="File",
        help_text=f"As <i>Export</i> or export_collection wrote it, here or on another server. At most {LARGEST}.",
        error_messages={"required": "Choose a file.", "empty": "The file is empty."},
    )


class SlugForm(forms.Form):
    """What a collection is to be called in addresses and commands."""

    slug = forms.CharField(label="Name in addresses", max_length=80, help_text="Letters, digits, - and _.")

    def clean_slug(self) -> str:
        if problem := archive.wrong_slug(self.cleaned_data["slug"]):
            raise forms.ValidationError(f"{problem}.")
        return self.cleaned_data["slug"]


class HowForm(forms.Form):
    """How the files of a job are to be read. `options` is what the job keeps of it."""

    def __init__(self, *args, job: Job, columns: Mapping[str, str], **kwargs) -> None:
        self.job, self.names = job, list(columns)
        super().__init__(*args, **kwargs)
        given = job.options
        self.fields["kind"] = forms.ChoiceField(label="What is in it?", choices=KINDS, initial=job.kind)
        formats = [("", SEEN), *((format.name, format.title) for format in readable(job.kind))]
        self.fields["format"] = forms.ChoiceField(
            label="Format", choices=formats, required=False, initial=given.get("format")
        )
        encodings = [("", "UTF-8, or UTF-16 with its mark"), *((name, name) for name in ENCODINGS)]
        self.fields["encoding"] = forms.ChoiceField(
            label="Encoding", choices=encodings, required=False, initial=given.get("encoding")
        )
        for number, (_, role) in enumerate(columns.items()):
            self.fields[f"column_{number}"] = forms.ChoiceField(
                choices=self._roles(), required=False, initial=role
            )
        {"results": self._add_results, "ratings": self._add_ratings}.get(job.kind, lambda given: None)(given)

    def _roles(self) -> list[tuple[str, str]]:
        roles = [("", "–"), *((role, WORDS.get(role, role)) for role in NAMES[self.job.kind])]
        return [*roles, (RATERS, "grades of a rater")] if self.job.kind == "ratings" else roles

    def _add_results(self, given: dict) -> None:
        self.fields["system"] = forms.CharField(
            label="Name of the system",
            required=False,
            max_length=values.SYSTEM_NAME_LENGTH,
            help_text="Empty: the one that the file names.",
            initial=given.get("system"),
        )
        orders = [("", "rank and score, which must agree"), ("rank", "the rank"), ("score", "the score")]
        self.fields["order"] = forms.ChoiceField(
            label="What orders the results", choices=orders, required=False, initial=given.get("order")
        )
        self.fields["keep_first"] = forms.BooleanField(
            label="Where a document stands twice, keep its better place",
            required=False,
            initial=given.get("keep_first"),
        )
        self._add_names(given)

    def _add_ratings(self, given: dict) -> None:
        self.fields["rater"] = forms.CharField(
            label="Who gave grades that name nobody",
            required=False,
            max_length=values.RATER_NAME_LENGTH,
            initial=given.get("rater", "qrels"),
        )
        self.fields["map"] = forms.CharField(
            label="Words that stand for grades",
            required=False,
            max_length=2_000,
            help_text="Such as bad=0, good=2.",
            initial=", ".join(f"{word}={grade}" for word, grade in given.get("grades", {}).items()),
        )
        self._add_names(given)

    def _add_names(self, given: dict) -> None:
        ways = [("", SEEN), (KEY, "their id"), (TEXT, "their text")]
        self.fields["queries_by"] = forms.ChoiceField(
            label="It names queries by", choices=ways, required=False, initial=given.get("queries_by")
        )

    def clean_system(self) -> str:
        name = self.cleaned_data["system"]
        return checked(values.checked_key, name, "system", values.SYSTEM_NAME_LENGTH) if name else ""

    def clean_rater(self) -> str:
        name = self.cleaned_data["rater"].strip()
        return checked(values.checked_name, name, "rater", values.RATER_NAME_LENGTH) if name else ""

    def clean_map(self) -> dict[str, str]:
        grades = {}
        for step in filter(None, map(str.strip, self.cleaned_data["map"].split(","))):
            word, equals, grade = (part.strip() for part in step.partition("="))
            if not (word and equals and grade):
                raise forms.ValidationError(f"“{step}” is no word and grade, such as bad=0.")
            grades[word] = f"{checked(values.grade, grade):f}"
        return grades

    def clean(self) -> dict:
        cleaned, columns = super().clean(), {}
        for number, name in enumerate(self.names):
            role = cleaned.pop(f"column_{number}", "")
            if role == RATERS:
                columns[role] = f"{columns[role]}|{name}" if role in columns else name
            elif role in columns:
                what = WORDS.get(role, role)
                raise forms.ValidationError(f"Both “{columns[role]}” and “{name}” are said to be the {what}.")
            elif role:
                columns[role] = name
        if self.names:
            cleaned["columns"] = columns
        if "map" in cleaned:
            cleaned["grades"] = cleaned.pop("map")
        return cleaned

    @property
    def options(self) -> dict:
        """What was said of another kind of row says nothing of this one."""
        said = {name: value for name, value in self.cleaned_data.items() if value and name != "kind"}
        if self.cleaned_data["kind"] == self.job.kind:
            return said
        return USUAL[self.cleaned_data["kind"]] | {name: said[name] for name in {"encoding"} & said.keys()}

    @property
    def columns(self) -> list[tuple[str, forms.BoundField]]:
        return [(name, self[f"column_{number}"]) for number, name in enumerate(self.names)]

    @property
    def others(self) -> list[forms.BoundField]:
        return [field for field in self if field.name != "kind" and not field.name.startswith("column_")]


def checked(check, *args):
    """What a check of the formats lets through, or its words as an error of the form."""
    try:
        return check(*args)
    except ValueError as error:
        raise forms.ValidationError(capfirst(f"{error}.")) from error
