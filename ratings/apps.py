from collections.abc import Callable

from django.apps import AppConfig
from django.utils.module_loading import import_string

BACK_UP_EVERY = 60.0  # seconds between two checks of a worker whether a backup is due
JUDGE_EVERY = 2.0  # seconds between two looks of a worker for runs of judges


class RatingsConfig(AppConfig):
    name = "ratings"

    def ready(self) -> None:
        """Tell the lower rooms what the upper ones do for them."""
        from allauth.mfa import signals  # these need the models
        from django.contrib.auth.signals import user_logged_in, user_login_failed

        from .collection import putting_away
        from .copies import rules
        from .importing import chores
        from .models import Job, JudgeRun, JudgeVersion
        from .people import members, sessions
        from .people.sign_in import second_factor, tries
        from .presentation import pictures

        user_logged_in.connect(sessions.start, dispatch_uid="ratings.people.sessions")
        user_login_failed.connect(tries.wrong_password, dispatch_uid="ratings.people.sign_in.tries")
        for changed in (signals.authenticator_added, signals.authenticator_removed, signals.authenticator_reset):
            changed.connect(second_factor.note_change, dispatch_uid="ratings.people.sign_in.second_factor")
        members.at_stop.append(later("desk.queue.stop"))
        pictures.fetchers.append(later("importing.jobs.fetch_pictures"))
        chores.of_apps.append(chores.Chore(back_up_if_due, BACK_UP_EVERY))
        chores.of_jobs |= {
            Job.Kind.ARCHIVE: later("copies.jobs.restore"),
            Job.Kind.COPY: later("copies.jobs.copy_now"),
            Job.Kind.LOG: later("sampling.jobs.work"),
        }
        # The judges
        chores.of_apps.append(chores.Chore(later("judges.runs.work_due"), JUDGE_EVERY))
        putting_away.at_stop.append(later("judges.runs.pause_all"))
        rules.RULES |= {
            JudgeRun: later("judges.archived.check_run"),
            JudgeVersion: later("judges.archived.check_version"),
        }


def later(name: str) -> Callable:
    """The function of that name in `ratings`, whose module is imported when it is called: few commands need it."""

    def call(*args):
        return import_string(f"ratings.{name}")(*args)

    call.__name__ = name.rpartition(".")[2]
    return call


def back_up_if_due() -> None:
    """Make a backup if one is due. The thread that calls it stays at a low priority: see `copies.schedule`."""
    later("copies.schedule.run")()
