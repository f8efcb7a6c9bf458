"""The forms of the import pages."""

import csv
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils.text import capfirst

from ..formats import values
from ..formats.columns import FIELDS, NAMES, RATERS, SEVERAL, Chosen, layout_of
from ..formats.refusal import Refusal
from ..formats.registry import KEY, TEXT, readable
from ..formats.source import EXCEL_ENCODING, LAST_HEADER_LINE, checked_encoding
from ..models import Job
from ..words import as_sentence

MOST_FILES = 20
UPLOAD_LIMIT = f"{settings.LARGEST_UPLOAD // 2**20:,} MB"
READING_FORM_ID = "reading"  # the id of the form on the page
PASTED = "pasted.txt"
LONGEST_PASTED = 200_000  # characters
DETECTED = "detected from the file"
KINDS = [
    ("queries", "queries: what was searched for"),
    ("documents", "documents: titles and texts"),
    ("results", "runs: what systems returned"),
    ("ratings", "ratings: grades, or qrels"),
    ("beir", "a data set of BEIR: corpus, queries and qrels"),
]
# The options of a new job.
USUAL_OPTIONS = {"queries": {}, "documents": {}, "results": {}, "ratings": {"rater": "qrels"}, "beir": {}}
LABELS = {  # of roles, where the two differ
    "key": "id",
    "need": "information need",
    "rated_at": "time",
    "unrateable": "cannot be judged",
    RATERS: "grades of a rater",
    FIELDS: "extra field",
}


# The options that only files of one kind of rows have.
OPTIONS_OF_KIND = {
    "results": {"system", "system_from", "order", "keep_first", "queries_by"},
    "ratings": {"rater", "map", "repeats", "queries_by"},
    "beir": {"splits", "rater"},
}
# Few files need these: they are shown where a refusal names them.
RARE_OPTIONS = {"quoting", "fill_down"}
HEADER_CHOICES = [("", DETECTED), ("yes", "it names the columns"), ("no", "it is a row like all others")]


class FilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class Files(forms.FileField):
    """One file or several."""

    widget = FilesInput

    def clean(self, data, initial=None) -> list:
        # Without a file, the one value None is what Django refuses where a file is required.
        files = (data if isinstance(data, list | tuple) else [data]) or [None]
        if len(files) > MOST_FILES:
            raise forms.ValidationError(f"These are {len(files)} files; send at most {MOST_FILES} at once.")
        return [super(Files, self).clean(file, initial) for file in files]


class SendForm(forms.Form):
    kind = forms.ChoiceField(
        label="What kind of file is this?",
        choices=[("", DETECTED), *KINDS],
        widget=forms.RadioSelect,
        initial="",
        required=False,
    )
    files = Files(
        label="File",
        required=False,
        help_text=f"Plain, packed or in a ZIP or tar; several of one kind are one import. At most {UPLOAD_LIMIT}.",
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

    def clean(self) -> None:
        """Take pasted lines as a file. An error says if there is neither a file nor a line, or both."""
        cleaned = self.cleaned_data
        if self.errors:
            return
        cleaned["files"] = [file for file in cleaned["files"] if file]  # without None, where no file was sent
        pasted = cleaned["pasted"].replace("\r\n", "\n").strip("\n")
        if pasted.strip() and cleaned["files"]:
            self.add_error("pasted", "Send a file or paste its lines, not both.")
        elif pasted.strip():
            cleaned["files"] = [SimpleUploadedFile(PASTED, f"{pasted}\n".encode())]
        elif not cleaned["files"]:
            self.add_error("files", "Choose a file, or paste its lines.")


class ZipForm(forms.Form):
    """Pictures of documents."""

    files = Files(
        label="ZIP",
        help_text=(
            "A file in it has the name or address that the document gives, or the id of the document."
            f" At most {UPLOAD_LIMIT}."
        ),
        error_messages={"required": "Choose a file.", "empty": "The file is empty."},
    )


def validator_of(check: Callable, *facts) -> Callable:
    """A validator of a form field: it calls `check(value, *facts)`, whose ValueError becomes its error."""
    return lambda value: checked(check, value, *facts)


def choice(label: str, *choices: tuple[str, str]) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=choices, required=False)


def switch(label: str) -> forms.BooleanField:
    return forms.BooleanField(label=label, required=False)


def line(label: str, longest: int, help_text: str = "", **more) -> forms.CharField:
    return forms.CharField(label=label, max_length=longest, help_text=help_text, required=False, **more)


