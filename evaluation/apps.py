from collections.abc import Iterator

from django.apps import AppConfig
from django.db.models import Model, QuerySet

DRAW_EVERY = 1.0  # seconds between two looks of a worker


class EvaluationConfig(AppConfig):
    name = "evaluation"

    def ready(self) -> None:
        from ratings import chores
        from ratings.intake import unmade  # needs the models

        unmade.of_others.append(rows_of_frozen)
        chores.of_apps.append(chores.Chore(draw_rounds, DRAW_EVERY))


# What needs pandas is imported when it is first used: a command such as the doctor starts in a third of the time.


def rows_of_frozen(collection: Model) -> Iterator[QuerySet]:
    from .frozen.stored import rows_of

    return rows_of(collection)


def draw_rounds() -> None:
    from .decisive import draw_due

    draw_due()
