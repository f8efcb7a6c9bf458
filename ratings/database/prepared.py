"""Prepared statements: queries whose SQL is compiled once and then run with different values.

Django takes longer to write the SQL of a query than the database to answer it, and PostgreSQL plans a statement
each time. Prepare a statement only if every save or every claim of a rater runs it: the lock, the look-up of a
task, what is held, the choice of the next pairs, the writes. Also prepare what only the save of a repeat or a
claim with gold runs, because its duration must not give it away. There is one exception: the query on each page of
an admin (`collection.stages.done`), because writing its SQL took a tenth of the page's time. Everything else uses
the ORM.

A prepared query is an ordinary queryset with a `Blank` in the place of each value:

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

from django.db import DEFAULT_DB_ALIAS, connection, models
from django.db.models import sql
from django.db.models.expressions import Expression
from django.db.models.query import get_related_populators

_compiling = RLock()
_numbers = count(1)


class once(cached_property):
    """A cached property that one thread computes while the others wait: Django's compilers are not thread-safe."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        with _compiling:
            return super().__get__(instance, owner)


class Blank(Expression):
    """A placeholder for a value, which is converted like a value of the field."""

    def __init__(self, name: str, model: type[models.Model], field: str) -> None:
        model_field = model._meta.get_field(field)
        super().__init__(output_field=getattr(model_field, "target_field", model_field))
        self.name = name

    def as_sql(self, compiler, connection) -> tuple[str, list["Place"]]:
        return "%s", [Place(self.name, self.output_field)]


class Place(NamedTuple):
    """The place of a `Blank` among the parameters of a statement."""

    name: str
    field: models.Field


class Statement:
    """SQL and its parameters, some of which are places.

    PostgreSQL gets one PREPARE in each connection and then an EXECUTE by name, so that it keeps its plan. All
    other parameters become constants in the text of the statement: PostgreSQL uses a partial index only if it sees
    the constants of its condition.
    """

    def __init__(self, sql: str, params: Sequence[Any]) -> None:
        self._sql, self._params = sql, params
        self._name = f"idealist_{next(_numbers)}"
        self._prepared: WeakSet = WeakSet()  # connections of the driver

    @contextmanager
    def run(self, values: Mapping[str, Any]) -> Iterator:
        """The cursor after the statement was executed with these values of its blanks."""
        with connection.cursor() as cursor:
            if can_prepare(connection):
                self._prepare(connection)
                params, statement = self._places, self._execute
            else:
                params, statement = self._params, self._sql
            cursor.execute(statement, [self._value(param, values) for param in params])
            yield cursor

    @staticmethod
    def _value(param: Any, values: Mapping[str, Any]) -> Any:
        return param.field.get_db_prep_save(values[param.name], connection) if isinstance(param, Place) else param

    @cached_property
    def _places(self) -> list[Place]:
        """Each place once: the first is `$1`."""
        return list(dict.fromkeys(param for param in self._params if isinstance(param, Place)))

    @cached_property
    def _execute(self) -> str:
        return f"EXECUTE {self._name} ({', '.join(['%s'] * len(self._places))})"

    def _prepare(self, connection) -> None:
        """Prepare the statement on this connection, unless it is prepared there."""
        driver = connection.connection  # that of the driver, to which a prepared statement belongs
        if driver in self._prepared:
            return
        # `rel_db_type`: the type of a column that refers to the field, such as bigint for an id.
        types = ", ".join(place.field.rel_db_type(connection) for place in self._places)
        sql_of_params = []  # $1 and so on for a place, a literal for any other
        for param in self._params:
            if isinstance(param, Place):
                sql_of_params.append(f"${self._places.index(param) + 1}")
            else:
                sql_of_params.append(connection.ops.compose_sql("%s", [param]))
        driver.execute(f"PREPARE {self._name} ({types}) AS {self._sql % tuple(sql_of_params)}")
        self._prepared.add(driver)


def can_prepare(connection) -> bool:
    return connection.vendor == "postgresql"


