"""The forms of watches."""

from django import forms

from ratings.models import Collection
from ratings.web.preferences import ZONES
from ratings.words import as_sentence

from ..models import Verdict, Watch
from ..page.address import OFFERED_MEASURES
from ..scores import Asked
from ..scores.asked import DEFAULTS, MEASURE

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class WatchForm(forms.ModelForm):
    """What a watch asks, when, and how a loss is told."""

    days = forms.MultipleChoiceField(
        label="On these days",
        choices=[(str(number), name) for number, name in enumerate(DAYS)],
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )
    zone = forms.ChoiceField(label="Time zone", choices=[(zone, zone.replace("_", " ")) for zone in ZONES])
    measure = forms.CharField(
        max_length=60,
        initial=MEASURE,
        widget=forms.TextInput({"list": "measures"}),
        help_text="nDCG with a cutoff has expected gains: a loss is told if it holds with them. In other measures"
        " it is told only if no judgment of what nobody judged could undo it.",
    )
    options = forms.CharField(
        required=False,
        max_length=300,
        help_text="As addresses of Results have them, with blanks between: gain=exponential unjudged=condensed."
        " Empty: the usual ones.",
    )

    class Meta:
        model = Watch
        fields = ["name", "engine", "depth", "at", "days", "zone", "holiday_until", "tag"]
        fields += ["measure", "options", "margin", "budget", "keep_days"]
        labels = {"engine": "Search engine", "depth": "Results of each query", "at": "Time of day"}
        labels |= {"holiday_until": "No night until", "tag": "Only queries with the tag", "margin": "Margin"}
        labels |= {"budget": "Chance of a false alarm in a year", "keep_days": "Keep nights for this many days"}
        help_texts = {
            "engine": "One that is connected. None: a command or a call of the API names a system each time.",
            "margin": "A smaller loss of the mean does not matter.",
            "budget": "Half of it for each of the two baselines.",
            "holiday_until": "The last day without a night.",
            "tag": "Empty: all queries.",
        }
        widgets = {
            "at": forms.TimeInput({"type": "time"}, format="%H:%M"),
            "holiday_until": forms.DateInput({"type": "date"}, format="%Y-%m-%d"),
        }

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        """The form of `instance`, a new or stored watch.

        `Watch.asked`, option → text, becomes two fields: the measure, and the options that are not the default.
        """
        watch = kwargs["instance"]
        # A new watch asks what pages of the collection show.
        asked = watch.asked or dict(Asked.of(collection).texts)
        options = {name: text for name, text in asked.items() if name != "measure" and DEFAULTS.get(name) != text}
        initial = {
            "measure": asked["measure"],
            "days": [str(day) for day in watch.days],
            "options": " ".join(f"{name}={text}" for name, text in options.items()),
            **(kwargs.get("initial") or {}),  # what the caller gives takes the place of these
        }
        super().__init__(*args, **kwargs | {"initial": initial})
        self.collection, self.offered = collection, OFFERED_MEASURES
        engines = self.fields["engine"]
        assert isinstance(engines, forms.ModelChoiceField)
        engines.queryset = collection.engines.all()
        # A watch without an engine has a night whenever a command, or a call of the API, names a system.
        engines.empty_label = "none: after a call"

    def clean_days(self) -> list[int]:
        return [int(day) for day in self.cleaned_data["days"]]

    def clean_margin(self) -> float:
        return self._within("margin", 0, 1)

    def clean_budget(self) -> float:
        return self._within("budget", 0.001, 0.5)

    def _within(self, name: str, least: float, most: float) -> float:
        if not least <= self.cleaned_data[name] <= most:
            raise forms.ValidationError(f"Choose a number from {least:g} to {most:g}.")
        return self.cleaned_data[name]

    def clean_name(self) -> str:
        name = self.cleaned_data["name"].strip()
        others = self.collection.watches.exclude(pk=self.instance.pk)
        if others.filter(name=name).exists():
            raise forms.ValidationError("Another watch has this name.")
        return name

    def clean(self) -> None:
        super().clean()
        cleaned = self.cleaned_data
        if cleaned.get("engine") and not (cleaned.get("at") and cleaned.get("days")):
            self.add_error("at", "Say when the engine is asked: a time of day, and at least one day.")
        if "measure" in cleaned and "options" in cleaned:
            self._check_asked()

    def _check_asked(self) -> None:
        """Sets what the watch asks from the measure and the options, or adds the error that they have."""
        texts = {"measure": self.cleaned_data["measure"].strip()}
        options = self.cleaned_data["options"].split()  # such as gain=exponential
        for option in options:
            name, _, value = option.partition("=")
            texts[name] = value
        try:
            asked = Asked.of(self.collection, **(DEFAULTS | texts))
        except ValueError as error:
            # With options it is not known which of the two fields is wrong.
            self.add_error(None if options else "measure", as_sentence(error))
            return
        # Also the options that were left out are kept: the numbers stay the same when the default options of the
        # collection change.
        self.instance.asked = DEFAULTS | dict(asked.texts)
        if not asked.measure.more_is_better:
            problem = f"A higher {asked.measure} is not better. Choose another measure, such as nDCG@10."
            self.add_error("measure", problem)
        if texts.get("ties", "rank") != "rank":
            self.add_error("options", "A watch reads results in the order in which they come. Leave ties out.")


class AnswerForm(forms.Form):
    """The answer to an alarm."""

    answer = forms.ChoiceField(
        label="It is", choices=Verdict.Answer.choices, widget=forms.RadioSelect, initial=Verdict.Answer.FAULT
    )
    reason = forms.CharField(label="Reason", max_length=500)
    system = forms.CharField(
        label="Name of the release",
        max_length=200,
        required=False,
        help_text="For a new release alone: the rankings of the night become a system with this name. All watches"
        " and gates then compare with it: it is the last release, and replaces the baseline of this alarm.",
    )

    def clean(self) -> None:
        if self.cleaned_data.get("answer") == Verdict.Answer.RELEASE and not self.cleaned_data.get("system"):
            self.add_error("system", "Give the release a name.")


class WantForm(forms.Form):
    wanted = forms.IntegerField(label="Ratings of each document", min_value=1, max_value=100, initial=1)
