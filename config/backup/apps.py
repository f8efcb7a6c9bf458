from django.apps import AppConfig


class BackupConfig(AppConfig):
    name = "config.backup"
