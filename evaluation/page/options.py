"""Options as text: the list of options in force, and the panel of controls that change them."""

from collections.abc import Iterable, Mapping

from ..judgments.rules import ADJUDICATIONS, RULE_DESCRIPTIONS, RULES, SMOOTHING_NOTE
from ..measures import MEASURES, OF_SOME, Measure, Options, effective
from ..measures.decimals import decimal_text
from ..measures.options import CHOICES, TEXT_NAMES
from ..scores import Asked
from .numbers import decimals


def _phrase(sentence: str) -> str:
    """The sentence with a small first letter and without its full stop."""
    return f"{sentence[:1].lower()}{sentence[1:].rstrip('.')}"


# A phrase for each value of each option. A value without a phrase is shown by its name.
PHRASES = {
    "gain": {
        "linear": "the grade itself",
        "exponential": "2^grade − 1",
        "exponential_signed": "2^|grade| − 1 with the sign of the grade",
        "map": "a gain listed for each grade",
    },
    "discount": {"log_shift": "1 / log(rank + 1)", "jk2002": "1 / log(rank), and 1 before the rank of the base"},
    "ideal": {"judged": "all judged documents of the query", "retrieved": "only what the system returned"},
    "unjudged": {
        "zero": "counted as gain 0",
        "condensed": "removed, and later ranks move up",
        "require": "no value while any is left",
    },
    "negatives": {
        "minmax": "open min-max, from 0 to 1",
        "minmax_closed": "closed min-max (Gienapp 2020)",
        "raw": "as they are, without a lower end",
        "clip": "gain 0, and for Bpref unjudged, as in trec_eval",
    },
    "undefined": {"skip": "left out and counted", "zero": "count as 0"},
    "missing": {"empty": "an empty list", "skip": "left out and counted"},
    "ties": {
        "rank": "the rank decides",
        "score": "score, then document id, as in trec_eval 10",
        "trec_eval_9": "the same, by scores in 32 bits",
        "average": "average over all orders",
    },
    "rule": {name: _phrase(text) for name, text in RULE_DESCRIPTIONS.items()},
    "adjudications": {name: _phrase(text) for name, text in ADJUDICATIONS.items()},
}

# The label and the explanation of each control.
ABOUT = {
    "gain": ("Gain", "What a grade is worth. The exponential ones set the best grades further apart."),
    "discount": ("Discount", "How much less a document counts the lower it stands."),
    "log_base": (
        "Base of the logarithm",
        "A number above 1, or e. With log_shift, DCG and IDCG depend on it and nDCG does not. With jk2002, all "
        "three do.",
    ),
    "ideal": (
        "Ideal list",
        "What a list is measured against. With retrieved, each system has an ideal list of its own. The value "
        "then says how well a system ordered what it found, not which system is best.",
    ),
    "unjudged": ("Unjudged documents", "What an unjudged document in a ranking counts as."),
    "negatives": (
        "Negative gains",
        "How nDCG treats negative gains. Where there are none, all but minmax_closed give the same value.",
    ),
    "undefined": (
        "Nothing to find",
        "A query with nothing to find has no nDCG. The mean leaves it out, or counts it as 0.",
    ),
    "missing": ("Missing rankings", "How a judged query counts for a system that has no ranking for it."),
    "ties": ("Equal scores", "Which document comes first when a system gave two the same score."),
    "relevant_from": (
        "Relevant from",
        "The lowest grade that counts as relevant, for measures such as P, R, AP and RR.",
    ),
    "rule": ("Judgments", f"How several ratings of a document become one judgment. {SMOOTHING_NOTE}"),
    "adjudications": ("Adjudications", "Whether a decision of an admin counts instead of the ratings."),
}

# The options of judgments, which profiles do not set, with their values.
OF_JUDGMENTS = {"rule": tuple(RULES), "adjudications": tuple(ADJUDICATIONS)}


def controls(values: Mapping[str, str], defaults: Mapping[str, str], grades: Iterable[str]) -> list[dict]:
    """A control for every option. values, defaults: texts by option; grades: the scale, for the text of a map."""
    return [_control(name, values[name], defaults[name], grades) for name in (*TEXT_NAMES, *OF_JUDGMENTS)]


