"""Statements that are put into SQL once and then run again and again with other values.

Django takes longer to write the SQL of a query than the database to answer it, and all that a key press of a rater
asks is asked at every key press. A prepared query is an ordinary one with a `Blank` where a value goes:

    named = Prepared(lambda: Rater.objects.filter(name=Blank("name", Rater, "name")))
    named(name="Ada")

None in a blank is SQL's NULL: it equals nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from threading import RLock
from typing import Any, NamedTuple
from weakref import WeakSet

from django.db import connections, models, router
from django.db.models import sql
from django.db.models.expressions import Expression
from django.db.models.query import get_related_populators

_writing = RLock()
_numbers = count(1)


class once(cached_property):
    """A cached property that one thread makes while others wait: Django's compilers are not for several."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        with _writing:
            return super().__get__(instance, owner)


class Blank(Expression):
    """A value that is given when the statement is run. It is converted as one of the field is."""

    def __init__(self, name: str, model: type[models.Model], field: str) -> None:
        found = model._meta.get_field(field)
        super().__init__(output_field=getattr(found, "target_field", found))
        self.name = name

    def as_sql(self, compiler, connection) -> tuple[str, list["Place"]]:
        return "%s", [Place(self.name, self.output_field)]


class Place(NamedTuple):
    """Where a value goes, among the parameters of a statement."""

    name: str
    field: models.Field


class Statement:
    """SQL with its parameters, some of them places, for one database.

    PostgreSQL would plan it anew each time, which takes it longer than the work. So in each connection it is told
    the statement once, under a name, and then asked by that name. What is no place stays in the text: an index of
    open rows is of use only where the planner sees that open ones are asked for.
    """

    def __init__(self, sql: str, params: Sequence[Any], alias: str) -> None:
        self.alias = alias
        self._sql, self._params = sql, params
        self._name = f"idealist_{next(_numbers)}"
        self._told: WeakSet = WeakSet()  # connections of the driver

    @contextmanager
    def run(self, given: Mapping[str, Any]) -> Iterator:
        connection = connections[self.alias]
        with connection.cursor() as cursor:
            if can_prepare(connection):
                self._tell(connection)
                places, call = self._places, self._call
            else:
                places, call = self._params, self._sql
            cursor.execute(call, [self._value(place, given, connection) for place in places])
            yield cursor

    @staticmethod
    def _value(param: Any, given: Mapping[str, Any], connection) -> Any:
        return param.field.get_db_prep_save(given[param.name], connection) if isinstance(param, Place) else param

    @cached_property
    def _places(self) -> list[Place]:
        """Each once, in the order of its number."""
        return list(dict.fromkeys(param for param in self._params if isinstance(param, Place)))

    @cached_property
    def _call(self) -> str:
        return f"EXECUTE {self._name} ({', '.join(['%s'] * len(self._places))})"

    def _tell(self, connection) -> None:
        driver = connection.connection
        if driver in self._told:
            return
        types = ", ".join(place.field.rel_db_type(connection) for place in self._places)
        filled = [
            f"${self._places.index(param) + 1}"
            if isinstance(param, Place)
            else connection.ops.compose_sql("%s", [param])
            for param in self._params
        ]
        driver.execute(f"PREPARE {self._name} ({types}) AS {self._sql % tuple(filled)}")
        self._told.add(driver)


def can_prepare(connection) -> bool:
    """Whether the server keeps statements for us: behind a pool of transactions each may go to another session."""
    return connection.vendor == "postgresql" and not connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"]


class Prepared:
    """A query of model rows; select_related and annotations are as in the query that `make` makes, once."""

    def __init__(self, make: Callable[[], models.QuerySet]) -> None:
        self._make = make

    def __call__(self, **given: Any) -> list[models.Model]:
        """The rows for these values."""
        with self._statement.run(given) as cursor:
            rows = cursor.fetchall()
        return list(map(self._object, self._compiler.apply_converters(rows, self._converters)))

    def first(self, **given: Any) -> models.Model | None:
        return next(iter(self(**given)), None)

    @once
    def _statement(self) -> Statement:
        return Statement(*self._compiler.as_sql(), self._compiler.using)

    # From here on as django.db.models.query.ModelIterable does it.

    @once
    def _compiler(self):
        queryset = self._make()
        compiler = queryset.query.get_compiler(using=queryset.db)
        compiler.as_sql()  # finds out what the columns are
        return compiler

    @once
    def _converters(self) -> dict:
        return self._compiler.get_converters([column for column, *_ in self._compiler.select])

    @once
    def _own(self) -> slice:
        columns = self._compiler.klass_info["select_fields"]
        return slice(columns[0], columns[-1] + 1)

    @once
    def _names(self) -> list[str]:
        return [column.target.attname for column, *_ in self._compiler.select[self._own]]

    @once
    def _related(self) -> list:
        compiler = self._compiler
        return get_related_populators(compiler.klass_info, compiler.select, compiler.using)

    def _object(self, row: Sequence[Any]) -> models.Model:
        compiler = self._compiler
        found = compiler.klass_info["model"].from_db(compiler.using, self._names, row[self._own])
        for populator in self._related:
            populator.populate(row, found)
        for name, column in compiler.annotation_col_map.items():
            setattr(found, name, row[column])
        return found


class PreparedUpdate:
    """An update of the rows that `make` finds. The values may have blanks, too. Tells how many rows there were."""

    def __init__(self, make: Callable[[], models.QuerySet], **values: Any) -> None:
        self._make, self._values = make, values

    def __call__(self, **given: Any) -> int:
        with self._statement.run(given) as cursor:
            return cursor.rowcount

    @once
    def _statement(self) -> Statement:
        queryset = self._make()
        query = queryset.query.chain(sql.UpdateQuery)
        query.add_update_values(self._values)
        alias = router.db_for_write(queryset.model)
        return Statement(*query.get_compiler(using=alias).as_sql(), alias)


class PreparedInsert:
    """Stores a new row of a model, which then has its primary key. No signals are sent, nothing is looked at.

    `expressions`: what the database is to find for a field, with blanks named as the other fields are.
    """

    def __init__(self, model: type[models.Model], **expressions: Expression) -> None:
        self._model, self._expressions = model, expressions
        self._fields = [field for field in model._meta.local_concrete_fields if not field.primary_key]

    def __call__(self, row: models.Model) -> None:
        values = {field.attname: field.pre_save(row, add=True) for field in self._fields}
        with self._statement.run(values) as cursor:
            (row.pk,) = cursor.fetchone()
        row._state.adding, row._state.db = False, self._statement.alias

    @once
    def _statement(self) -> Statement:
        alias = router.db_for_write(self._model)
        blanks = {field.attname: Blank(field.attname, self._model, field.name) for field in self._fields}
        query = sql.InsertQuery(self._model)
        query.insert_values(self._fields, [self._model(**{**blanks, **self._expressions})])
        compiler = query.get_compiler(using=alias)
        compiler.returning_fields = [self._model._meta.pk]
        ((statement, params),) = compiler.as_sql()
        return Statement(statement, params, alias)
