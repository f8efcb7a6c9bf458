"""The app of evaluation, and what it adds to the app `ratings`, which does not import it."""

from django.apps import AppConfig

# The rooms, packages of this app, that have addresses. A room that can be taken out adds itself.
rooms = ["results", "comparing", "agreeing", "frozen", "watching"]
estimators: list[str] = []  # the module that is a `scores.expected.Estimator`, if any
WATCH_EVERY, FORGET_EVERY = 3.0, 3_600.0  # seconds between two looks of a worker


class EvaluationConfig(AppConfig):
    name = "evaluation"

    def ready(self) -> None:
        """Registers with `ratings` the tables, the notices, and the work of the background worker.

        `tables` has a description of every table. A chore is work that a worker repeats. A NIGHT is a job that
        asks a search engine the queries of a watch.
        """
        # Imported here, since these modules need the models.
        from ratings.copies import tables
        from ratings.importing import chores
        from ratings.models import Job
        from ratings.notices import sources

        from .models import FrozenEvaluation, FrozenLink, FrozenPart, Night, NightRanking, Verdict, Watch

        # collection: the lookup from a row to its collection, where the table has no field of this name.
        tables.register(FrozenEvaluation)
        tables.register(FrozenLink, collection="frozen__collection")
        tables.register(FrozenPart, collection="frozen__collection")
        tables.register(Watch)
        tables.register(NightRanking, collection="watch__collection")
        tables.register(Night, collection="watch__collection")
        tables.register(Verdict, collection="night__watch__collection")
        sources.of_apps.append(nights_told)
        chores.of_apps.append(chores.Chore(watch_over, WATCH_EVERY))
        chores.of_apps.append(chores.Chore(forget_old_nights, FORGET_EVERY))
        chores.of_jobs[Job.Kind.NIGHT] = ask_engine_of_night


# The modules are imported when they are needed: few commands need them.


def watch_over() -> None:
    """Begin the nights of watches that are due, and tell those that were asked."""
    from .watching import nights, telling

    nights.begin_due()
    nights.mark_gaps()
    telling.tell_due()


def nights_told(collection, since):
    """What happened in nights since this moment, for notices."""
    from .watching.telling import happened

    return happened(collection, since)


def forget_old_nights() -> None:
    from .watching.nights import forget_old

    forget_old()


def ask_engine_of_night(job, progress):
    """The report of a job that asks the engine of a watch."""
    from .watching.nights import work

    return work(job, progress)
