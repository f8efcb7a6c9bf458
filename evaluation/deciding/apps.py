from django.apps import AppConfig

from ratings.importing import chores

from ..apps import estimators, rooms

DRAW_EVERY = 1.0  # seconds between two checks of a worker for rounds to draw


class DecidingConfig(AppConfig):
    name = "evaluation.deciding"

    def ready(self) -> None:
        rooms.append("deciding")
        estimators.append("evaluation.deciding.estimator")
        chores.of_apps.append(chores.Chore(draw_due, DRAW_EVERY))


def draw_due() -> int:
    """Draws the rounds that are due. Returns their number: see `drawing`."""
    from .drawing import draw_due  # slow to import: few commands need it

    return draw_due()
