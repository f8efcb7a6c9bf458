"""The system of each line of a run: its run tag, the name of its file, or the chosen name."""

import sqlite3
from collections.abc import Sequence
from itertools import groupby

from ...formats import values
from ...formats.rankings import system_of_file
from ...formats.refusal import Cure, Option
from ...formats.source import Source
from ...words import first_keys
from .report import Report
from .topics import Names

ONE_NAME = Option("system", "", "they are several systems")
BY_LINES = Option("system_from", "", "the lines name the systems")
BY_FILE = Option("system_from", "file", "they are two systems")
PARTS = Option("system_from", "tag", "they are parts of one")
BY_NAME_OF_FILE = Option("system_from", "file", "the name of the file is to name it")
NAMED = Option("system")
ALONE = Option("system", when="each comes in an import of its own")
# The first piece of each file that has results for a query of which another file has results by the same system.
_SHARED_QUERIES = """SELECT system, query, file, lines, MIN(rowid) FROM piece WHERE (system, query) IN
    (SELECT system, query FROM piece GROUP BY system, query HAVING COUNT(DISTINCT file) > 1)
    GROUP BY system, query, file ORDER BY system, query, file"""


class Tags:
    """The run tags of the files of one import."""

    def __init__(self, sources: Sequence[Source], system: str | None, system_from: str | None) -> None:
        self.sources, self.system, self.system_from = sources, system, system_from
        self.files = [system_of_file(source.name) for source in sources]
        self.first: dict[str, dict[int, int]] = {}  # tag -> file -> the first line that has it

    def system_of(self, tag: str, file: int, line: int) -> str:
        """The system of a line."""
        self.first.setdefault(tag, {}).setdefault(file, line)
        return self.system or (self.files[file] if self.system_from == "file" else tag)

    def are_distinct(self, stage: sqlite3.Connection, names: Names, report: Report) -> bool:
        """Whether each name stands for one system, and each system has one name. Refusals go to the report."""
        before = report.refused
        if self.system:
            self._refuse_several(report)
        elif self.system_from == "file":
            self._refuse_files(report)
        else:
            for tag, lines in self.first.items():
                for file, line in lines.items():
                    self._refuse_unfit(tag, file, line, report, NAMED, BY_NAME_OF_FILE)
        if report.refused == before:
            if self.system or self.system_from == "tag":
                self._refuse_shared_queries(stage, names, report)
            else:
                self._refuse_shared(stage, report)
        return report.refused == before

    def _refuse_several(self, report: Report) -> None:
        if len(self.first) > 1:
            one, other, *_ = self.first
            file, line = next(iter(self.first[other].items()))
            problem = f"system {other} differs from {one}, and one name was chosen for both"
            report.refuse(self.sources[file].refusal(line, problem, "Import one system at a time.", ONE_NAME))

    def _refuse_files(self, report: Report) -> None:
        for file, (source, name) in enumerate(zip(self.sources, self.files, strict=True)):
            tags = [tag for tag, lines in self.first.items() if file in lines]
            if len(tags) > 1:
                problem = f"there are several systems in it ({first_keys(tags)}), and the name of the file is one"
                report.refuse(source.refusal(0, problem, BY_LINES))
            if tags:
                self._refuse_unfit(name, file, 0, report, NAMED)

    def _refuse_unfit(self, name: str, file: int, line: int, report: Report, *cure: Cure) -> None:
        """Refuse a name of a system that a run could not hold."""
        try:
            values.checked_key(name, "name of the system", values.SYSTEM_NAME_LENGTH)
        except ValueError as error:
            report.refuse(self.sources[file].refusal(line, str(error), *cure))

    def _refuse_shared(self, stage: sqlite3.Connection, report: Report) -> None:
        """Refuse a system that is in several files: another system may have the same name."""
        rows = stage.execute("SELECT DISTINCT system, file FROM piece ORDER BY system, file")
        for system, group in groupby(rows, key=lambda row: row[0]):
            first, *others = (file for _, file in group)
            for file in others:
                source, place = self.sources[file], self.sources[first].name
                if self.system_from == "file":
                    problem = f"the file has the same name as {place}, and so has its system"
                    report.refuse(source.refusal(0, problem, "Import them one by one.", NAMED))
                else:
                    problem = f"the system {system} is in {place}, too"
                    report.refuse(source.refusal(self.first[system][file], problem, BY_FILE, ALONE, PARTS))

    def _refuse_shared_queries(self, stage: sqlite3.Connection, names: Names, report: Report) -> None:
        """Refuse a query that two parts of a system share: two rankings are never joined."""
        keys = {pk: key for key, pk in names.keys.items()}
        for (system, query), group in groupby(stage.execute(_SHARED_QUERIES), key=lambda row: row[:2]):
            (file, line), *others = ((row[2], int.from_bytes(row[3][:8], "little")) for row in group)
            place, problem = self.sources[file].at(line), f"query {keys[query]} of {system} already appears"
            cure = "Two parts of a system cannot share a query.", BY_FILE
            for other_file, other_line in others:
                report.refuse(self.sources[other_file].refusal(other_line, problem, *cure, other=place))
