"""What is asked of an evaluation: the measure, and every setting that decides its numbers."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from ratings.models import Collection

from .. import record
from ..judgments.rules import ADJUDICATIONS as OF_ADJUDICATIONS
from ..judgments.rules import RULES
from ..measures import MEASURES, PROFILES, Measure, Options, effective, parse_measure, with_gmax
from ..measures.refusal import refuse_unknown
from ..record.cache import Source

MEASURE, PROFILE, RULE, ADJUDICATIONS = "nDCG@10", "default", "mean", "use"
DEFAULTS = {"measure": MEASURE, "profile": PROFILE, "rule": RULE, "adjudications": ADJUDICATIONS}
CUTOFFS = (1, 2, 3, 5, 10, 20, 50, 100)  # of the curve of a measure
# Measures without an upper bound. Others exceed 1 or fall below 0 only under unusual options.
SIGNED = {"CG", "DCG", "IDCG"}
SUMS = SIGNED | {name for name, definition in MEASURES.items() if definition.is_count}


@dataclass(frozen=True)
class Asked:
    """A measure and all settings that decide its numbers. Equal ones give equal numbers of one version."""

    measure: Measure
    options: Options = Options()
    profile: str = PROFILE
    changes: tuple[tuple[str, str], ...] = ()  # options that differ from the profile, as text
    rule: str = RULE
    adjudications: str = ADJUDICATIONS
    systems: tuple[str, ...] | None = None  # None: all, including later ones
    left_out: int = 0  # how many raters are left out, so that every number says so
    collection_has_defaults: bool = False  # options of its own: then addresses always name the measure

    @classmethod
    def of(
        cls,
        collection: Collection | None,
        *,
        measure: str | None = None,
        profile: str | None = None,
        rule: str | None = None,
        adjudications: str | None = None,
        systems: Iterable[str] | None = None,
        **options: str,
    ) -> "Asked":
        """What these texts ask for. Their names are those of commands and addresses.

        measure, profile, rule, adjudications: None or "" takes the default of the collection, or DEFAULTS for
        files, which have no collection. systems: names; empty or None for all. options: any others by name, such
        as gain. Default options of the collection hold only if profile is None.

        Raises WrongOption, a ValueError with its option and a message for the user, for a text without a meaning.
        """
        default = by_default(collection)
        if profile is None:
            # DEFAULTS has no options, so all other names are options.
            options = {name: text for name, text in default.items() if name not in DEFAULTS} | options
        measure, profile = measure or default["measure"], profile or default["profile"]
        rule, adjudications = rule or default["rule"], adjudications or default["adjudications"]
        refuse_unknown("rule", rule, RULES)
        refuse_unknown("adjudications", adjudications, OF_ADJUDICATIONS)
        profile_texts = options_for(collection, profile).as_dict()
        options_in_force = options_for(collection, profile, **options)
        texts = options_in_force.as_dict().items()
        changes = [(name, text) for name, text in texts if text != profile_texts[name]]
        return cls(
            measure=measure_for(collection, measure),
            options=options_in_force,
            profile=profile,
            changes=tuple(changes),
            rule=rule,
            adjudications=adjudications,
            systems=tuple(systems or ()) or None,
            left_out=collection.left_out if collection else 0,
            collection_has_defaults=bool(collection and collection.default_options),
        )

    @property
    def texts(self) -> list[tuple[str, str]]:
        """(name, text) of measure, profile and all that differs from them, as an address has them."""
        return [("measure", str(self.measure)), ("profile", self.profile), *self.of_judgments, *self.changes]

    @property
    def as_default(self) -> dict[str, str]:
        """What a collection stores whose default this is: `texts`, or nothing for DEFAULTS."""
        texts = dict(self.texts)
        return {} if texts.items() <= DEFAULTS.items() else texts

    @property
    def of_judgments(self) -> list[tuple[str, str]]:
        """(name, text) of rule and adjudications where they differ from the default."""
        texts = [("rule", self.rule), ("adjudications", self.adjudications)]
        return [(name, text) for name, text in texts if text != DEFAULTS[name]]

    @property
    def departing(self) -> list[str]:
        """The names of the options that differ from the profile."""
        return [name for name, _ in (*self.changes, *self.of_judgments)]

    @property
    def source(self) -> Source:
        """Which arrays are read for it."""
        systems = None if self.systems is None else frozenset(self.systems)
        return Source(systems, self.options.ties, self.rule, self.adjudications)

    @property
    def fingerprint(self) -> str:
        """The options in force for the measure, in short."""
        return self.fingerprint_of(self.measure)

    def fingerprint_of(self, measure: Measure | str) -> str:
        """The options in force for another measure, in short."""
        measure = parse_measure(measure) if isinstance(measure, str) else measure
        return self.with_judgments(effective(measure, self.options))

    def with_judgments(self, options: Options) -> str:
        """These options in short, with what differs from the default in how judgments are made."""
        left_out = [("left_out", str(self.left_out))] if self.left_out else []
        departures = [f"{name}={text}" for name, text in [*self.of_judgments, *left_out]]
        return " ".join([options.fingerprint(), *departures])

    @property
    def label(self) -> str:
        """The measure and its fingerprint."""
        return f"{self.measure} {self.fingerprint}"

    def labels_beside(self, measures: Iterable[Measure]) -> list[str]:
        """The labels of further measures of the page, of those whose options differ from the asked one's."""
        labels = [(measure, self.fingerprint_of(measure)) for measure in measures]
        return [f"{measure} {own}" for measure, own in labels if own != self.fingerprint]

    @property
    def keep(self) -> str:
        """The query string with this measure, profile and options; "" for the usual defaults.

        It names an option in a collection with defaults of its own, so that its numbers stay when these change.
        """
        return short_query_string(self.texts, with_measure=self.collection_has_defaults)

    @property
    def keep_expected(self) -> str:
        """The query string of `keep` that also asks for expected values."""
        return self.keep_with("expected=1")

    def keep_with(self, parameter: str) -> str:
        """The query string of `keep` with one parameter more."""
        return f"{self.keep}{'&' if self.keep else '?'}{parameter}"

    @property
    def reads_judgments(self) -> bool:
        """Whether the measure reads the judgments of what a system returned, down to the cutoff."""
        return MEASURES[self.measure.name].reads_judgments

    @property
    def bounded(self) -> bool:
        """Whether the maximum of the measure is 1."""
        return self.measure.name not in SUMS

    def at(self, name: str) -> Measure:
        """The measure with this name at the same cutoff, and with the same form of DCG where it has one."""
        form = [param for param in self.measure.params if param[0] == "dcg" and "dcg" in MEASURES[name].parameters]
        return Measure(name, self.measure.cutoff, tuple(form))

    @property
    def judged(self) -> Measure:
        """The judged share down to the same cutoff."""
        return self.at("Judged")

    @property
    def uncut(self) -> Measure:
        """The same measure without a cutoff."""
        return replace(self.measure, cutoff=None)

    @property
    def cumulative(self) -> list[Measure]:
        """CG, DCG and IDCG at the same cutoff, without the asked measure."""
        return [self.at(name) for name in ("CG", "DCG", "IDCG") if name != self.measure.name]

    @property
    def at_cutoffs(self) -> list[Measure]:
        """The measure at the cutoffs of the curve; none where it takes no cutoff."""
        if not MEASURES[self.measure.name].takes_cutoff:
            return []
        cutoffs = sorted({*CUTOFFS, self.measure.cutoff} - {None})
        return [replace(self.measure, cutoff=cutoff) for cutoff in cutoffs]


