"""The forms of the pages of logs and samples."""

from collections.abc import Mapping

from django import forms
from django.conf import settings

from ...formats.searches import FORMATS
from ...models import Job, Sample, SampledQuery
from ..forms import DETECTED, HEADER_CHOICES, ColumnsForm, Files, choice
from .samples import LARGEST_SEED, LONGEST_DAYS, MOST_QUERIES, USUAL_SIZE

ROLES = {
    "text": "query",
    "count": "number of searches",
    "stratum": "stratum",
    "day": "day",
    "id": "id of the search",
}
METHOD_OF_STRATA = (Sample.Method.STRATA, "in strata, each with its share of the queries")
METHODS = [
    (Sample.Method.PROPORTIONAL, "the most frequent for certain, the others with a chance by their searches"),
    METHOD_OF_STRATA,
    (Sample.Method.EVEN, "each query with the same chance: for the variety of queries, not for what people get"),
]
MOST_SHARE = 1_000


class SendLogForm(forms.Form):
    files = Files(
        label="Log",
        help_text=(
            "Queries with their counts as CSV, Parquet or JSON lines; a search on each line; the export of a"
            " search console; queries and events of OpenSearch. Packed or plain, at most"
            f" {settings.LARGEST_LOG // 2**20:,} MB."
        ),
        error_messages={"required": "Choose a file.", "empty": "The file is empty."},
    )


class ReadLogForm(ColumnsForm):
    """How a log is read. `options` is what its job stores."""

    field_order = ["format", "header"]  # before the encoding

    format = choice("Format", ("", DETECTED), *((name, f"{name}: {title}") for name, title in FORMATS.items()))
    header = choice("First line of a table", *HEADER_CHOICES)

    def __init__(self, *args, job: Job, columns: Mapping[str, str], **kwargs) -> None:
        """columns: name -> the role that it has, "" for none."""
        self.job, self.names = job, list(columns)
        super().__init__(*args, **kwargs | {"initial": job.options})
        for number, role in enumerate(columns.values()):
            self.fields[f"column_{number}"] = choice("", ("", "–"), *ROLES.items())
            self.fields[f"column_{number}"].initial = role

    def clean(self) -> None:
        columns = self._take_columns(ROLES)
        if self.names and "text" not in columns:
            raise forms.ValidationError("Say which column holds the query.")
        self.cleaned_data["columns"] = dict.fromkeys(ROLES, "") | columns if self.names else {}

    @property
    def options(self) -> dict:
        names = ("format", "header", "encoding", "columns")
        options = {name: self.cleaned_data[name] for name in names if self.cleaned_data.get(name)}
        # Read in another format or with another header, the columns have other names.
        if any(options.get(name, "") != self.job.options.get(name, "") for name in ("format", "header")):
            options.pop("columns", None)
        return options


class DrawForm(forms.Form):
    """The design of a draw from a checked log. `log` is what its report says of it.

    Where a column divides the log into strata, the only method is that of strata.
    """

    size = forms.IntegerField(label="Queries", min_value=1, max_value=MOST_QUERIES, initial=USUAL_SIZE)
    days = forms.CharField(
        label="Days of the log",
        required=False,
        max_length=LONGEST_DAYS,
        help_text="Such as May 2026. Later readers need to know for which time the queries stand.",
    )
    seed = forms.IntegerField(
        label="Seed",
        required=False,
        min_value=0,
        max_value=LARGEST_SEED,
        help_text="Empty: a random one. The same log, design and seed give the same queries.",
    )

    def __init__(self, *args, log: Mapping, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.fields["days"].initial = log["days"]
        self.names = [stratum["name"] for stratum in log["strata"]]
        methods = [METHOD_OF_STRATA] if log["by_column"] else METHODS
        self.fields["method"] = forms.ChoiceField(
            label="How they are drawn", choices=methods, widget=forms.RadioSelect, initial=methods[0][0]
        )
        # share_0, share_1, …: of the strata, in the order of the log. A column may give some queries no value.
        for number, name in enumerate(self.names):
            self.fields[f"share_{number}"] = forms.FloatField(
                label=name or "(no value)", min_value=0, max_value=MOST_SHARE, initial=1, required=False
            )

    def clean(self) -> None:
        is_in_strata = self.cleaned_data.get("method") == Sample.Method.STRATA
        if is_in_strata and not self.errors and not any(self._shares().values()):
            raise forms.ValidationError("Give at least one stratum a share.")

    def _shares(self) -> dict[str, float]:
        return {name: self.cleaned_data[f"share_{number}"] or 0 for number, name in enumerate(self.names)}

    @property
    def shares(self) -> list[forms.BoundField]:
        return [self[f"share_{number}"] for number in range(len(self.names))]

    @property
    def options(self) -> dict:
        """The options of the job. `design`: what makes a `samples.Design`."""
        design = {name: self.cleaned_data[name] for name in ("size", "method", "days", "seed")}
        if design["method"] == Sample.Method.STRATA:
            design["shares"] = self._shares()
        return {"design": design}


class MoreForm(forms.Form):
    """How many queries there shall be in all, drawn from the log of the last sample."""

    def __init__(self, *args, sample: Sample, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        proposed_size = min(max(2 * sample.size, sample.size + 50), MOST_QUERIES)
        self.fields["size"] = forms.IntegerField(
            label="Queries in all", min_value=sample.size + 1, max_value=MOST_QUERIES, initial=proposed_size
        )

    @property
    def options(self) -> dict:
        return {"design": {"size": self.cleaned_data["size"]}, "more": True}


class DecideForm(forms.Form):
    """What an admin decides about one query of a sample: "" takes it in, a reason leaves it out."""

    place = forms.IntegerField(min_value=1)
    reason = forms.ChoiceField(
        choices=[("", "take in"), *SampledQuery.LeftOut.choices[1:]], required=False, label="Reason"
    )
