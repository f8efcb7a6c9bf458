"""The system of each line of a run: its run tag, which the line has, the name of its file, or the chosen name.

The stage is the temporary database of an import. A piece is a row of its table `piece`: some lines of one system
and query in one file.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby

import numpy as np

from ...formats import values
from ...formats.rankings import system_of_file
from ...formats.refusal import Cure, Option, Place, Refusal
from ...formats.source import Source
from ...words import first_keys
from .report import Report
from .topics import Names

ONE_NAME = Option("system", "", "they are several systems")
BY_LINES = Option("system_from", "", "the lines name the systems")
BY_FILE = Option("system_from", "file", "they are two systems")
PARTS = Option("system_from", "tag", "they are parts of one")
USE_FILE_NAME = Option("system_from", "file", "the name of the file is to name it")
GIVE_NAME = Option("system")
NAME_IN_EACH_ROW = f"Write a name of at most {values.SYSTEM_NAME_LENGTH} characters into each row."
ALONE = Option("system", when="each comes in an import of its own")
# The first piece of each file that has results for a query of which another file has results by the same system.
_QUERIES_IN_SEVERAL_FILES = """SELECT system, query, file, lines, MIN(rowid) FROM piece WHERE (system, query) IN
    (SELECT system, query FROM piece GROUP BY system, query HAVING COUNT(DISTINCT file) > 1)
    GROUP BY system, query, file ORDER BY system, query, file"""


class Tags:
    """The run tags of the files of one import."""

    def __init__(self, sources: Sequence[Source], system: str | None, system_from: str | None) -> None:
        self.sources, self.system, self.system_from = sources, system, system_from
        self.file_systems = [" ".join(system_of_file(source.name).split()) for source in sources]
        self.first_lines: dict[str, dict[int, int]] = {}  # tag -> file -> the first line that has it

    def system_of(self, tag: str, file: int, line: int) -> str:
        """The system of a line. A name that is refused later stays as it is."""
        with suppress(ValueError):
            tag = values.system_name(tag)
        self.first_lines.setdefault(tag, {}).setdefault(file, line)
        if self.system:
            return self.system
        return self.file_systems[file] if self.system_from == "file" else tag

    def check(self, stage: sqlite3.Connection, names: Names, report: Report) -> bool:
        """Whether each name stands for one system, and each system has one name. If not, the report has refusals.

        Files are compared only if the names are in order. names: the keys of queries, for the texts of refusals.
        """
        refused_before = report.refused
        if self.system:
            self._refuse_several_systems(report)
        elif self.system_from == "file":
            self._refuse_files_unfit_as_systems(report)
        else:  # the tag of each line must be a name of a system
            # One name for all lines can replace a bad tag, but only where all lines have this tag: where they have
            # several, it would join several systems.
            has_one_tag = len(self.first_lines) == 1
            cure: tuple[Cure, ...] = (GIVE_NAME, USE_FILE_NAME) if has_one_tag else (NAME_IN_EACH_ROW,)
            for tag, line_by_file in self.first_lines.items():
                for file, line in line_by_file.items():
                    self._refuse_unfit_name(tag, file, line, report, *cure)
        if report.refused == refused_before:
            if self.system or self.system_from == "tag":  # several files may be parts of one system
                self._refuse_queries_in_several_files(stage, names, report)
            else:  # also if files name the systems: two files in different folders may have one name
                self._refuse_systems_in_several_files(stage, report)
        return report.refused == refused_before

    def _refuse_several_systems(self, report: Report) -> None:
        """Refuse more than one system where one name was chosen."""
        if len(self.first_lines) > 1:
            one, other = list(self.first_lines)[:2]
            file, line = list(self.first_lines[other].items())[0]
            problem = f"system {other} differs from {one}, and one name was chosen for both"
            report.refuse(self.sources[file].refusal(line, problem, "Import one system at a time.", ONE_NAME))

    def _refuse_files_unfit_as_systems(self, report: Report) -> None:
        """Refuse files with several systems, or whose name is no name of a system."""
        for file, (source, name) in enumerate(zip(self.sources, self.file_systems, strict=True)):
            tags = [tag for tag, line_by_file in self.first_lines.items() if file in line_by_file]
            if len(tags) > 1:
                problem = f"there are several systems in it ({first_keys(tags)}), and the name of the file is one"
                report.refuse(source.refusal(0, problem, BY_LINES))
            if tags:
                self._refuse_unfit_name(name, file, 0, report, GIVE_NAME)

    def _refuse_unfit_name(self, name: str, file: int, line: int, report: Report, *cure: Cure) -> None:
        """Refuse an empty or too long name of a system."""
        try:
            values.system_name(name, "name of the system")
        except ValueError as error:
            report.refuse(self.sources[file].refusal(line, str(error), *cure))

    def _refuse_systems_in_several_files(self, stage: sqlite3.Connection, report: Report) -> None:
        """Refuse a system that is in several files: another system may have the same name."""
        rows = stage.execute("SELECT DISTINCT system, file FROM piece ORDER BY system, file")
        sharing_queries = {system for system, *_ in stage.execute(_QUERIES_IN_SEVERAL_FILES)}
        for system, rows_of_system in groupby(rows, key=lambda row: row[0]):
            first_file, *later_files = (file for _, file in rows_of_system)
            first_name = self.sources[first_file].name
            for file in later_files:
                source = self.sources[file]
                if self.system_from == "file":
                    problem = f"the file has the same name as {first_name}, and so has its system"
                    report.refuse(source.refusal(0, problem, "Import them one by one.", GIVE_NAME))
                else:
                    problem = f"the system {system} is in {first_name}, too"
                    # Parts of one system cannot share a query, so PARTS is a cure only where they do not.
                    cure = (BY_FILE, ALONE) if system in sharing_queries else (BY_FILE, ALONE, PARTS)
                    report.refuse(source.refusal(self.first_lines[system][file], problem, *cure))

    def _refuse_queries_in_several_files(self, stage: sqlite3.Connection, names: Names, report: Report) -> None:
        """Refuse a query that two parts of a system share: two rankings are never joined."""
        keys = {pk: key for key, pk in names.keys.items()}
        for (system, query), pieces in groupby(stage.execute(_QUERIES_IN_SEVERAL_FILES), key=lambda row: row[:2]):
            first_place, *places = (self._place(file, lines) for _, _, file, lines, _ in pieces)
            problem = f"query {keys[query]} of {system} already appears"
            cure = "Two parts of a system cannot share a query."
            for place in places:
                report.refuse(Refusal(*place, problem, (cure, BY_FILE), other=first_place))

    def _place(self, file: int, lines: bytes) -> Place:
        """The first line of a piece, whose numbers of lines are packed as int64."""
        return self.sources[file].at(int(np.frombuffer(lines, np.int64)[0]))
