from django.apps import AppConfig

DRAW_EVERY = 1.0  # seconds between two checks of a worker for rounds to draw


class EvaluationConfig(AppConfig):
    name = "evaluation"

    def ready(self) -> None:
        from ratings.copies import tables  # needs the models
        from ratings.importing import chores  # needs the models

        from .models import FrozenEvaluation, FrozenPart

        tables.register(FrozenEvaluation)
        tables.register(FrozenPart, collection="frozen__collection")
        chores.of_apps.append(chores.Chore(draw_due, DRAW_EVERY))


def draw_due() -> int:
    """Draws the rounds that are due. Returns their number: see `decisive.drawing`."""
    from .deciding import drawing

    return drawing.draw_due()
