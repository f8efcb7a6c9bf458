"""Measures as the field writes them: nDCG@10, P(rel=2)@5, AP, Judged@10."""

import re
from dataclasses import dataclass
from difflib import get_close_matches

from .decimals import finite, plain
from .registry import ALIASES, MEASURES

NOTATION = re.compile(r"(?P<name>[A-Za-z]+)(?:\((?P<params>[^()]*)\))?(?:@(?P<cutoff>.*))?")
DEEPEST = 10**9  # deeper than any ranking, and safe to compare with any integer array


@dataclass(frozen=True)
class Measure:
    """A measure's name, its cutoff (None: the whole ranking) and its parameters in order of name."""

    name: str
    cutoff: int | None = None
    params: tuple[tuple[str, float], ...] = ()

    def __post_init__(self):
        if self.name not in MEASURES:
            raise ValueError(f"unknown measure {self.name!r}; {_nearest(self.name)}")
        cutoff = self.cutoff
        if cutoff is not None and (type(cutoff) is not int or not 1 <= cutoff <= DEEPEST):
            raise ValueError(f"the cutoff of {self.name} must be a whole number from 1 on, not {cutoff!r}")
        known = MEASURES[self.name].parameters
        for name, _ in self.params:
            if name not in known:
                takes = f"takes {', '.join(known)}" if known else "takes no parameter"
                raise ValueError(f"{self.name} {takes}, not {name!r}")
        params = tuple(sorted((name, finite(value, name)) for name, value in self.params))
        if len(dict(params)) != len(params):
            raise ValueError(f"{self.name} has a parameter twice: {_spelled(params)}")
        object.__setattr__(self, "params", params)

    def __str__(self) -> str:
        params = f"({_spelled(self.params)})" if self.params else ""
        return self.name + params + (f"@{self.cutoff}" if self.cutoff else "")


def parse_measure(text: str) -> Measure:
    """The measure that `text` names, in any case of letters; ValueError says what is wrong."""
    match = NOTATION.fullmatch(text.strip())
    if not match:
        raise ValueError(f"cannot read the measure {text!r}; written like nDCG@10, P(rel=2)@5 or AP")
    name = _canonical(match["name"])
    return Measure(name, _cutoff(match["cutoff"], text), _params(match["params"], text))


def _canonical(name: str) -> str:
    spellings = {known.lower(): known for known in MEASURES}
    spellings |= {alias.lower(): known for alias, known in ALIASES.items()}
    return name if name in MEASURES else spellings.get(name.lower(), name)


def _nearest(name: str) -> str:
    lowered = {known.lower(): known for known in (*MEASURES, *ALIASES)}
    near = get_close_matches(name.lower(), lowered)
    if near:
        return "did you mean " + " or ".join(lowered[spelling] for spelling in near) + "?"
    return "known are " + ", ".join(MEASURES)


def _cutoff(text: str | None, whole: str) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,10}", text):
        raise ValueError(f"the cutoff of {whole!r} must be a whole number from 1 on, not {text!r}")
    return int(text)


def _params(text: str | None, whole: str) -> tuple[tuple[str, float], ...]:
    if text is None:
        return ()
    params = []
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"cannot read the parameters of {whole!r}; written like (rel=2)")
        params.append((name.strip(), finite(value, f"{name.strip()} of {whole!r}")))
    return tuple(params)


def _spelled(params: tuple[tuple[str, float], ...]) -> str:
    return ",".join(f"{name}={plain(value)}" for name, value in params)
