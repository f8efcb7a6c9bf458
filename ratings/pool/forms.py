"""The forms of the pages of the pool, of anchors and of adjudication."""

from decimal import Decimal

from django import forms

from ..desk.forms import on_scale
from ..models import Anchor, Collection, Grade, Pair, System
from ..web.forms import OfCollection
from ..web.settings_forms import Versioned
from .asking_again import EVENT_PATH, Scope
from .pooling import MOST_RATINGS_OF_PAIR


class WithGrade(OfCollection):
    """A form with a grade of the collection's scale, by its value."""

    grade = forms.DecimalField(error_messages={"required": "Choose a grade."})

    def clean_grade(self) -> Grade:
        return on_scale(self.cleaned_data["grade"], self.collection.grades.all())


class AdjudicationForm(WithGrade):
    """A grade, a reason or none, and `latest_act` of the pair when the page was made."""

    reason = forms.CharField(max_length=5_000, required=False)
    seen = forms.IntegerField(min_value=0)


class WithdrawalForm(forms.Form):
    """A reason, and the id of the adjudication that the page showed."""

    reason = forms.CharField(
        max_length=5_000, error_messages={"required": "Give a reason. It is stored with the decision."}
    )
    seen = forms.IntegerField(min_value=1)


def ratings_field(label: str, **more) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=1, max_value=MOST_RATINGS_OF_PAIR, **more)


class PlanForm(forms.Form):
    """The arguments of `pooling.plan` and `pooling.pool`."""

    depth = forms.IntegerField(
        label="Depth", min_value=1, max_value=10_000, initial=10, help_text="How many places of each ranking."
    )
    wanted = ratings_field(
        "Ratings of each pair",
        initial=1,
        help_text="Each is by another rater. Several show how far raters agree. Pairs that have more keep them.",
    )
    # Compared as text: a ModelMultipleChoiceField would ask SQLite for numbers that it cannot hold.
    systems = forms.MultipleChoiceField(
        label="Systems",
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": "Choose at least one system.",
            "invalid_choice": "Choose among the systems of the collection.",
        },
    )

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.system_of_value = {str(system.pk): system for system in collection.systems.all()}
        self.fields["systems"].choices = [(pk, system.name) for pk, system in self.system_of_value.items()]
        self.fields["systems"].initial = list(self.system_of_value)

    def clean_systems(self) -> list[System]:
        return [self.system_of_value[pk] for pk in self.cleaned_data["systems"]]


class MoreForm(forms.Form):
    """How many ratings every pair of the pool should have at least."""

    more = ratings_field(
        "Ratings of every pair that is in the pool already",
        help_text="Pairs that have or want as many stay as they are.",
    )


class FewerForm(forms.Form):
    """How many ratings every pair should want at most."""

    fewer = ratings_field(
        "Ratings of every pair, at most",
        help_text="Where a pool asked for too many. Ratings that are given stay and count.",
    )


class ScopeForm(OfCollection):
    """One query, document, pair or rater of a collection. If it is valid, `scope` has it."""

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        super().__init__(*args, collection=collection, **kwargs)
        pairs = Pair.objects.filter(query__collection=collection).select_related("query", "document")
        self.fields |= {
            "query": forms.ModelChoiceField(collection.queries.all(), required=False),
            "document": forms.ModelChoiceField(collection.documents.all(), required=False),
            "pair": forms.ModelChoiceField(pairs, required=False, to_field_name="token"),
            "rater": forms.ModelChoiceField(collection.raters.all(), required=False),
        }

    def clean(self) -> None:
        named = {kind: row for kind in EVENT_PATH if (row := self.cleaned_data.get(kind))}
        if len(named) != 1:
            raise forms.ValidationError("Name one query, document, pair or rater.")
        [(kind, row)] = named.items()
        self.scope = Scope(self.collection, kind, row)


class HolesForm(forms.Form):
    """A system, and the depth down to which its unjudged documents are listed."""

    system = forms.ModelChoiceField(System.objects.none(), label="Unjudged documents of", empty_label=None)
    depth = forms.IntegerField(label="in the first", min_value=1, max_value=10_000)

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.fields["system"].queryset = collection.systems.all()


class WantHolesForm(HolesForm):
    wanted = ratings_field("Ratings of each")


