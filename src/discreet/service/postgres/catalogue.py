"""The catalogue of the protocol: what clients look up about tables and types, answered from cards alone.

It is an empty DuckDB in memory with PostgreSQL's catalogue as plain tables, filled from what the API tells the analyst
of their tables, and with each of those tables without a row. So whatever is asked of it, it has nothing else to tell.

It is asked in SQL that anyone may write, so each statement is one SELECT, made of the names, functions and syntax that
are listed here; everything else is refused before DuckDB sees it. DuckDB itself may not open files, connect, load
extensions or change its settings, has little memory and one thread, and is stopped after some seconds. Texts that a
statement makes are cut, since memory for texts is not counted.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from importlib.resources import files
from typing import Any, cast

import duckdb
import pyarrow as pa
from sqlglot import exp

from discreet.errors import BadQuery, TooMany
from discreet.service.postgres import values
from discreet.service.postgres.session_settings import POSTGRES
from discreet.service.postgres.values import PgType

SECONDS = 3.0
"""Time limit of a statement."""
MEMORY = "128MB"
_MOST_ROWS = 20_000
_PUBLIC, _SYSTEM, _INFORMATION = 2200, 11, 13_000
_FIRST_OID = 16_384
_OWNER = 10
_TYPES = {"": "VARCHAR", "o": "UINTEGER", "i": "INTEGER", "l": "BIGINT", "f": "DOUBLE", "b": "BOOLEAN"} | {
    "a": "VARCHAR[]",
    "v": "SMALLINT[]",
}
_PRIVATE_TYPES = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "decimal": "DECIMAL(38, 10)",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
_SPELLED = {
    "bool": "boolean",
    "int8": "bigint",
    "float8": "double precision",
    "timestamp": "timestamp without time zone",
}
_SCHEMAS = {"pg_catalog": _SYSTEM, "public": _PUBLIC, "information_schema": _INFORMATION}
_CLASSES = {"pg_type": 1247, "pg_attribute": 1249, "pg_proc": 1255, "pg_class": 1259, "pg_database": 1262} | {
    "pg_constraint": 2606,
    "pg_namespace": 2615,
}
_SETTINGS = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "threads": "1",
    "memory_limit": MEMORY,
    "temp_directory": "",  # nothing is written to the disk
}
_PG_TYPES = {
    "BOOLEAN": values.BOOL,
    "TINYINT": values.INT2,
    "SMALLINT": values.INT2,
    "INTEGER": values.INT4,
    "UINTEGER": values.OID,
    "BIGINT": values.INT8,
    "HUGEINT": values.NUMERIC,
    "FLOAT": values.FLOAT8,
    "DOUBLE": values.FLOAT8,
    "DATE": values.DATE,
    "TIMESTAMP": values.TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": values.TIMESTAMPTZ,
}
"""By DuckDB's type."""
Relations = Mapping[str, Mapping[str, str]]


@cache
def relations() -> Relations:
    """Columns of each relation of PostgreSQL's catalogue, with the letters of their types."""
    found = {}
    for line in _lines("relations.txt"):
        name, *columns = line.split()
        found[name] = {one.partition(":")[0]: one.partition(":")[2] for one in columns}
    return found


def _lines(name: str) -> Iterator[str]:
    text = (files("discreet.service.postgres") / name).read_text(encoding="utf-8")
    return (line for line in text.splitlines() if line and not line.startswith("#"))


@dataclass(frozen=True)
class Result:
    """Columns and rows of a statement."""

    columns: tuple[tuple[str, PgType], ...]
    rows: Sequence[Sequence[Any]]


