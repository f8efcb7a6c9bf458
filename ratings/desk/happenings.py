"""Events at the desk, for apps that count them. An app adds a listener; without one nothing is kept."""

from collections.abc import Callable

NAMES = {
    "save": "a rating was saved and counts",
    "doubled": "a key of a client came again, and nothing was saved twice",
    "conflict": "a rating was changed in another window, and the later one refused",
    "surplus": "a rating came after others had filled its pair",
    "claim": "a rater asked for what to rate",
    "lost": "a lease was lost or taken back",
}
listeners: list[Callable[[str, int], None]] = []


def notify_listeners(name: str, number: int = 1) -> None:
    """Tell all listeners that the event `name`, one of NAMES, happened `number` times."""
    for listen in listeners:
        listen(name, number)
