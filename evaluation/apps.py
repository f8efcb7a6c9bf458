from django.apps import AppConfig

rooms = ["results", "comparing", "agreeing", "frozen"]  # with addresses; a room that can be taken out adds itself
estimators: list[str] = []  # the module that is a `scores.expected.Estimator`, if any


class EvaluationConfig(AppConfig):
    name = "evaluation"

    def ready(self) -> None:
        from ratings.copies import tables  # needs the models

        from .models import FrozenEvaluation, FrozenPart

        tables.register(FrozenEvaluation)
        tables.register(FrozenPart, collection="frozen__collection")
