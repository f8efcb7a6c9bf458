"""Measures as the field writes them: nDCG@10, P(rel=2)@5, AP, nDCG(dcg='exp-log2')@10, RBP(p=0.8,rel=1)."""

import re
from dataclasses import dataclass, replace

from .decimals import decimal_text
from .parameters import DEFAULTS, checked, params_text
from .refusal import refuse_unknown
from .registry import ALIASES, MEASURES

NOTATION = re.compile(r"(?P<name>[A-Za-z]+)(?:\((?P<params>[^()]*)\))?(?:@(?P<cutoff>.*))?")
QUOTED = re.compile(r"(?P<quote>['\"])(?P<text>.*)(?P=quote)")
OF_TREC_EVAL = {"ndcg_cut": "nDCG", "map_cut": "AP", "recall": "R", "success": "Success", "recip_rank": "RR"}
TREC_EVAL = re.compile(rf"(P|{'|'.join(OF_TREC_EVAL)})(?:[_.]([0-9]+))?")
LARGEST_CUTOFF = 10**9  # deeper than any ranking, and safe to compare with any integer array


@dataclass(frozen=True)
class Measure:
    """A measure's name, its cutoff (None: the whole ranking) and its parameters in order of name.

    A parameter with a default is always included, so that the printed measure states it.
    """

    name: str
    cutoff: int | None = None
    params: tuple[tuple[str, float | str], ...] = ()

    def __post_init__(self):
        refuse_unknown("measure", self.name, MEASURES, ALIASES)  # an alias is only named as what may be meant
        cutoff = self.cutoff
        definition = MEASURES[self.name]
        if cutoff is not None and not definition.takes_cutoff:
            raise ValueError(f"{self.name} takes no cutoff, not @{cutoff}.")
        # `type`, since True and False are instances of int, too.
        if cutoff is not None and (type(cutoff) is not int or not 1 <= cutoff <= LARGEST_CUTOFF):
            raise ValueError(f"the cutoff of {self.name} must be a whole number from 1 on, not {cutoff!r}.")
        for name, _ in self.params:
            if name not in definition.parameters:
                known = ", ".join(definition.parameters) or "no parameter"
                raise ValueError(f"{self.name} takes {known}, not {name!r}.")
        params = [(name, checked(name, value)) for name, value in self.params]
        if len(dict(params)) != len(params):
            raise ValueError(f"{self.name} has a parameter twice: {params_text(params)}.")
        # DEFAULTS has neither rel nor gmax: both are here only if the caller stated both.
        stated = {name: DEFAULTS[name] for name in definition.parameters if name in DEFAULTS} | dict(params)
        if {"rel", "gmax"} <= stated.keys():
            raise ValueError(f"{self.name} takes rel or gmax, not both: with rel a document gains 0 or 1.")
        object.__setattr__(self, "params", tuple(sorted(stated.items())))

    def __str__(self) -> str:
        params = f"({params_text(self.params)})" if self.params else ""
        return self.name + params + (f"@{self.cutoff}" if self.cutoff else "")

    @property
    def lacks_gmax(self) -> bool:
        """Whether the measure needs gmax, the highest grade of the scale, and does not state it."""
        return MEASURES[self.name].needs_gmax and not {"rel", "gmax"} & dict(self.params).keys()

    @property
    def more_is_better(self) -> bool:
        """Whether a ranking with a higher value is better."""
        return MEASURES[self.name].more_is_better


def with_gmax(measure: Measure, highest: float) -> Measure:
    """`measure` with gmax, the highest grade of the scale, where it lacks one: ERR@10 becomes ERR(gmax=3)@10.

    Other measures are returned unchanged. ValueError where gmax is needed and `highest` is not above 0.
    """
    if not measure.lacks_gmax:
        return measure
    if highest <= 0:
        raise ValueError(f"{measure} needs a scale with a grade above 0; its highest is {decimal_text(highest)}.")
    return replace(measure, params=(*measure.params, ("gmax", highest)))


def parse_measure(text: str) -> Measure:
    """The measure that `text` names, in upper or lower case. ValueError with the fault, for the user."""
    match = NOTATION.fullmatch(text.strip())
    if not match:
        if named := TREC_EVAL.fullmatch(text.strip()):
            ours = OF_TREC_EVAL.get(named[1], named[1]) + (f"@{named[2]}" if named[2] else "")
            raise ValueError(f"{text!r} is a name of trec_eval; write {ours}.")
        raise ValueError(f"cannot read the measure {text!r}; written like nDCG@10, P(rel=2)@5 or AP.")
    name = _canonical(match["name"])
    return Measure(name, _cutoff(match["cutoff"], text), _params(match["params"], text))


def _canonical(name: str) -> str:
    spellings = {known.lower(): known for known in MEASURES}
    spellings |= {alias.lower(): known for alias, known in ALIASES.items()}
    return spellings.get(name.lower(), name)


def _cutoff(text: str | None, whole: str) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,10}", text):
        raise ValueError(f"the cutoff of {whole!r} must be a whole number from 1 on, not {text!r}.")
    return int(text)


def _params(text: str | None, whole: str) -> tuple[tuple[str, str], ...]:
    if text is None:
        return ()
    params = []
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"cannot read the parameters of {whole!r}; written like (rel=2).")
        quoted = QUOTED.fullmatch(value.strip())
        params.append((name.strip(), quoted["text"] if quoted else value.strip()))
    return tuple(params)
