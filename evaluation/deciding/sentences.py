"""The sentences on machines beside expected values, as plain text: pages, files and commands have the same."""

from collections.abc import Iterable, Mapping


def named_machines(facts: Mapping) -> str:
    """The sentences that name the machines in the model and in triage; "" where there are none.

    facts: those of `Expected.facts`.
    """
    sentences = [predicting(facts.get("machines", ()))]
    if names := facts.get("triage"):
        sentences.append(
            f"Rounds drew pairs more readily where people are likely to grade otherwise than {'; '.join(names)}. "
            "The chance of each pair is known, so that this favours no system."
        )
    return " ".join(filter(None, sentences))


def predicting(machines: Iterable[Mapping]) -> str:
    """The sentences on machines whose grades are features of the model; "" where there are none."""
    names = [f"{each['judge']}, version {each['version']} ({each['model']})" for each in machines]
    if not names:
        return ""
    return (
        f"The grades of a machine help to predict the missing judgments: {'; '.join(names)}. "
        "None of them counts as a judgment, and the judgments that were drawn correct them."
    )
