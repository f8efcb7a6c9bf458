from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"

    def ready(self) -> None:
        from ratings import chores
        from ratings.intake import unmade  # needs the models

        from .decisive import DRAW_EVERY, draw_due
        from .frozen.stored import rows_of

        unmade.of_others.append(rows_of)
        chores.of_apps.append(chores.Chore(draw_due, DRAW_EVERY))
