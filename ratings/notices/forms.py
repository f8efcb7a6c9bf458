"""The forms of who gets notices."""

from django import forms
from django.core.validators import RegexValidator

from ..models import Collection, Notice, Receiver, Role

# (kind, label) of all notices but tests.
KINDS = [(kind, label[:1].upper() + label[1:]) for kind, label in Notice.Kind.choices if kind != Notice.Kind.TEST]
# Their pages are for admins, and they may name raters.
KINDS_OF_ADMINS = {Notice.Kind.GOLD, Notice.Kind.JUDGE, Notice.Kind.IMPORTED, Notice.Kind.REFUSED}
# The kinds that are ticked for a new webhook.
USUAL_KINDS = [Notice.Kind.WORSE, Notice.Kind.DECIDE, Notice.Kind.GAP, Notice.Kind.REFUSED, Notice.Kind.FINISHED]


def kinds_for(role: str) -> list[tuple[str, str]]:
    """The kinds that a person with this role may get, with their labels."""
    return [(kind, label) for kind, label in KINDS if role == Role.ADMIN or kind not in KINDS_OF_ADMINS]


class KindsForm(forms.Form):
    """Which notices somebody gets by mail. To choose no kind ends them."""

    def __init__(self, *args, role: str, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.fields["kinds"] = forms.MultipleChoiceField(
            label="Mail me", required=False, choices=kinds_for(role), widget=forms.CheckboxSelectMultiple
        )


class WebhookForm(forms.ModelForm):
    """A web address that gets notices."""

    address = forms.CharField(
        label="Web address",
        max_length=2_000,
        help_text="Of Slack, a workflow of Teams, or a program of yours. It gets a POST with JSON.",
        validators=[
            RegexValidator(r"\Ahttps?://", "Write the whole address, such as https://hooks.example.org/search.")
        ],
    )
    kinds = forms.MultipleChoiceField(
        label="Send", choices=KINDS, initial=USUAL_KINDS, widget=forms.CheckboxSelectMultiple
    )

    class Meta:
        model = Receiver
        fields = ["address", "kinds"]


class RemindersForm(forms.ModelForm):
    class Meta:
        model = Collection
        fields = ["reminds"]
