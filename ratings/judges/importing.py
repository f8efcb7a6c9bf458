"""Import of machine grades that were made elsewhere, with what is known of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby

from django.db import transaction
from django.utils import timezone

from ..formats.refusal import Option
from ..formats.source import Source
from ..importing.intake.ratings import TABLE, RatingsImport
from ..importing.intake.report import Report
from ..importing.intake.stage import staged
from ..models import Collection, JudgeRun, JudgeVersion, MachineGrade
from ..people.audit import Act, note
from ..words import counted
from . import prompts
from .versions import VersionSettings, make_judge, make_version

AT_ONCE = 1_000
Problem = MachineGrade.Problem


def import_grades(collection: Collection, sources: Sequence[Source], **choices) -> Report:
    """The report of importing grades of a judge. `choices` are fields of GradesImport."""
    return GradesImport(collection, sources, **choices).run()


@dataclass
class GradesImport(RatingsImport):
    """An import of files of ratings, read and checked as such, and written as grades of one judge.

    `rater` gave those that name nobody. If the files name several machines, only its grades are imported.
    """

    what = "machine grades"
    names_people = False

    model: str = ""
    prompt: str | None = None  # the text, if it is known

    def run(self) -> Report:
        report = self.report
        if not self.collection.grades.exists():
            problem = "The collection has no scale yet, and machine grades do not make one"
            raise ValueError(f"{problem}. Give it one first")
        chosen = self.rater
        self.rater = chosen or self.model
        with staged(TABLE) as self.stage:
            if not report.refused:
                self._read()
                self._keep_one_machine(chosen)
                self._check_scale()
                self._count_and_check()
            if not report.refused:
                with transaction.atomic():
                    self._write()
        return report

    def _keep_one_machine(self, chosen: str | None) -> None:
        """Delete the grades of other machines than the chosen one. Refuse several machines without a choice."""
        names = [name for (name,) in self.stage.execute("SELECT DISTINCT rater FROM rating ORDER BY rater")]
        if len(names) == 1 and chosen is None:
            self.rater = names[0]
        elif names and chosen not in names:
            problem = f"the grades are of {', '.join(names)}" + (f", and not of {chosen}" if chosen else "")
            cure = ("An import takes the grades of one machine, with its model.", Option("rater"))
            self.report.refuse(self.sources[0].refusal(0, problem, *cure))
        else:
            deleted = self.stage.execute("DELETE FROM rating WHERE rater != ?", [self.rater]).rowcount
            if deleted:
                self.report.facts.append(f"{counted(deleted, 'grade')} of other machines: skipped.")

    def _write(self) -> None:
        report, collection = self.report, self.collection
        judge = collection.judges.filter(name=self.rater).first() or make_judge(collection, self.rater)
        version, _ = make_version(judge, self._version_settings())
        documents = dict(self.collection.documents.values_list("key", "pk"))
        queries = self.names.keys
        files = [source.name for source in self.sources]
        facts = {"version": version, "choice": JudgeRun.Choice.IMPORTED, "options": {"files": files}}
        ended = {"state": JudgeRun.State.DONE, "most_calls": 0, "ended_at": timezone.now()}
        run = JudgeRun.objects.create(**facts, **ended)
        known = set(version.grades.filter(repeat=1).values_list("query", "document"))
        strangers, rows = 0, []
        stage = self.stage.execute("SELECT * FROM rating ORDER BY query, document, file, line")
        for (query, key), group in groupby(stage, key=lambda row: (row[1], row[2])):
            _, _, _, grade, reason, comment, seconds, at, *_ = next(group)
            query, document = queries.get(query, query), documents.get(key)
            if document is None:
                strangers += 1
                continue
            if (query, document) in known:
                report.counts["unchanged"] += 1
                continue
            if grade is None:
                detail = f"{reason} {comment}".strip()[:300]
                said = {"state": "ungraded", "problem": Problem.UNKNOWN, "detail": detail}
            else:
                said = {"state": "graded", "value": Decimal(grade)}
            of = {"run": run, "version": version, "query_id": query, "document_id": document}
            rows.append(MachineGrade(**of, **said, seconds=seconds, at=at))
        MachineGrade.objects.bulk_create(rows, batch_size=AT_ONCE)
        graded = sum(row.state == "graded" for row in rows)
        JudgeRun.objects.filter(pk=run.pk).update(pairs=len(rows), graded=graded, ungraded=len(rows) - graded)
        report.counts["new"] = len(rows)
        self._report_facts(version, graded, len(rows) - graded, strangers)
        if rows:
            note(Act.IMPORTED, self.collection, about=", ".join(files), kind="machine", judge=judge.name)
        else:
            run.delete()

    def _version_settings(self) -> VersionSettings:
        """The known settings with which the grades were made. An unknown prompt gets a text that says so."""
        text = self.prompt if self.prompt is not None else "The prompt is not known. {query} {document}"
        return VersionSettings(self.model, "", prompts.OWN, text, sampling={}, structured=False, seed=None)

    def _report_facts(self, version: JudgeVersion, graded: int, ungraded: int, strangers: int) -> None:
        report = self.report
        grades = f"{counted(graded, 'machine grade')} of {version}"
        report.facts.append(f"{grades}, {ungraded} without a grade. None of them counts as a rating.")
        if known := report.counts["unchanged"]:
            report.facts.append(f"{counted(known, 'pair')} had its grade already: left as it is.")
        if strangers:
            report.warnings.append(f"{counted(strangers, 'document')} not in the collection: skipped.")