class ColumnsForm(forms.Form):
    """A form that asks for the role of each column of a table. `names`: of the columns."""

    encoding = line(
        "Encoding",
        50,
        "Leave empty for UTF-8, or UTF-16 with a byte order mark. Others: windows-1252, shift_jis.",
        validators=[validator_of(checked_encoding)],
    )
    names: list[str]

    def _take_columns(self, labels: Mapping[str, str]) -> dict[str, Any]:
        """Role -> the column that people chose for it; for RATERS and FIELDS, of which there may be many, a list.

        Takes the fields of the columns out of `cleaned_data`. `labels`: role -> how an error calls it, where the
        two differ. Raises ValidationError for two columns of a role that only one may have.
        """
        columns: dict[str, Any] = {}
        for number, name in enumerate(self.names):
            role = self.cleaned_data.pop(f"column_{number}", "")
            if role in (RATERS, FIELDS):
                columns.setdefault(role, []).append(name)
            elif role in columns:
                both = f"“{columns[role]}” and “{name}”"
                raise forms.ValidationError(f"Two columns are chosen for the {labels.get(role, role)}: {both}.")
            elif role:
                columns[role] = name
        return columns

    @property
    def columns(self) -> list[tuple[str, forms.BoundField]]:
        """The name of each column, and the field that says what it holds."""
        return [(name, self[f"column_{number}"]) for number, name in enumerate(self.names)]

    @property
    def others(self) -> list[forms.BoundField]:
        return [field for field in self if field.name != "kind" and not field.name.startswith("column_")]