class PairsForm(OfCollection):
    """Pairs by the ids of their query and document, or all pairs of a query, one a line."""

    lines = forms.CharField(
        label="Ids of a query and a document, or of a query alone for all its pairs, one a line",
        max_length=200_000,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto", "class": "mono", "spellcheck": "false"}),
        error_messages={"required": "Name at least one query."},
    )

    def clean_lines(self) -> list[int]:
        """The ids of the pairs, each once. An error names the number of its line.

        A line is the key of a query, for all its pairs, or that key, a blank and the key of a document.
        """
        pair_ids: list[int] = []
        for number, line in enumerate(self.cleaned_data["lines"].splitlines(), start=1):
            if not line.strip():
                continue
            query_key, *document_words = line.split()
            pairs = Pair.objects.filter(query__collection=self.collection, query__key=query_key)
            if document_words:  # several if the document's key has blanks
                pairs = pairs.filter(document__key=" ".join(document_words))
            ids = list(pairs.values_list("pk", flat=True))
            if not ids:
                raise forms.ValidationError(
                    f"Line {number}: “{line.strip()[:80]}” names no pair of the pool. Write the id of a query, or"
                    " the ids of a query and a document with a blank between them. Nothing was changed."
                )
            pair_ids += ids
        if not pair_ids:  # all lines are empty
            raise forms.ValidationError(self.fields["lines"].error_messages["required"])
        return list(dict.fromkeys(pair_ids))


class JudgingForm(Versioned, forms.ModelForm):
    """The order of rating, the shares of gold and repeats, and the break."""

    class Meta:
        model = Collection
        fields = ["order", "gold_share", "repeat_share", "break_after"]
        labels = {"order": "Order", "gold_share": "Gold", "repeat_share": "Repeats", "break_after": "Break after"}
        help_texts = {
            "gold_share": "The share of a rater's work whose grade is known: 0.1 is one in ten. It shows who "
            "reads with care. A rater gets each gold pair once. In the orders query by query and most useful "
            "first, gold comes among the pairs of its query, so that its place does not give it away: spread gold "
            "over the queries. In the other two orders, have more gold than the busiest rater gets.",
            "repeat_share": "The share of a rater's work that they have graded before. It shows whether they "
            "agree with themselves. The second grade is used for nothing else.",
            "break_after": "A break is offered after so many ratings in a row. 0: never. One key ends the break.",
        }

    def clean(self) -> None:
        super().clean()
        shares = [self.cleaned_data.get("gold_share"), self.cleaned_data.get("repeat_share")]
        if None not in shares and sum(shares) > Decimal("0.5"):
            raise forms.ValidationError("Gold and repeats together may be at most half of the work.")


class AnchorForm(WithGrade):
    """The arguments of `anchors.set_anchor`."""

    field_order = ["use"]  # before the grade

    use = forms.ChoiceField(
        label="Use",
        choices=[
            (Anchor.Use.WARM_UP, "warm-up: raters begin with it and see the answer"),
            (Anchor.Use.GOLD, "gold: mixed into the work, and raters do not know"),
        ],
        widget=forms.RadioSelect,
        error_messages={"required": "Choose what the pair is for."},
    )
    explanation = forms.CharField(
        label="Why this grade?",
        required=False,
        max_length=5_000,
        help_text="A warm-up needs it: raters read it after their answer. For gold, only admins see it.",
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )

    def clean(self) -> None:
        cleaned = self.cleaned_data
        if cleaned.get("use") == Anchor.Use.WARM_UP and cleaned.get("explanation") == "":
            self.add_error("explanation", "Say why: raters read it after their answer.")


class FindPairForm(OfCollection):
    """A pair, by the ids of its query and document. It may be outside the pool."""

    query = forms.CharField(label="Id of the query", max_length=500)
    document = forms.CharField(label="Id of the document", max_length=500)

    def clean_query(self) -> int:
        return self.id_of(self.collection.queries, self.cleaned_data["query"], "query")

    def clean_document(self) -> int:
        return self.id_of(self.collection.documents, self.cleaned_data["document"], "document")

    def id_of(self, rows, key: str, what: str) -> int:
        pk = rows.filter(key=key).values_list("pk", flat=True).first()
        if pk is None:
            raise forms.ValidationError(f"There is no {what} “{key[:80]}” in this collection.")
        return pk
