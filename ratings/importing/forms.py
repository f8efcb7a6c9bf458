"""The forms of the import pages."""

from collections.abc import Callable, Mapping, Sequence

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils.text import capfirst

from ..formats import values
from ..formats.columns import FIELDS, NAMES, RATERS, SEVERAL, Chosen, layout_of
from ..formats.refusal import Refusal
from ..formats.registry import KEY, TEXT, readable
from ..formats.source import LAST_HEADER, checked_encoding
from ..models import Job
from ..words import as_sentence

MOST_FILES = 20
LARGEST = f"{settings.LARGEST_UPLOAD // 2**20:,} MB"
PASTED = "pasted.txt"
LONGEST_PASTED = 200_000  # characters
DETECTED = "detected from the file"
KINDS = [
    ("queries", "queries: what was searched for"),
    ("documents", "documents: titles and texts"),
    ("results", "runs: what systems returned"),
    ("ratings", "ratings: grades, or qrels"),
]
# The options of a new job.
USUAL = {"queries": {}, "documents": {}, "results": {}, "ratings": {"rater": "qrels"}}
WORDS = {
    "key": "id",
    "need": "information need",
    "rated_at": "time",
    "unrateable": "cannot be judged",
    RATERS: "grades of a rater",
    FIELDS: "kept beside the text",
}


# The options that only files of one kind of rows have.
OF_KIND = {
    "results": {"system", "system_from", "order", "keep_first", "queries_by"},
    "ratings": {"rater", "map", "repeats", "queries_by"},
}
RARE = {"quoting", "fill_down", "spaced_ids"}  # options that few files need: shown where a refusal names them


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
        return [super(Files, self).clean(file, initial) for file in sent]


class SendForm(forms.Form):
    kind = forms.ChoiceField(
        label="What is in it?",
        choices=[("", DETECTED), *KINDS],
        widget=forms.RadioSelect,
        initial="",
        required=False,
    )
    files = Files(
        label="File",
        required=False,
        help_text=f"Plain, packed or in a ZIP or tar; several of one kind are one import. At most {LARGEST}.",
        error_messages={"empty": "The file is empty."},
    )
    pasted = forms.CharField(
        label="The lines of a small file",
        required=False,
        strip=False,
        max_length=LONGEST_PASTED,
        help_text="As in a file, or cells copied from a spreadsheet: a query a line, or a header and rows.",
        widget=forms.Textarea(attrs={"rows": 8, "dir": "auto", "class": "mono", "spellcheck": "false"}),
    )

    def clean(self) -> dict:
        cleaned = super().clean()
        if self.errors:
            return cleaned
        cleaned["files"] = [file for file in cleaned["files"] if file]
        pasted = cleaned["pasted"].replace("\r\n", "\n").strip("\n")
        if pasted.strip() and cleaned["files"]:
            self.add_error("pasted", "Send a file or paste its lines, not both.")
        elif pasted.strip():
            cleaned["files"] = [SimpleUploadedFile(PASTED, f"{pasted}\n".encode())]
        elif not cleaned["files"]:
            self.add_error("files", "Choose a file, or paste its lines.")
        return cleaned


class ZipForm(forms.Form):
    """Pictures of documents."""

    files = Files(
        label="ZIP",
        help_text=(
            "A file in it has the name that the document gives; for an address that is the address without https://."
            f" At most {LARGEST}."
        ),
        error_messages={"required": "Choose a file.", "empty": "The file is empty."},
    )


def _asked(job: Job) -> set[str]:
    """The options that the refusals of the job name."""
    refusals = map(Refusal.of_parts, job.report.get("refusals", []))
    return {option.name for refusal in refusals for option in refusal.options}


def valid(check: Callable, *facts) -> Callable:
    """A validator of a field: `check` of `formats.values` with these facts."""
    return lambda value: checked(check, value, *facts)


def choice(label: str, *choices: tuple[str, str]) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=choices, required=False)


def switch(label: str) -> forms.BooleanField:
    return forms.BooleanField(label=label, required=False)


def line(label: str, longest: int, help_text: str = "", **more) -> forms.CharField:
    return forms.CharField(label=label, max_length=longest, help_text=help_text, required=False, **more)