class Prepared:
    """The model instances of the queryset that `make` returns, with its select_related and annotations."""

    def __init__(self, make: Callable[[], models.QuerySet]) -> None:
        self._make = make

    def __call__(self, **values: Any) -> list[Any]:
        with self._statement.run(values) as cursor:
            rows = cursor.fetchall()
        return list(map(self._object, self._compiler.apply_converters(rows, self._converters)))

    def first(self, **values: Any) -> Any:
        return next(iter(self(**values)), None)

    @once
    def _statement(self) -> Statement:
        return Statement(*self._compiler.as_sql())

    # What follows does the same as django.db.models.query.ModelIterable.

    @once
    def _compiler(self):
        queryset = self._make()
        compiler = queryset.query.get_compiler(using=queryset.db)
        compiler.as_sql()  # sets the columns
        return compiler

    @once
    def _converters(self) -> dict:
        return self._compiler.get_converters([column for column, *_ in self._compiler.select])

    @once
    def _own(self) -> slice:
        """Where in a row the columns of the model itself are, without those of related models."""
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
        instance = compiler.klass_info["model"].from_db(compiler.using, self._names, row[self._own])
        for populator in self._related:
            populator.populate(row, instance)
        for name, column in compiler.annotation_col_map.items():
            setattr(instance, name, row[column])
        return instance


class PreparedUnion:
    """The rows of several querysets, read by one statement (UNION ALL).

    `make` returns the querysets, which all have the same number of columns. A call returns a list of rows for each
    of them, as unconverted tuples in the order of the queryset. Django's own union cannot limit each part on
    SQLite.
    """

    def __init__(self, make: Callable[[], Sequence[models.QuerySet]]) -> None:
        self._make = make

    def __call__(self, **values: Any) -> list[list[tuple]]:
        rows = [[] for _ in self._parts]
        with self._statement.run(values) as cursor:
            for number, *row in cursor.fetchall():
                rows[number].append(tuple(row))
        return rows

    @once
    def _parts(self) -> list[models.QuerySet]:
        return list(self._make())

    @once
    def _statement(self) -> Statement:
        parts, params = [], []
        for number, part in enumerate(self._parts):
            statement, own_params = part.query.sql_with_params()
            parts.append(f"SELECT {number}, part{number}.* FROM ({statement}) AS part{number}")
            params += own_params
        return Statement(" UNION ALL ".join(parts), params)


class PreparedUpdate:
    """An update of the queryset that `make` returns. A call returns the number of rows.

    `values` are the new values of the columns, some of which may be blanks.
    """

    def __init__(self, make: Callable[[], models.QuerySet], **values: Any) -> None:
        self._make, self._values = make, values

    def __call__(self, **values: Any) -> int:
        with self._statement.run(values) as cursor:
            return cursor.rowcount

    @once
    def _statement(self) -> Statement:
        queryset = self._make()
        query = queryset.query.chain(sql.UpdateQuery)
        query.add_update_values(self._values)
        return Statement(*query.get_compiler(using=DEFAULT_DB_ALIAS).as_sql())


class PreparedInsert:
    """An insert of a model instance, which gets its primary key. No signal is sent, and `save` is not called."""

    def __init__(self, model: type[models.Model]) -> None:
        self._model = model
        self._fields = [field for field in model._meta.local_concrete_fields if not field.primary_key]

    def __call__(self, row: models.Model) -> None:
        values = {field.attname: field.pre_save(row, add=True) for field in self._fields}
        with self._statement.run(values) as cursor:
            (row.pk,) = cursor.fetchone()
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS

    @once
    def _statement(self) -> Statement:
        blanks = {field.attname: Blank(field.attname, self._model, field.name) for field in self._fields}
        query = sql.InsertQuery(self._model)
        query.insert_values(self._fields, [self._model(**blanks)])
        compiler = query.get_compiler(using=DEFAULT_DB_ALIAS)
        compiler.returning_fields = [self._model._meta.pk]
        ((statement, params),) = compiler.as_sql()
        return Statement(statement, params)
