"""Base classes of the commands that import into a collection."""

import csv
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from ratings.formats.columns import NAMES as COLUMNS
from ratings.formats.columns import SEVERAL
from ratings.formats.registry import KEY, TEXT, readable
from ratings.formats.source import LAST_HEADER_LINE, Reading, stream_at
from ratings.importing import jobs
from ratings.importing.intake import Report, opening
from ratings.importing.intake.ratings import MEANINGS_OF_REPEATS
from ratings.management.progress import ProgressLine
from ratings.management.refusals import refusing

from ._collection_command import CollectionCommand, ReportingCommand


class ImportCommand(ReportingCommand, CollectionCommand):
    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        text = "uncompressed, compressed (gzip, Zstandard), or a ZIP or tar of such; - is standard input"
        parser.add_argument("files", nargs="+", metavar="FILE", help=text)

    def run_import(
        self,
        intake: Callable[..., Report],
        slug: str,
        files: Sequence[str],
        reading: Reading | None = None,
        **choices,
    ) -> None:
        """Import the files, and print the report. Raises Refused.

        `intake`: the function that imports them. `choices`: its further arguments. `reading`: how files are read.
        """
        collection = self.collection(slug, to_change=True)
        with refusing(), ProgressLine(self.stderr) as progress, ExitStack() as stack:
            streams = [stack.enter_context(stream_at(path)) for path in files]
            sources = stack.enter_context(opening.sources(streams, reading))
            report = intake(collection, sources, progress=progress, **choices)
        self.print_report(report)
        jobs.fetch_pictures(collection, None)  # by a worker, if the presentation shows pictures


class ImportRowsCommand(ImportCommand):
    """Imports files in every format that holds rows of its kind."""

    kind = ""  # of rows, as the formats name it

    def add_arguments(self, parser) -> None:
        # A map may begin with a negative grade; argparse would take "-1=0" for an option.
        parser._negative_number_matcher = re.compile(r"^-[\d.]")
        super().add_arguments(parser)
        names = [format.name for format in readable(self.kind)]
        text = f"{', '.join(names)}; by default it is recognized by the file"
        parser.add_argument("--format", choices=names, metavar="NAME", help=text)
        # The roles of one column each, and the role that several columns may have, if the kind has one.
        roles = ", ".join([*COLUMNS[self.kind], *filter(None, [SEVERAL.get(self.kind)])])
        text = f"which column of a table holds what: {roles}; WHAT= alone says that there is none"
        parser.add_argument("--columns", metavar="WHAT=COLUMN,…", action="append", default=[], help=text)
        text = "an encoding of Python, such as windows-1252; by default utf-8, or utf-16 with its mark"
        parser.add_argument("--encoding", metavar="NAME", help=text)
        text = "of a table: whether its first line names the columns, or the line that does; without it they are"
        text += " 1, 2, 3"
        lines = map(str, range(2, LAST_HEADER_LINE + 1))
        parser.add_argument("--header", choices=["yes", "no", *lines], metavar="yes|no|LINE", help=text)
        text = "of a table: quotation marks are text, and no signs around cells"
        parser.add_argument("--quoting", choices=["none"], help=text)
        text = "of a table: an empty cell of the query is that of the line above, as below merged cells"
        parser.add_argument("--fill-down", action="store_true", help=text)
        parser.add_argument("--sheet", metavar="NAME", help="the sheet of a workbook that has several")
        text = "of a table: keep an apostrophe before = + - @ in a cell; by default it goes, as exports add it"
        parser.add_argument("--raw", action="store_true", help=text)
        if self.kind in ("results", "ratings"):
            text = "what identifies queries in a file, if it could be either"
            parser.add_argument("--queries-by", choices=[KEY, TEXT], help=text)
        if self.kind == "ratings":
            text = "the grades that words in a table stand for: bad=0,good=2,n/a=unrateable"
            parser.add_argument("--map", metavar="WORD=GRADE,…", action="append", default=[], help=text)
            text = "a pair that is rated again: refuse, the default; raters, each line without a name is of"
            text += " another rater; last, the later one counts"
            parser.add_argument("--repeats", choices=MEANINGS_OF_REPEATS, default="refuse", help=text)

    def run_row_import(
        self, intake: Callable[..., Report], slug: str, files: Sequence[str], options: dict, *own_options: str
    ) -> None:
        """Run one of the imports with the options of the command. `own_options` names those that only it has."""
        with refusing():
            # Each may be given again, as a refusal that names one asks for it beside those given before.
            lists = {"columns": pairs(",".join(options["columns"]), "--columns", to_columns=True)}
            lists["grades"] = pairs(",".join(options.get("map", [])), "--map")
            reading = opening.reading(options | lists)
        choices = {name: options[name] for name in ("format", "queries_by", *own_options) if name in options}
        self.run_import(intake, slug, files, reading, **choices)


def pairs(text: str, option: str, *, to_columns: bool = False) -> dict[str, str]:
    """The dict in the text of an option: {"query": "Q", "document": "doc, id"} of `query=Q,"document=doc, id"`.

    `option`: its name, for messages. `to_columns`: the values are names of columns, and may be empty. Raises
    ValueError.
    """
    values: dict[str, str] = {}
    for pair in next(csv.reader(text.splitlines()), []):  # of the one line; none if the text is empty
        # The name of a column, which is the value, may hold a =; so may a word for a grade, which is the name.
        name, equals, value = map(str.strip, pair.partition("=") if to_columns else pair.rpartition("="))
        is_complete = name and equals and (value or to_columns)
        if not is_complete:
            raise ValueError(f"cannot read {pair!r} of {option}: it is a list such as name=value,name=value")
        if name in values:
            raise ValueError(f"{option} says twice what {name} is")
        values[name] = value
    return values
