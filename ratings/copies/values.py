"""Values of columns as JSON, and back into the form in which `database.bulk.insert` stores them."""

import json
import math
from base64 import b64decode, b64encode
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
from django.core.exceptions import ValidationError
from django.db.models import Field

from ..formats.strict_json import as_stored
from ..formats.values import grade_text, quoted

INTEGER_SIZES = "", "Big", "Small"
WHOLE_NUMBER_KINDS = [f"{size}{kind}Field" for size in INTEGER_SIZES for kind in ("Auto", "Integer")]
WHOLE_NUMBER_KINDS += [f"Positive{size}IntegerField" for size in INTEGER_SIZES]
# By the kind of a field: what a value is in JSON, and how messages call it.
JSON_TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "BooleanField": (bool, "true or false"),
    "FloatField": ((int, float), "a number"),
    "JSONField": ((dict, list), "an object or a list"),
    **dict.fromkeys(WHOLE_NUMBER_KINDS, (int, "a whole number")),
}
TEXT_TYPE = (str, "a text")  # of all other kinds


def kind_of(field: Field) -> str:
    """The kind of the column: for a foreign key, that of the field to which it refers."""
    while field.remote_field:
        field = field.target_field
    return field.get_internal_type()


def plain(value: Any) -> Any:
    """A value as Django reads it, in a form that JSON keeps. Equal values of both databases give the same form.

    A decimal, a time and a UUID become texts, and bytes a text in Base64. All other values keep their type, but a
    number with an exponent inside an object or a list, such as 1e30, becomes a whole number where it is one.
    """
    if isinstance(value, Decimal):
        return grade_text(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, np.ndarray | bytes | memoryview):
        return b64encode(bytes(value)).decode()
    if isinstance(value, dict | list):  # of a JSONField
        # PostgreSQL keeps neither the order of names nor exponents, and SQLite keeps both. So names are sorted
        # here, and `as_stored` gives each number as PostgreSQL does.
        return as_stored(json.dumps(value, sort_keys=True))
    return value + 0.0 if isinstance(value, float) else value  # -0.0 becomes 0.0


def as_json(value: Any) -> str:
    """Equal values give equal text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)


def stored(field: Field, value: Any, *, ours: bool = False) -> Any:
    """A result of `plain` in the form that `database.bulk.insert` takes. Raises ValueError for any other value.

    `field`: that of the column that gets the value. `ours`: it came from a database of Idealist, which has
    checked it: validators and choices are left out.
    """
    if value is None:
        if not field.null:
            raise ValueError("it is missing")
        return None
    kind = kind_of(field)
    json_types, name_of_types = JSON_TYPES.get(kind, TEXT_TYPE)
    is_bool_elsewhere = isinstance(value, bool) and kind != "BooleanField"  # Python counts True among the integers
    if is_bool_elsewhere or not isinstance(value, json_types):
        raise ValueError(f"{quoted(value)} is not {name_of_types}")
    if kind == "BinaryField":
        return b64decode(value, validate=True)
    try:
        # A foreign key is the id of a row: a whole number, as checked above, which needs no conversion.
        python_value = value if field.remote_field else field.to_python(value)
        if kind == "FloatField" and not math.isfinite(python_value):
            raise ValueError(f"{quoted(value)} is not a finite number")
        if not ours:
            field.run_validators(python_value)
    except OverflowError as error:
        raise ValueError(f"{quoted(value)} is too large") from error
    except ValidationError as error:
        raise ValueError(f"{quoted(value)}: {' '.join(error.messages).rstrip('.')}") from error
    if field.choices and not ours:
        # "" stands for no choice, in a field that may be blank. It passes in any field: constraints of the
        # database refuse it in most of the others.
        choices = [choice for choice, _ in field.flatchoices if choice]
        if python_value not in ("", *choices):
            raise ValueError(f"{quoted(value)} is none of {', '.join(choices)}")
    return _in_database_form(kind, python_value)


def _in_database_form(kind: str, value: Any) -> Any:
    """The value as SQLite stores it, which PostgreSQL accepts, too. Django converts nothing on this way."""
    if kind == "DateTimeField":
        return str(value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value)
    if kind == "UUIDField":
        return value.hex
    if kind == "DecimalField":
        return f"{value:f}"
    return json.dumps(value) if kind == "JSONField" else value