def _control(name: str, value: str, default: str, grades: Iterable[str]) -> dict:
    """The control of one option: its choices, the chosen one, and the text field that belongs to one of them.

    value: as in the commands; default: that of the profile; grades: the scale, for the text of a map.
    """
    known = OF_JUDGMENTS.get(name) or CHOICES.get(name, ())
    words = PHRASES.get(name, {})
    # asks: whether the text field belongs to this choice.
    choices = [
        {"value": text, "words": words.get(text, ""), "asks": (name, text) == ("gain", "map")} for text in known
    ]
    chosen, text_field = value, None
    if name == "gain":
        chosen, colon, steps = value.partition(":")
        text_field = {
            "name": "gain_map",
            "label": "Gain of each grade",
            "value": steps if colon or chosen == "map" else ",".join(f"{grade}={grade}" for grade in grades),
            "help_text": "grade=gain, separated by commas. List every judgment that occurs: the mean of several "
            "ratings can lie between two grades.",
        }
    if name == "unjudged":
        assumed = bool(value) and value not in known
        chosen = "grade" if assumed else value
        about = "each is taken to have the grade below"
        choices.append({"value": "grade", "words": about, "asks": True})
        text_field = {
            "name": "unjudged_grade",
            "label": "The grade that is assumed",
            "value": value if assumed and value != "grade" else "",
            "help_text": "A number.",
        }
    if choices and chosen not in [choice["value"] for choice in choices]:
        choices.append({"value": chosen})
    label, help_text = ABOUT[name]
    return {
        "name": name,
        "label": label,
        "help_text": help_text,
        "value": value,
        "default": default,
        "departs": value != default,
        "choices": choices,  # none: any text
        "chosen": chosen,
        "text_field": text_field,
    }


def values_in(params: Mapping[str, str]) -> dict[str, str]:
    """The options in an address, by name, as the commands write them: a text field is joined to its choice."""
    values = {name: params[name].strip() for name in (*TEXT_NAMES, *OF_JUDGMENTS) if params.get(name, "").strip()}
    if values.get("gain") == "map" and "gain_map" in params:
        values["gain"] = f"map:{params['gain_map'].strip()}"
    if values.get("unjudged") == "grade":
        values["unjudged"] = params.get("unjudged_grade", "").strip() or "grade"
    return values


def in_force(asked: Asked) -> list[dict]:
    """Each option in force as {label, words, departs, used}, for the list of a page.

    words: a phrase with its value; departs: whether it differs from the profile; used: whether the measure reads
    it. A parameter of the measure can set options, too, and what it sets departs from no profile: dcg= sets gain
    and discount, rel= sets relevant_from.
    """
    measure, phrases = asked.measure, _phrases(asked)
    # The base of the logarithm has no phrase of its own: that of the discount has it.
    departing = {"discount" if name == "log_base" else name for name in asked.departing}
    # OF_SOME: the options that only some measures read. Each of them is in `phrases`.
    unused = set(OF_SOME) - set(MEASURES[measure.name].reads)
    params = dict(measure.params)
    # Each measure with dcg= reads gain and discount. RBP has rel=, and does not read relevant_from.
    if "dcg" in params:
        departing -= {"gain", "discount"}
        phrases |= {name: f"{phrases[name]}, by dcg={params['dcg']}" for name in ("gain", "discount")}
    if "rel" in params and "relevant_from" not in unused:
        departing -= {"relevant_from"}
        grade = decimal_text(float(params["rel"]))
        phrases["relevant_from"] = f"grade {grade}, by rel={grade}"
    phrases |= {name: f"{phrases[name]}, not used by {measure}" for name in unused}
    # ABOUT: (label, explanation) of each option.
    return [
        {"label": ABOUT[name][0], "words": phrase, "departs": name in departing, "used": name not in unused}
        for name, phrase in phrases.items()
    ]


def _phrases(asked: Asked) -> dict[str, str]:
    """The phrase of each option in force, by name; the phrase of `discount` also has the base of the logarithm."""
    options = effective(asked.measure, asked.options)  # a parameter dcg= of the measure replaces gain and discount
    values = options.as_dict() | {"rule": asked.rule, "adjudications": asked.adjudications}
    # A value without a phrase stands for itself.
    phrases = {name: PHRASES.get(name, {}).get(value, value) for name, value in values.items()}
    base = phrases.pop("log_base")
    phrases["discount"] = f"1 / log{base}(rank + 1)"
    if options.discount == "jk2002":
        phrases["discount"] = f"1 / log{base}(rank) from rank {base} on, 1 before"
    phrases["unjudged"] = unjudged(asked.measure, options)
    phrases["relevant_from"] = f"grade {phrases['relevant_from']}"
    return phrases


def unjudged(measure: Measure, options: Options) -> str:
    """The phrase on what an unjudged document in a ranking counts as."""
    grade = options.assumed_grade
    if MEASURES[measure.name].skips_unjudged and options.unjudged not in ("condensed", "require"):
        return f"ignored, as always in {measure.name}"
    return PHRASES["unjudged"][options.unjudged] if grade is None else f"taken as grade {decimals(grade, 2)}"
