from django.apps import AppConfig

from ..apps import later, rooms

LOOK_EVERY = 2.0  # seconds between two looks of a worker for runs of judges


class JudgesConfig(AppConfig):
    name = "ratings.judges"

    def ready(self) -> None:
        """Register what other rooms, the packages of `ratings`, call here: due runs, a pause, checks of archives.

        They do not import this room, which can be taken out. `later` names a function of it, whose module is
        imported at the first call.
        """
        from ..collection import putting_away  # these need the models
        from ..copies import rules
        from ..importing import chores
        from ..models import JudgeRun, JudgeVersion

        rooms.append("judges")  # `ratings.urls` includes the addresses of each room
        chores.of_apps.append(chores.Chore(later("judges.runs.work_due"), LOOK_EVERY))
        putting_away.at_stop.append(later("judges.runs.pause_all"))
        rules.RULES |= {
            JudgeRun: later("judges.archived.check_run"),
            JudgeVersion: later("judges.archived.check_version"),
        }