class HowForm(ColumnsForm):
    """The options of reading the files of a job. `options` is what the job stores."""

    field_order = ["kind", "format"]  # before the encoding

    kind = forms.ChoiceField(
        label="What kind of file is this?", choices=KINDS, error_messages={"required": "Say what is in it."}
    )
    format = choice("Format")
    header = choice(
        "First line of a table",
        *HEADER_CHOICES,
        *((str(n), f"a title: line {n} names the columns") for n in range(2, LAST_HEADER_LINE + 1)),
    )
    sheet = choice("Sheet")
    quoting = switch("Quotation marks are a part of the texts")
    fill_down = switch("An empty cell of the query is that of the line above")
    system = line(
        "Name of the system",
        values.SYSTEM_NAME_LENGTH,
        "Leave empty to use the one that the file names.",
        validators=[validator_of(values.system_name)],
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
        validators=[validator_of(values.checked_name, "rater", values.RATER_NAME_LENGTH)],
    )
    splits = line(
        "Splits",
        200,
        "Such as dev, test: with their queries alone. Leave empty for all. Each is a tag of its queries.",
    )
    map = line("Words that stand for grades", 2_000, "Such as bad=0, good=2, n/a=unrateable.")
    repeats = choice(
        "A pair that is rated again is",
        ("", "refused"),
        ("raters", "of another rater, if it names none"),
        ("last", "in place of the former"),
    )
    queries_by = choice("It names queries by", ("", DETECTED), (KEY, "their id"), (TEXT, "their text"))

    def __init__(self, *args, job: Job, columns: Mapping[str, str], sheets: Sequence[str] = (), **kwargs) -> None:
        """The form for the files of a job.

        `columns`: name of a column -> the role that its field proposes, "" for none. `sheets`: the names of the
        sheets of a workbook; without any, the form does not ask for a sheet.
        """
        self.job, self.names, self.proposed_roles = job, list(columns), set(columns.values())
        # The field `map` is the option `grades` as a text, such as bad=0, good=2.
        grades = ", ".join(values.listed_pair(*pair) for pair in job.options.get("grades", {}).items())
        # Where the job has no rater, the field proposes that of a new import of ratings.
        initial = USUAL_OPTIONS["ratings"] | {"kind": job.kind, "map": grades} | job.options
        # The options that the refusals of the last check name as cures.
        cures = [option for parts in job.report.get("refusals", []) for option in Refusal.of_parts(parts).options]
        # If this encoding is one of them, the form proposes it: people need only agree.
        if EXCEL_ENCODING.value in (option.value for option in cures):
            initial.setdefault("encoding", EXCEL_ENCODING.value)
        super().__init__(*args, initial=initial, **kwargs)
        if not job.kind:  # people must choose it, so all kinds are in sight
            self.fields["kind"].widget = forms.RadioSelect(choices=KINDS)
        formats = ((format.name, format.title) for format in readable(job.kind))
        self.fields["format"].choices = [("", DETECTED), *formats]
        if sheets:
            no_sheet = "choose one" if len(sheets) > 1 else "the only one"
            self.fields["sheet"].choices = [("", no_sheet), *((name, name) for name in sheets)]
        else:
            del self.fields["sheet"]
        # A rare field, which is left out otherwise, is shown if its option is one of the cures.
        for name in self._fields_without_use({option.name for option in cures}):
            del self.fields[name]
        for number, role in enumerate(columns.values()):
            field = self.fields[f"column_{number}"] = choice("", *self._roles())
            field.widget.attrs["form"] = READING_FORM_ID  # outside the form, as it stands above its column
            self.initial[f"column_{number}"] = role

    def _fields_without_use(self, cures: set[str]) -> set[str]:
        """The fields for other kinds of rows, and the rare ones that are neither chosen nor among the cures."""
        kind = self.job.kind
        of_other_kinds = set().union(*OPTIONS_OF_KIND.values()) - OPTIONS_OF_KIND.get(kind, set())
        # Each file of a data set of BEIR has a format of its own.
        of_one_format = {"format", "header"} if kind == Job.Kind.BEIR else set()
        return of_other_kinds | of_one_format | (RARE_OPTIONS - self.job.options.keys() - cures)

    def _roles(self) -> list[tuple[str, str]]:
        several = SEVERAL.get(self.job.kind)  # the role that several columns may have, if there is one
        roles = [*NAMES[self.job.kind], *([several] if several else [])]
        return [("", "–"), *((role, LABELS.get(role, role)) for role in roles)]

    def clean_map(self) -> dict[str, str]:
        grades = {}
        lists = csv.reader(self.cleaned_data["map"].splitlines(), skipinitialspace=True)
        for step in filter(None, map(str.strip, chain.from_iterable(lists))):
            word, equals, grade = (part.strip() for part in step.rpartition("="))
            if not (word and equals and grade):
                raise forms.ValidationError(f"“{step}” is not a word with its grade, such as bad=0.")
            meant = checked(values.meant, grade)
            grades[word] = values.CANNOT if meant is None else values.grade_text(meant)
        return grades

    def clean(self) -> None:
        cleaned = self.cleaned_data
        if self.names:
            columns = self._take_columns(LABELS)
            cleaned["columns"] = columns | self._roles_without_column(columns)
        if cleaned.get("system") and cleaned.get("system_from") == "file":
            raise forms.ValidationError(
                "The system is named twice: by you, and by its file. Choose one of the two."
            )
        if "map" in cleaned:
            cleaned["grades"] = cleaned.pop("map")  # as the option of a job is called

    def _roles_without_column(self, columns: Chosen) -> dict[str, str]:
        """Role -> "" for each role that people chose for no column, and for which reading would guess a column.

        The "" says that no column has the role, so that reading guesses none. `columns`: role -> the column
        or columns that people chose.
        """
        try:
            layout = layout_of(self.job.kind, self.names, columns)
        except ValueError:  # reading refuses such columns, and so guesses nothing
            return {}
        guessed = set(layout.column)
        # Reading also takes a column for that of a rater if it has the name of a rater of the collection. Those
        # names are unknown here, but if there was such a column, the form proposed the role RATERS for it.
        if RATERS in self.proposed_roles:
            guessed.add(RATERS)
        if layout.fields:
            guessed.add(FIELDS)
        if self.job.kind == Job.Kind.QUERIES:
            guessed.add("key")  # also guessed by the cells, which the layout does not see
        return dict.fromkeys(sorted(guessed - columns.keys()), "")

    @property
    def options(self) -> dict:
        """The options to store. With another kind of rows, only those that any file may need are kept."""
        options = {name: value for name, value in self.cleaned_data.items() if value and name != "kind"}
        if options.get("header") != self.job.options.get("header"):
            options.pop("columns", None)  # the columns have other names then
        if self.cleaned_data["kind"] == self.job.kind:
            return options
        of_any_kind = {"encoding", "header", "sheet", *RARE_OPTIONS}
        kept = {name: value for name, value in options.items() if name in of_any_kind}
        return USUAL_OPTIONS[self.cleaned_data["kind"]] | kept


def checked(check, *args, **kwargs):
    """The value that a check of `formats.values` returns; its ValueError becomes an error of the form."""
    try:
        return check(*args, **kwargs)
    except ValueError as error:
        raise forms.ValidationError(capfirst(as_sentence(error))) from error
