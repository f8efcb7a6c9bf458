"""The forms of the pages of judges."""

import json

from django import forms

from ..formats import strict_json
from ..models import Collection, Judge, JudgeRun, JudgeUse, JudgeVersion, Probe
from ..presentation.versions import latest_presented
from . import choosing, prompts, sample, wire
from .versions import LONGEST_PROMPT, VersionSettings

OTHER_STARTS = (JudgeRun.Choice.IMPORTED, JudgeRun.Choice.PROBES)  # not started by RunForm
MOST_CALLS_AT_ONCE = 64
LIMIT_FIELDS = ("most_calls", "most_cost", "concurrency", "per_minute")  # fields of JudgeRun
RUN_CHOICES = [(name, label) for name, label in JudgeRun.Choice.choices if name not in OTHER_STARTS]


def money(label: str, **more) -> forms.DecimalField:
    return forms.DecimalField(label=label, min_value=0, max_digits=14, decimal_places=6, **more)


def calls_at_most(**more) -> forms.IntegerField:
    return forms.IntegerField(label="Calls at most", min_value=1, max_value=2**31 - 1, **more)


class JudgeForm(forms.Form):
    name = forms.CharField(label="Name", max_length=150)


class VersionForm(forms.Form):
    """The settings of a version that an admin chooses."""

    model = forms.CharField(label="Model", max_length=200, help_text="By the name that its server knows.")
    endpoint = forms.CharField(
        label="Address",
        max_length=500,
        help_text="Of the API, such as http://127.0.0.1:11434/v1 for Ollama. The operator has to list its host.",
    )
    template = forms.ChoiceField(
        label="Prompt",
        choices=[(name, template.title) for name, template in prompts.TEMPLATES.items()]
        + [(prompts.OWN_TEMPLATE, "your own text")],
    )
    own = forms.CharField(
        label="Your own text",
        required=False,
        max_length=LONGEST_PROMPT,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="It has {query} and {document} once each, and {scale} and {guidelines} if you like.",
    )
    sees = forms.MultipleChoiceField(
        label="What it sees",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Let it see at least one part."},
    )
    structured = forms.BooleanField(
        label="Send the schema of the answer", required=False, help_text="Leave it out for servers that refuse it."
    )
    sampling = forms.CharField(
        label="Parameters",
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="A JSON object. All of them are sent with every call, and with them the seed.",
    )
    seed = forms.IntegerField(label="Seed", min_value=-(2**63), max_value=2**63 - 1)
    price_in = money("Price of a million tokens read")
    price_out = money("Price of a million tokens written")

    def __init__(self, *args, collection: Collection, latest: JudgeVersion | None = None, **kwargs) -> None:
        words = prompts.text_parts(latest_presented(collection))
        paths = list(dict.fromkeys(part.path for part in (*words.document, *words.query)))
        usual = latest or VersionSettings(model="")
        names = ("model", "endpoint", "template", "structured", "seed", "price_in", "price_out")
        initial = {name: getattr(usual, name) for name in names}
        initial |= {"sees": paths, "sampling": json.dumps(usual.sampling)}
        super().__init__(*args, initial=initial, **kwargs)
        self.fields["sees"].choices = [(path, path) for path in paths]

    def clean_sampling(self) -> dict:
        try:
            return wire.checked_sampling(strict_json.loaded(self.cleaned_data["sampling"]))
        except (ValueError, RecursionError) as error:
            raise forms.ValidationError(f"Give a JSON object: {error}.") from error

    @property
    def version_settings(self) -> VersionSettings:
        chosen = self.cleaned_data | {"sees": tuple(self.cleaned_data["sees"])}
        return VersionSettings(own_prompt=chosen.pop("own"), **chosen)


class UseForm(forms.Form):
    """The version whose grades are used for something; none to use none."""

    use = forms.ChoiceField(choices=JudgeUse.Use.choices, widget=forms.HiddenInput)
    version = forms.ModelChoiceField(
        JudgeVersion.objects.none(), label="Version", empty_label="none", required=False
    )

    def __init__(self, *args, judge: Judge, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.fields["version"].queryset = judge.versions.select_related("judge")


class SampleForm(forms.Form):
    """The sample that people rate before the judge is used."""

    size = forms.IntegerField(
        label="Pairs", min_value=1, max_value=1_000_000, initial=sample.PROPOSED_SIZE,
        help_text="Drawn at random from the pool, of each query its share and one at least.",
    )  # fmt: skip
    seed = forms.IntegerField(label="Seed", min_value=0, max_value=2**31, initial=1)


class AskForm(forms.Form):
    """A form to start a run of a version that has an address to ask."""

    version = forms.ModelChoiceField(JudgeVersion.objects.none(), label="Version", empty_label=None)

    def __init__(self, *args, judge: Judge, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.fields["version"].queryset = judge.versions.exclude(endpoint="").select_related("judge")

    @property
    def chosen(self) -> str:
        """The choice of what is asked about, of a valid form."""
        return self.cleaned_data["choice"]

    @property
    def options(self) -> dict:
        """The options that the choice has."""
        return {name: self.cleaned_data[name] for name in choosing.OPTION_NAMES.get(self.chosen, ())}

    @property
    def limits(self) -> dict:
        return {name: self.cleaned_data[name] for name in LIMIT_FIELDS if name in self.cleaned_data}


class RunForm(AskForm):
    """The pairs of a run, and its pace."""

    choice = forms.ChoiceField(label="Pairs", choices=RUN_CHOICES)
    size = forms.IntegerField(
        label="How many", min_value=1, max_value=10_000_000, initial=100,
        help_text="Of a random part, and of what is asked once more. They are drawn at random.",
    )  # fmt: skip
    seed = forms.IntegerField(label="Seed of that draw", min_value=0, max_value=2**31, initial=1)
    depth = forms.IntegerField(label="Depth, of holes", min_value=1, max_value=10_000, initial=10)
    concurrency = forms.IntegerField(
        label="Calls at the same time", min_value=1, max_value=MOST_CALLS_AT_ONCE, initial=4
    )
    per_minute = forms.IntegerField(
        label="Calls a minute at most", min_value=0, max_value=1_000_000, initial=0, help_text="0: no limit."
    )


class StartForm(RunForm):
    """A run with its caps, as the admin confirms it."""

    most_calls = calls_at_most(help_text="Retries count as calls.")
    most_cost = money("Cost at most", required=False, help_text="Leave empty for no limit.")


class ProbesForm(AskForm):
    """Probes of a version, and the caps of their run."""

    queries = forms.IntegerField(
        label="Queries", min_value=1, max_value=1_000, initial=5,
        help_text="Drawn at random. Each has a probe of every kind, which is a call.",
    )  # fmt: skip
    seed = forms.IntegerField(label="Seed", min_value=0, max_value=2**31, initial=1)
    most_calls = calls_at_most(initial=2 * 5 * len(Probe.Kind), help_text="Retries count as calls.")
    most_cost = money("Cost at most", required=False, help_text="Leave empty for no limit.")
    chosen = JudgeRun.Choice.PROBES

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, auto_id="id_probes_%s", **kwargs)


class ResumeForm(forms.Form):
    calls = calls_at_most(required=False)
    cost = money("Cost at most", required=False)
