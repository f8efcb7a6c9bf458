from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"

    def ready(self) -> None:
        from ratings.intake import unmade  # needs the models

        from .frozen.stored import rows_of

        unmade.of_others.append(rows_of)
