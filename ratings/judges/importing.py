"""Import of machine grades that were made elsewhere, with what is known of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from ..formats.refusal import Option
from ..formats.source import Source
from ..importing.intake.ratings import TABLE, RatingsImport, StagedRow
from ..importing.intake.report import Report
from ..importing.intake.stage import staged
from ..models import Collection, JudgeRun, JudgeVersion, MachineGrade
from ..people.audit import Act, note
from ..words import counted
from . import prompts
from .versions import VersionSettings, make_judge, make_version

ROWS_PER_STATEMENT = 1_000
State = MachineGrade.State


def import_grades(collection: Collection, sources: Sequence[Source], **choices) -> Report:
    """The report of importing grades of a judge. `choices` are fields of GradesImport."""
    return GradesImport(collection, sources, **choices).run()


@dataclass
class GradesImport(RatingsImport):
    """An import of files of ratings, read and checked as such, and written as grades of one judge.

    `rater` is the machine that gave the grades, and the name of its judge. It stands for lines that name
    nobody. If the files name several machines, only its grades are imported.
    """

    what = "machine grades"
    may_have_several_raters = False

    model: str = ""
    prompt: str | None = None  # the text, if it is known

    def run(self) -> Report:
        """The report of the import, which writes nothing if a line is refused. Raises ValueError."""
        report = self.report
        if not self.collection.grades.exists():
            problem = "The collection has no scale yet, and machine grades do not make one"
            raise ValueError(f"{problem}. Give it one first")
        chosen_machine = self.rater  # None: nobody chose one of the machines
        # The machine of lines that name none, and the name of the judge. Without a choice it is the name of the
        # model, in place of which `_keep_one_machine` puts the one machine of all lines.
        self.rater = chosen_machine or self.model
        with staged(TABLE) as self.stage:
            if not report.refused:
                self._read()
                self._keep_one_machine(chosen_machine)
                self._check_scale()
                self._count_and_check()
            if not report.refused:
                with transaction.atomic():
                    self._write()
        return report

    def _keep_one_machine(self, chosen_machine: str | None) -> None:
        """Keep only the grades of the chosen machine, or without a choice those of the only one.

        `run` has set `self.rater` to a chosen machine; without a choice it becomes the only one. Refuse the import
        if there are several and none is chosen, or if only others gave grades.
        """
        machines = [name for (name,) in self.stage.execute("SELECT DISTINCT rater FROM rating ORDER BY rater")]
        if chosen_machine is None and len(machines) == 1:
            self.rater = machines[0]
        elif machines and chosen_machine not in machines:
            not_of_chosen = f", and not of {chosen_machine}" if chosen_machine else ""
            problem = f"the grades are of {', '.join(machines)}{not_of_chosen}"
            cure = ("An import takes the grades of one machine, with its model.", Option("rater"))
            self.report.refuse(self.sources[0].refusal(0, problem, *cure))
        else:  # the chosen machine is among them, or there is no grade at all
            deleted = self.stage.execute("DELETE FROM rating WHERE rater != ?", [chosen_machine]).rowcount
            if deleted:
                self.report.facts.append(f"{counted(deleted, 'grade')} of other machines: skipped.")

    def _write(self) -> None:
        """Write a run with the grades that the judge's version lacks. If it has them all, no run is written."""
        judge = self.collection.judges.filter(name=self.rater).first() or make_judge(self.collection, self.rater)
        # Never sent, as this version has no endpoint. But `make_version` refuses a prompt without the two places.
        text = "The prompt is not known. {query} {document}" if self.prompt is None else self.prompt
        settings = VersionSettings(
            self.model, template=prompts.OWN_TEMPLATE, own_prompt=text, sampling={}, structured=False, seed=None
        )
        version, _ = make_version(judge, settings)
        rows = self._new_rows(version)
        graded = sum(row.state == State.GRADED for row in rows)
        ungraded = len(rows) - graded
        self.report.counts["new"] = len(rows)
        self._report_facts(version, graded, ungraded)
        if not rows:
            return
        file_names = [source.name for source in self.sources]
        run = JudgeRun.objects.create(
            version=version,
            choice=JudgeRun.Choice.IMPORTED,
            options={"files": file_names},
            state=JudgeRun.State.DONE,
            most_calls=0,
            ended_at=timezone.now(),
            pairs=len(rows),
            graded=graded,
            ungraded=ungraded,
        )
        for row in rows:  # they were made before their run, which stores how many they are
            row.run = run
        MachineGrade.objects.bulk_create(rows, batch_size=ROWS_PER_STATEMENT)
        note(Act.IMPORTED, self.collection, about=", ".join(file_names), kind="machine", judge=judge.name)

    def _new_rows(self, version: JudgeVersion) -> list[MachineGrade]:
        """Rows, still without a run, for the pairs of the files that have no grade of this version.

        Of a pair that is graded again the first line counts. Pairs that have a grade, and documents that the
        collection lacks, are counted in the report.
        """
        document_ids = dict(self.collection.documents.values_list("key", "pk"))
        graded_pairs = set(version.grades.filter(repeat=1).values_list("query", "document"))
        rows = []
        for first_line, *_ in self._rows_by_pair():
            # The stage has ids of queries, but keys of documents.
            query_id, document_id = first_line.query, document_ids.get(first_line.document)
            if document_id is None:
                self.report.counts["strangers"] += 1
            elif (query_id, document_id) in graded_pairs:
                self.report.counts["unchanged"] += 1
            else:
                rows.append(_machine_grade(first_line, version, query_id, document_id))
        return rows

    def _report_facts(self, version: JudgeVersion, graded: int, ungraded: int) -> None:
        report = self.report
        grades = f"{counted(graded, 'machine grade')} of {version}"
        report.facts.append(f"{grades}, {ungraded} without a grade. None of them counts as a rating.")
        if unchanged_pairs := report.counts["unchanged"]:
            report.facts.append(f"{counted(unchanged_pairs, 'pair')} had its grade already: left as it is.")
        if unknown_documents := report.counts["strangers"]:
            report.warnings.append(f"{counted(unknown_documents, 'document')} not in the collection: skipped.")


def _machine_grade(line: StagedRow, version: JudgeVersion, query_id: int, document_id: int) -> MachineGrade:
    """The row of a line, with its grade or why it has none. It is not saved, and has no run."""
    row = MachineGrade(version=version, query_id=query_id, document_id=document_id)
    row.seconds, row.at = line.seconds, line.rated_at
    if line.grade is None:
        row.state, row.problem = State.UNGRADED, MachineGrade.Problem.UNKNOWN
        row.detail = f"{line.reason} {line.comment}".strip()[:300]
    else:
        row.state, row.value = State.GRADED, Decimal(line.grade)
    return row
