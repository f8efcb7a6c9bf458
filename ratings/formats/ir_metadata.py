"""ir_metadata: facts about a run as YAML, alone or as comments before its first line. See ir-metadata.org.

The comments are for readers that skip them, as trec_eval does since version 10. Older versions of it and
pytrec_eval.parse_run refuse the file.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

VERSION = "0.1"
BEGIN, END = "ir_metadata.start", "ir_metadata.end"
# In a text of YAML they would end the line, or are not allowed.
_SPECIAL = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")


def as_yaml(facts: Mapping[str, Any]) -> Iterator[str]:
    """The lines of YAML, each with its end. Facts are texts, numbers, lists, and objects of such facts."""
    yield from _lines({"schema version": VERSION, **facts})


def as_comments(facts: Mapping[str, Any]) -> Iterator[str]:
    """The lines that stand before a run."""
    yield f"# {BEGIN}\n"
    for line in as_yaml(facts):
        yield f"# {line}"
    yield f"# {END}\n"


def _lines(facts: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name}:\n"
            yield from _lines(value, f"{indent}  ")
        else:  # YAML reads JSON
            text = _SPECIAL.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
            yield f"{indent}{name}: {text}\n"