class Catalogue:
    """The catalogue as one analyst sees it. Statements run one at a time."""

    def __init__(self, tables: Sequence[Mapping[str, Any]], person: str, database: str, version: str) -> None:
        """``tables`` as the API tells the analyst of them."""
        self.tables = {str(one["name"]).casefold(): str(one["name"]) for one in tables}
        self._lock = threading.Lock()
        self._connection = duckdb.connect(":memory:", config={**_SETTINGS})
        rows = _Filling(tables, person, database).rows()
        script = ["CREATE SCHEMA pg", "CREATE SCHEMA info"]
        for name, columns in relations().items():
            typed = ", ".join(f"{_quoted(column)} {_TYPES[letter]}" for column, letter in columns.items())
            script.append(f"CREATE TABLE {_physical(name)} ({typed})")
        for one in tables:
            shown = [
                f"{_quoted(column['name'])} {_PRIVATE_TYPES.get(column['kind'], 'VARCHAR')}"
                for column in one["columns"]
            ]
            script.append(f"CREATE TABLE main.{_quoted(one['name'])} ({', '.join(shown)})")
        self._connection.execute(";\n".join([*script, *_macros(person, database, version)]))
        for name, given in rows.items():
            columns = relations()[name]
            made = pa.table(
                {column: _filled([row.get(column) for row in given], letter) for column, letter in columns.items()}
            )
            self._connection.register("given", made)
            self._connection.execute(f"INSERT INTO {_physical(name)} SELECT * FROM given")  # noqa: S608
            self._connection.unregister("given")
        self._connection.execute("SET lock_configuration = true")

    def run(self, statement: exp.Query) -> Result:
        """The result of a statement that ``rewritten`` made."""
        try:
            text = statement.sql("duckdb")
        except RecursionError:
            raise BadQuery("The question about the catalogue is nested too deeply.") from None
        with self._lock:
            stopper = threading.Timer(SECONDS, self._connection.interrupt)
            stopper.start()
            try:
                return self._run(text)
            except duckdb.InterruptException:
                raise TooMany("The question about the catalogue took too long.", wait=1) from None
            except duckdb.Error as error:
                raise BadQuery(f"The catalogue cannot answer this: {str(error).splitlines()[0][:300]}") from None
            finally:
                stopper.cancel()
                stopper.join()

    def _run(self, text: str) -> Result:
        self._connection.execute(text)
        columns = tuple((str(one[0]), _type_of(str(one[1]))) for one in self._connection.description or ())
        rows = self._connection.fetchmany(_MOST_ROWS + 1)
        if len(rows) > _MOST_ROWS:
            raise BadQuery(f"This has more than {_MOST_ROWS:,} rows.", hint="Add a condition, or LIMIT.")
        return Result(columns, [tuple(map(_plain, row)) for row in rows])

    def close(self) -> None:
        """Let go of it."""
        with self._lock:
            self._connection.close()


# -- what is in it


