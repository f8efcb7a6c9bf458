from django.apps import AppConfig

BACK_UP_EVERY = 60.0  # seconds between two checks of a worker whether a backup is due


class RatingsConfig(AppConfig):
    name = "ratings"

    def ready(self) -> None:
        from allauth.mfa import signals  # these need the models
        from django.contrib.auth.signals import user_logged_in, user_login_failed

        from .desk import queue
        from .importing import chores
        from .people import members, sessions
        from .people.sign_in import second_factor, tries

        chores.of_apps.append(chores.Chore(back_up_if_due, BACK_UP_EVERY))
        members.at_stop.append(queue.stop)
        user_logged_in.connect(sessions.start, dispatch_uid="ratings.people.sessions")
        user_login_failed.connect(tries.wrong_password, dispatch_uid="ratings.people.sign_in.tries")
        for changed in (signals.authenticator_added, signals.authenticator_removed, signals.authenticator_reset):
            changed.connect(second_factor.note_change, dispatch_uid="ratings.people.sign_in.second_factor")


def back_up_if_due() -> None:
    """Make a backup if one is due. The thread that calls it stays at a low priority: see `copies.schedule`."""
    from .copies import schedule  # imported late, as most commands need none of it

    schedule.run()