def by_default(collection: Collection | None) -> dict[str, str]:
    """What holds where nothing is asked, as texts by name: DEFAULTS, or what the collection has in their place."""
    return DEFAULTS | (collection.default_options if collection else {})


def short_query_string(parts: Iterable[tuple[str, str]], *, with_measure: bool = False) -> str:
    """The query string of these parameters without DEFAULTS; with_measure: with the measure in any case."""
    omitted = {name: text for name, text in DEFAULTS.items() if not (with_measure and name == "measure")}
    return query_string((name, value) for name, value in parts if value and omitted.get(name) != value)


def query_string(parts: Iterable[tuple[str, str]]) -> str:
    """The query string of these parameters, readable where an address allows it; "" for none."""
    text = urlencode([*parts], safe="@()=:,")
    return f"?{text}" if text else ""


def options_for(collection: Collection | None, profile: str = "default", **changes: str) -> Options:
    """The options of a profile with `changes`, given as text. relevant_from is that of the collection, or 1.

    ValueError, with a message for the user, for an unknown profile or option.
    """
    refuse_unknown("profile", profile, PROFILES)
    options = PROFILES[profile]
    if collection is not None:
        options = replace(options, relevant_from=float(collection.relevant_from))
    return options.revised(**changes)


def measure_for(collection: Collection | None, text: str) -> Measure:
    """The measure that `text` names, with the highest grade of the scale where needed: ERR(gmax=3)@10."""
    return _with_gmax(collection, parse_measure(text))


def measures_of(collection: Collection | None, measures: Iterable[Measure | str]) -> list[Measure]:
    """The measures, those given as text as `measure_for` reads them."""
    parsed = [parse_measure(measure) if isinstance(measure, str) else measure for measure in measures]
    return [_with_gmax(collection, measure) for measure in parsed]


def _with_gmax(collection: Collection | None, measure: Measure) -> Measure:
    if collection is None or not measure.lacks_gmax:
        return measure
    scale = record.scale(collection)
    if not scale:
        raise ValueError(f"{measure} needs the highest grade, and {collection.slug} has no scale yet.")
    return with_gmax(measure, scale[-1])
