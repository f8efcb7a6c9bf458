from django.apps import AppConfig


class RatingsConfig(AppConfig):
    name = "ratings"

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in

        from .people import sessions  # needs the models

        user_logged_in.connect(sessions.note, dispatch_uid="ratings.people.sessions")
