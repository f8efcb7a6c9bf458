"""Why a query counts in a mean, or does not."""

COUNTED, NOT_JUDGED, NOTHING_TO_FIND, NO_RANKING, UNJUDGED_ABOVE_CUTOFF = range(5)

REASONS = ("counted", "not judged", "nothing to find", "no ranking", "unjudged above the cutoff")
