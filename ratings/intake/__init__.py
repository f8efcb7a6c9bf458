"""Rows -> records: stage, check, publish.

Each import reads its sources once into a file on disk, checks everything, and only then writes, in pieces that are
seen all at once. It returns a Report; where the report holds a refusal, nothing was written. The same import again
changes nothing.
"""

from .anchors import import_anchors
from .documents import import_documents
from .queries import import_queries
from .ratings import import_qrels, import_ratings
from .report import Report
from .runs import import_run

__all__ = [
    "Report",
    "import_anchors",
    "import_documents",
    "import_qrels",
    "import_queries",
    "import_ratings",
    "import_run",
]
