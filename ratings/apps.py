from django.apps import AppConfig


class RatingsConfig(AppConfig):
    name = "ratings"

    def ready(self) -> None:
        from allauth.mfa import signals  # these need the models
        from django.contrib.auth.signals import user_logged_in, user_login_failed

        from .people import sessions
        from .sign_in import second_factor, tries

        user_logged_in.connect(sessions.start, dispatch_uid="ratings.people.sessions")
        user_login_failed.connect(tries.wrong_password, dispatch_uid="ratings.sign_in.tries")
        for changed in (signals.authenticator_added, signals.authenticator_removed, signals.authenticator_reset):
            changed.connect(second_factor.note_change, dispatch_uid="ratings.sign_in.second_factor")
