from collections.abc import Callable

from django.apps import AppConfig
from django.utils.module_loading import import_string

# Seconds between two looks of a worker: for backups that are due, and for notices and mail.
BACK_UP_EVERY = 60.0
GATHER_EVERY, DELIVER_EVERY, REMIND_EVERY, FORGET_EVERY = 30.0, 5.0, 600.0, 3_600.0

# Those with addresses, in any order, as no two have the same one. A room that can be taken out adds itself.
rooms = ["people", "desk", "presentation", "pool", "collection", "importing", "importing.sampling"]
rooms += ["notices", "copies"]


class RatingsConfig(AppConfig):
    name = "ratings"

    def ready(self) -> None:
        """Register what the upper rooms, which are packages here, do for the lower ones, which never import them.

        Each list or dict below belongs to a lower room, which calls the functions in it. A chore is what a worker
        does again and again.
        """
        from allauth.mfa import signals  # these need the models
        from django.contrib.auth.signals import user_logged_in, user_login_failed

        from .importing import chores
        from .models import Job
        from .people import many, members, sessions
        from .people.sign_in import tries
        from .presentation import pictures

        user_logged_in.connect(sessions.start, dispatch_uid="ratings.people.sessions")
        user_login_failed.connect(tries.wrong_password, dispatch_uid="ratings.people.sign_in.tries")
        noting = later("people.sign_in.second_factor.note_change")
        # `weak=False`: nothing else refers to `noting`, which would be forgotten.
        for changed in (signals.authenticator_added, signals.authenticator_removed, signals.authenticator_reset):
            changed.connect(noting, weak=False, dispatch_uid="ratings.people.sign_in.second_factor")
        members.at_stop_of_rater.append(later("desk.queue.stop"))
        members.rater_page_contexts.append(later("pool.progress.of_rater.work_on_page"))
        many.acts_of_rooms.append(later("pool.leaving_out.acts_on_many"))
        pictures.fetchers.append(later("importing.jobs.fetch_pictures"))
        chores.of_apps.append(chores.Chore(later("copies.schedule.back_up_slowly"), BACK_UP_EVERY))
        chores.of_apps.append(chores.Chore(later("notices.gathering.gather"), GATHER_EVERY))
        chores.of_apps.append(chores.Chore(later("notices.gathering.forget_old"), FORGET_EVERY))
        chores.of_apps.append(chores.Chore(later("notices.delivering.deliver_due"), DELIVER_EVERY))
        chores.of_apps.append(chores.Chore(later("notices.reminding.remind_due"), REMIND_EVERY))
        chores.of_jobs |= {
            Job.Kind.ARCHIVE: later("copies.jobs.restore"),
            Job.Kind.COPY: later("copies.jobs.copy_now"),
            Job.Kind.LOG: later("importing.sampling.jobs.work"),
        }


def later(name: str) -> Callable:
    """The function of that name in `ratings`, whose module is imported when it is called: few commands need it."""

    def call(*args, **more):
        return import_string(f"ratings.{name}")(*args, **more)

    call.__name__ = name.rpartition(".")[2]
    return call
