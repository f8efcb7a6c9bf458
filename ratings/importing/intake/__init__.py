"""Imports: rows -> records in three steps: stage, check, publish.

An import reads its sources once into a temporary database and checks everything. Only then it writes, in small
transactions whose rows become visible together. It returns a Report. If the report has a refusal, nothing was
written. Repeating an import changes nothing.
"""

from .beir import import_beir
from .documents import import_documents
from .queries import import_queries
from .ratings import import_qrels, import_ratings
from .report import Report
from .runs import import_run

__all__ = [
    "Report",
    "import_beir",
    "import_documents",
    "import_qrels",
    "import_queries",
    "import_ratings",
    "import_run",
]