@dataclass(frozen=True)
class _Filling:
    tables: Sequence[Mapping[str, Any]]
    person: str
    database: str

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """Rows of each relation that has some."""
        at = {"table_catalog": self.database, "table_schema": "public"}
        made: dict[str, list[dict[str, Any]]] = {f"pg_catalog.{one}": [] for one in ("pg_class", "pg_attribute")}
        made |= {one: [] for one in ("information_schema.tables", "information_schema.columns", "pg_catalog.pg_tables")}
        made |= {one: [] for one in ("pg_catalog.pg_description", "information_schema.table_privileges")}
        for oid, table in self._numbered():
            name, columns = table["name"], table["columns"]
            made["pg_catalog.pg_class"].append(_class(oid, name, len(columns)))
            made["pg_catalog.pg_tables"].append({"schemaname": "public", "tablename": name, "tableowner": "discreet"})
            shown = at | {"table_name": name}
            made["information_schema.tables"].append(
                shown | {"table_type": "BASE TABLE", "is_insertable_into": "NO", "is_typed": "NO"}
            )
            granted = {"grantor": "discreet", "grantee": self.person, "privilege_type": "SELECT", "is_grantable": "NO"}
            made["information_schema.table_privileges"].append(shown | granted)
            if table["note"]:
                made["pg_catalog.pg_description"].append(_description(oid, 0, table["note"]))
            for place, column in enumerate(columns, 1):
                type_ = values.type_of(column["kind"])
                made["pg_catalog.pg_attribute"].append(_attribute(oid, place, column, type_))
                made["information_schema.columns"].append(shown | _column(self.database, place, column, type_))
                if said := _said_of(column):
                    made["pg_catalog.pg_description"].append(_description(oid, place, said))
        made["information_schema.role_table_grants"] = made["information_schema.table_privileges"]
        return made | self._fixed()

    def _numbered(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Tables with numbers that are the same in every connection."""
        taken: set[int] = set()
        for one in sorted(self.tables, key=lambda table: str(table["name"])):
            oid = _FIRST_OID + zlib.crc32(str(one["name"]).encode()) % 2**30
            while oid in taken:
                oid += 1
            taken.add(oid)
            yield oid, one

    def _fixed(self) -> dict[str, list[dict[str, Any]]]:
        role = {"oid": _OWNER + 1, "rolname": self.person, "rolinherit": True, "rolcanlogin": True, "rolconnlimit": -1}
        schemas = [
            {"catalog_name": self.database, "schema_name": name, "schema_owner": "discreet"} for name in _SCHEMAS
        ]
        return {
            "pg_catalog.pg_namespace": [
                {"oid": oid, "nspname": name, "nspowner": _OWNER} for name, oid in _SCHEMAS.items()
            ],
            "pg_catalog.pg_type": list(_type_rows()),
            "pg_catalog.pg_roles": [role],
            "pg_catalog.pg_user": [{"usename": self.person, "usesysid": _OWNER + 1}],
            "pg_catalog.pg_database": [
                {"oid": 5, "datname": self.database, "datdba": _OWNER, "encoding": 6, "datallowconn": True}
                | {"datcollate": "C.UTF-8", "datctype": "C.UTF-8", "datistemplate": False, "datconnlimit": -1}
                | {"dattablespace": 1663, "datlocprovider": "c"}
            ],
            "pg_catalog.pg_tablespace": [{"oid": 1663, "spcname": "pg_default", "spcowner": _OWNER}],
            "pg_catalog.pg_settings": [
                {"name": name, "setting": setting, "vartype": "string"} for name, setting in POSTGRES.items()
            ],
            "pg_catalog.pg_get_keywords": [{"word": one, "catcode": "R"} for one in ("ilike", "limit", "offset")],
            "pg_catalog.pg_am": [{"oid": 2, "amname": "heap", "amtype": "t"}],
            "pg_catalog.pg_collation": [
                {"oid": 100, "collname": "default", "collnamespace": _SYSTEM, "collowner": _OWNER, "collprovider": "d"}
                | {"collisdeterministic": True, "collencoding": -1}
            ],
            "information_schema.schemata": schemas,
            "information_schema.enabled_roles": [{"role_name": self.person}],
            "information_schema.information_schema_catalog_name": [{"catalog_name": self.database}],
        }


def _class(oid: int, name: str, count: int) -> dict[str, Any]:
    return {
        **{"oid": oid, "relname": name, "relnamespace": _PUBLIC, "relowner": _OWNER, "relam": 2, "reltuples": -1.0},
        **{"relpersistence": "p", "relkind": "r", "relnatts": count, "relispopulated": True, "relreplident": "d"},
    }


def _attribute(oid: int, place: int, column: Mapping[str, Any], type_: PgType) -> dict[str, Any]:
    return {
        **{"attrelid": oid, "attname": column["name"], "atttypid": type_.oid, "attlen": type_.size, "attnum": place},
        **{"atttypmod": -1, "attnotnull": column["required"], "attislocal": True, "attidentity": ""},
        **{"attgenerated": "", "attcompression": "", "attstorage": "p" if type_.size > 0 else "x", "attalign": "d"},
        **{"attcollation": 100 if type_ is values.TEXT else 0, "attcacheoff": -1, "attstattarget": -1},
    }


def _column(database: str, place: int, column: Mapping[str, Any], type_: PgType) -> dict[str, Any]:
    return {
        **{"column_name": column["name"], "ordinal_position": place, "data_type": _SPELLED.get(type_.name, type_.name)},
        **{"is_nullable": "NO" if column["required"] else "YES", "udt_catalog": database, "udt_schema": "pg_catalog"},
        **{"udt_name": type_.name, "dtd_identifier": str(place), "is_updatable": "NO", "is_identity": "NO"},
        **{"is_generated": "NEVER", "is_self_referencing": "NO"},
    }


def _description(oid: int, place: int, said: str) -> dict[str, Any]:
    return {"objoid": oid, "classoid": 1259, "objsubid": place, "description": said}


def _said_of(column: Mapping[str, Any]) -> str:
    """The card's description of a column, in a sentence or two."""
    parts = [f"{str(column['note']).rstrip('.')}."] if column["note"] else []
    if column["bounds"]:
        parts.append("From {} to {}.".format(*column["bounds"]))
    if column["categories"]:
        more = len(column["categories"]) - 20
        shown = ", ".join(map(str, column["categories"][:20]))
        parts.append(f"One of {shown}{f' and {more} more' if more > 0 else ''}.")
    return " ".join(parts)


def _type_rows() -> Iterator[dict[str, Any]]:
    names = (
        "oid typname typlen typbyval typtype typcategory typelem typarray typinput typbasetype typdelim typrelid "
        "typalign typstorage"
    )
    for line in _lines("types.txt"):
        row: dict[str, Any] = dict(zip(names.split(), line.split(), strict=True))
        row |= {one: int(row[one]) for one in ("oid", "typlen", "typelem", "typarray", "typbasetype", "typrelid")}
        row |= {"typbyval": row["typbyval"] == "True", "typnamespace": _SYSTEM, "typowner": _OWNER, "typtypmod": -1}
        yield row | {"typisdefined": True, "typispreferred": False, "typcollation": 100 * (row["typcategory"] == "S")}


def _filled(given: Sequence[Any], letter: str) -> pa.Array[Any]:
    types: dict[str, Any] = {"": pa.string(), "o": pa.uint32(), "i": pa.int32(), "l": pa.int64(), "f": pa.float64()}
    types |= {"b": pa.bool_(), "a": pa.list_(pa.string()), "v": pa.list_(pa.int16())}
    nothing = {"o": 0, "i": 0, "l": 0, "f": 0.0, "b": False}.get(letter)
    return cast("pa.Array[Any]", pa.array([nothing if one is None else one for one in given], types[letter]))


def _physical(name: str) -> str:
    schema, _, relation = name.partition(".")
    return f"{'pg' if schema == 'pg_catalog' else 'info'}.{_quoted(relation)}"


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("duckdb")


def _macros(person: str, database: str, version: str) -> Iterator[str]:
    """PostgreSQL's functions that clients use, as far as there is something to say."""
    you, here, this = (exp.Literal.string(one).sql("duckdb") for one in (person, database, version))
    bodies = {
        "format_type(x, modifier)": "(SELECT CASE typname WHEN 'bool' THEN 'boolean' WHEN 'int8' THEN 'bigint' "
        "WHEN 'int4' THEN 'integer' WHEN 'int2' THEN 'smallint' WHEN 'float8' THEN 'double precision' WHEN 'float4' "
        "THEN 'real' WHEN 'varchar' THEN 'character varying' WHEN 'timestamp' THEN 'timestamp without time zone' "
        "WHEN 'timestamptz' THEN 'timestamp with time zone' ELSE typname END FROM pg.pg_type WHERE oid = x)",
        "pg_get_userbyid(x)": "CASE WHEN x = 11 THEN " + you + " ELSE 'discreet' END",
        "obj_description(x, kind := 'pg_class')": "(SELECT max(description) FROM pg.pg_description "
        "WHERE objoid = x AND objsubid = 0 AND kind = 'pg_class')",
        "col_description(x, place)": "(SELECT max(description) FROM pg.pg_description "
        "WHERE objoid = x AND objsubid = place AND place > 0)",
        "regclass_oid(x)": f"CASE replace(CAST(x AS VARCHAR), 'pg_catalog.', '') {_known_classes()} "  # noqa: S608
        "ELSE (SELECT max(oid) FROM pg.pg_class WHERE relname = replace(replace(CAST(x AS VARCHAR), 'public.', ''), "
        "'\"', '') OR CAST(oid AS VARCHAR) = CAST(x AS VARCHAR)) END",
        "regclass_name(x)": "coalesce((SELECT max(relname) FROM pg.pg_class WHERE CAST(oid AS VARCHAR) = "
        "CAST(x AS VARCHAR)), CAST(x AS VARCHAR))",
        "regtype_oid(x)": "(SELECT max(oid) FROM pg.pg_type WHERE typname = "
        "replace(CAST(x AS VARCHAR), 'pg_catalog.', '') OR CAST(oid AS VARCHAR) = CAST(x AS VARCHAR))",
        "to_regclass(x)": "regclass_oid(x)",
        "to_regtype(x)": "regtype_oid(x)",
        "_pg_expandarray(x)": "{'x': CAST(NULL AS INTEGER), 'n': CAST(NULL AS INTEGER)}",
        "array_upper(x, d)": "len(x)",
        "array_lower(x, d)": "CASE WHEN len(x) > 0 THEN 1 END",
        "array_ndims(x)": "1",
        "quote_ident(x)": "x",
        "quote_literal(x)": "chr(39) || x || chr(39)",
        "pg_encoding_to_char(x)": "'UTF8'",
        "current_database()": here,
        "version()": this,
        "current_role_name()": you,
        "pg_backend_pid()": "0",
        "pg_is_in_recovery()": "false",
        "pg_is_other_temp_schema(x)": "false",
        "pg_my_temp_schema()": "0",
        "inet_server_addr()": "CAST(NULL AS VARCHAR)",
        "shobj_description(x, kind)": "CAST(NULL AS VARCHAR)",
        "short_series(a, b)": "range(CAST(a AS BIGINT), least(CAST(b AS BIGINT), CAST(a AS BIGINT) + 10000) + 1)",
        "pg_client_encoding()": "'UTF8'",
        "getdatabaseencoding()": "'UTF8'",
    }
    for signature, body in bodies.items():
        yield f"CREATE MACRO main.{signature} AS {body}"


def _known_classes() -> str:
    """Numbers of PostgreSQL's own relations that others refer to."""
    return " ".join(f"WHEN '{name}' THEN {oid}" for name, oid in _CLASSES.items())


@cache
def macro_names() -> frozenset[str]:
    """The functions that there are beside DuckDB's."""
    return frozenset(
        one.removeprefix("CREATE MACRO main.").partition("(")[0] for one in _macros("person", "database", "version")
    )


# -- results


def _type_of(name: str) -> PgType:
    if name.endswith("[]"):
        return values.array_type(_type_of(name.removesuffix("[]")))
    if name.startswith("DECIMAL"):
        return values.NUMERIC
    return _PG_TYPES.get(name, values.TEXT)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value