class HowForm(forms.Form):
    """The options of reading the files of a job. `options` is what the job stores."""

    kind = forms.ChoiceField(
        label="What is in it?", choices=KINDS, error_messages={"required": "Say what is in it."}
    )
    format = choice("Format")
    encoding = line(
        "Encoding",
        50,
        "Empty: UTF-8, or UTF-16 with a byte order mark. Others: windows-1252, shift_jis.",
        validators=[valid(checked_encoding)],
    )
    header = choice(
        "First line of a table",
        ("", DETECTED),
        ("yes", "it names the columns"),
        ("no", "it is a row like all others"),
        *((str(n), f"a title: line {n} names the columns") for n in range(2, LAST_HEADER + 1)),
    )
    sheet = choice("Sheet")
    quoting = switch("Quotation marks are a part of the texts")
    fill_down = switch("An empty cell of the query is that of the line above")
    spaced_ids = switch("Ids may have blanks, each kept as %20")
    system = line(
        "Name of the system",
        values.SYSTEM_NAME_LENGTH,
        "Empty: the one that the file names.",
        validators=[valid(values.checked_key, "system", values.SYSTEM_NAME_LENGTH)],
    )
    system_from = choice(
        "What names a system",
        ("", "its lines, and each system is in one file"),
        ("file", "the name of its file"),
        ("tag", "its lines, and each file is a part of them"),
    )
    order = choice(
        "What orders the results",
        ("", "rank and score, which must agree"),
        ("rank", "the rank"),
        ("score", "the score"),
    )
    keep_first = switch("Where a document appears twice in a ranking of one file, keep its better place")
    rater = line(
        "Rater of grades without a name",
        values.RATER_NAME_LENGTH,
        validators=[valid(values.checked_name, "rater", values.RATER_NAME_LENGTH)],
    )
    map = line("Words that stand for grades", 2_000, "Such as bad=0, good=2.")
    repeats = choice(
        "A pair that is rated again is",
        ("", "refused"),
        ("raters", "of another rater, if it names none"),
        ("last", "in place of the former"),
    )
    queries_by = choice("It names queries by", ("", DETECTED), (KEY, "their id"), (TEXT, "their text"))

    def __init__(self, *args, job: Job, columns: Mapping[str, str], sheets: Sequence[str] = (), **kwargs) -> None:
        self.job, self.names, self.guessed = job, list(columns), set(columns.values())
        grades = ", ".join(f"{word}={grade}" for word, grade in job.options.get("grades", {}).items())
        initial = {"rater": "qrels", "kind": job.kind, "map": grades} | job.options
        super().__init__(*args, initial=initial, **kwargs)
        for name in set().union(*OF_KIND.values()) - OF_KIND.get(job.kind, set()):
            del self.fields[name]
        for name in RARE - job.options.keys() - _asked(job):
            del self.fields[name]
        if not job.kind:
            self.fields["kind"].widget = forms.RadioSelect(choices=KINDS)
        formats = ((format.name, format.title) for format in readable(job.kind))
        self.fields["format"].choices = [("", DETECTED), *formats]
        none = "choose one" if len(sheets) > 1 else "the only one"
        self.fields["sheet"].choices = [("", none), *((name, name) for name in sheets)]
        if not sheets:
            del self.fields["sheet"]
        for number, role in enumerate(columns.values()):
            self.fields[f"column_{number}"] = choice("", *self._roles())
            self.initial[f"column_{number}"] = role

    def _roles(self) -> list[tuple[str, str]]:
        roles = [("", "–"), *((role, WORDS.get(role, role)) for role in NAMES[self.job.kind])]
        return roles + [(role, WORDS[role]) for role in filter(None, [SEVERAL.get(self.job.kind)])]

    def clean_map(self) -> dict[str, str]:
        grades = {}
        for step in filter(None, map(str.strip, self.cleaned_data["map"].split(","))):
            word, equals, grade = (part.strip() for part in step.partition("="))
            if not (word and equals and grade):
                raise forms.ValidationError(f"“{step}” is not a word with its grade, such as bad=0.")
            grades[word] = f"{checked(values.grade, grade):f}"
        return grades

    def clean(self) -> dict:
        cleaned, columns = super().clean(), {}
        for number, name in enumerate(self.names):
            role = cleaned.pop(f"column_{number}", "")
            if role in (RATERS, FIELDS):
                columns.setdefault(role, []).append(name)
            elif role in columns:
                what = WORDS.get(role, role)
                raise forms.ValidationError(
                    f"Two columns are chosen for the {what}: “{columns[role]}” and “{name}”."
                )
            elif role:
                columns[role] = name
        if self.names:
            cleaned["columns"] = columns | self._roles_without_column(columns)
        if cleaned.get("system") and cleaned.get("system_from") == "file":
            raise forms.ValidationError(
                "The system is named twice: by you, and by its file. Choose one of the two."
            )
        if "map" in cleaned:
            cleaned["grades"] = cleaned.pop("map")
        return cleaned

    def _roles_without_column(self, columns: Chosen) -> dict[str, str]:
        """Role -> "" for each role without a chosen column, as its column would be guessed again otherwise."""
        try:
            layout = layout_of(self.job.kind, self.names, columns)
        except ValueError:
            return {}
        guessed = {*layout.column, *({FIELDS} if layout.fields else ()), *({RATERS} & self.guessed)}
        guessed |= {"key"} if self.job.kind == Job.Kind.QUERIES else set()
        return dict.fromkeys(sorted(guessed - columns.keys()), "")

    @property
    def options(self) -> dict:
        """The options to store. Of those for another kind of rows only encoding, header and sheet are kept."""
        options = {name: value for name, value in self.cleaned_data.items() if value and name != "kind"}
        if options.get("header") != self.job.options.get("header"):
            options.pop("columns", None)  # the columns have other names then
        if self.cleaned_data["kind"] == self.job.kind:
            return options
        valid = {name: options[name] for name in {"encoding", "header", "sheet", *RARE} & options.keys()}
        return USUAL[self.cleaned_data["kind"]] | valid

    @property
    def columns(self) -> list[tuple[str, forms.BoundField]]:
        return [(name, self[f"column_{number}"]) for number, name in enumerate(self.names)]

    @property
    def others(self) -> list[forms.BoundField]:
        return [field for field in self if field.name != "kind" and not field.name.startswith("column_")]


def checked(check, *args):
    """The value that a check of `formats.values` returns; its ValueError becomes an error of the form."""
    try:
        return check(*args)
    except ValueError as error:
        raise forms.ValidationError(capfirst(as_sentence(error))) from error
