"""The aim of the decisive order: a measure, its options, and the systems to compare."""

from dataclasses import dataclass
from typing import Any

from ratings.models import Collection

from .. import scores
from ..expected.scope import refuse
from ..judgments.rules import ADJUDICATIONS, RULES
from ..measures import Measure, Options, effective
from ..measures.refusal import refuse_unknown
from ..scores import measure_for, options_for


@dataclass(frozen=True)
class Aim:
    measure: Measure
    options: Options
    profile: str = "default"
    changes: tuple[tuple[str, str], ...] = ()  # options that differ from the profile
    rule: str = "mean"
    adjudications: str = "use"
    systems: tuple[str, ...] | None = None  # None: all, including later ones

    @classmethod
    def of(cls, collection: Collection, **members: Any) -> "Aim":
        """The aim of `members`, which are those of `stored`; without any, the aim that the collection stores.

        ValueError where expected values are not defined for it.
        """
        stored = members or collection.aim or {"measure": "nDCG@10"}
        rule, adjudications = stored.get("rule", "mean"), stored.get("adjudications", "use")
        refuse_unknown("rule", rule, RULES)
        refuse_unknown("adjudications", adjudications, ADJUDICATIONS)
        profile, changes = stored.get("profile", "default"), dict(stored.get("options", {}))
        measure = measure_for(collection, stored["measure"])
        options = options_for(collection, profile, **changes)
        refuse(measure, effective(measure, options))
        systems = stored.get("systems")
        return cls(
            measure,
            options,
            profile,
            tuple(sorted(changes.items())),
            rule,
            adjudications,
            None if systems is None else tuple(systems),
        )

    def stored(self) -> dict[str, Any]:
        """The aim as JSON, in the form of `Collection.aim`."""
        return {
            "measure": str(self.measure),
            "profile": self.profile,
            "options": dict(self.changes),
            "rule": self.rule,
            "adjudications": self.adjudications,
            "systems": None if self.systems is None else list(self.systems),
        }

    def is_of(self, measure: Measure, fingerprint: str) -> bool:
        """Whether the aim has this measure and these options."""
        return (self.measure, self.fingerprint) == (measure, fingerprint)

    @property
    def fingerprint(self) -> str:
        return scores.fingerprint(effective(self.measure, self.options), self.rule, self.adjudications)


def systems_of(collection: Collection) -> tuple[str, ...] | None:
    """The systems of the decisive order; None: all."""
    named = (collection.aim or {}).get("systems") if collection.order == Collection.Order.DECISIVE else None
    return None if named is None else tuple(named)
