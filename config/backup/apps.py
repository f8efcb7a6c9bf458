from django.apps import AppConfig


class BackupConfig(AppConfig):
    name = "config.backup"

    def ready(self) -> None:
        from ratings import chores

        from .schedule import INTERVAL, run

        chores.of_apps.append(chores.Chore(run, INTERVAL))
