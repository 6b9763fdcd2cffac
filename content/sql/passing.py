"""Cells that a query only passes on, as their file spells them: `1.10` and not 1.1, `2024/02/01` and not 2024-02-01.

A query that names columns of one CSV is rewritten, on DuckDB's own syntax tree, to return the texts of these.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from .delimited import Csv

_VIEW = "spelled"
_TEXT = "\x1f"
"""Behind the name of a column, for its text."""

_OF_JSON = {"BIGINT", "HUGEINT", "DOUBLE", "BOOLEAN"}
"""Types that JSON has, too; what they hold is no text there."""

_Tree = dict[str, Any]


def spelled(connection: "DuckDBPyConnection", sql: str, tables: Mapping[str, "Csv"], form: str) -> str:
    """Return a query with the cells that `sql` only passes on as they are; `sql` where that cannot be told or written.

    Args:
        connection: has the tables.
        sql: one query.
        tables: those that are CSV, by their names in lower case.
        form: of the answer.
    """
    import duckdb

    told = connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
    tree: _Tree = json.loads(told[0]) if told else {"error": True}
    if form == "parquet" or tree["error"] or len(tree["statements"]) != 1:
        return sql
    node: _Tree = tree["statements"][0]["node"]
    source: _Tree = node.get("from_table") or {"type": ""}
    table = tables.get(str(source.get("table_name")).casefold())
    if table is None or not _is_plain(node, source):
        return sql
    texts = {
        column: kind for column, kind in table.columns.items() if kind and not ("json" in form and kind in _OF_JSON)
    }
    try:
        _rewrite(node, source, list(table.columns), texts)
        connection.execute(
            f"CREATE OR REPLACE VIEW {_VIEW} AS {table.typed({column + _TEXT: column for column in texts})}"
        )
        made = connection.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(tree)]).fetchone()
        connection.execute(f"DESCRIBE FROM ({made[0] if made else ''}\n)")
    except (duckdb.Error, KeyError, IndexError):
        return sql
    return str(made[0]) if made else sql


def _is_plain(node: _Tree, source: _Tree) -> bool:
    """Tell whether a query is one of the rows of one table, each as often as it is there."""
    return (
        node["type"] == "SELECT_NODE"
        and source["type"] == "BASE_TABLE"
        and not any(source[part] for part in ("schema_name", "sample", "column_name_alias", "at_clause"))
        and not any(node[part] for part in ("group_expressions", "group_sets", "having", "sample"))
        and not node["cte_map"]["map"]
        and node["aggregate_handling"] == "STANDARD_HANDLING"
        and not any(modifier["type"] == "DISTINCT_MODIFIER" for modifier in node["modifiers"])
    )


def _rewrite(node: _Tree, source: _Tree, columns: list[str], texts: Mapping[str, str]) -> None:
    """Have a tree return texts; what it compares, orders by or computes with stays of the types that columns have."""
    table = source["alias"] or source["table_name"]
    source.update(table_name=_VIEW, alias=table, qualified_name={"path": [_VIEW]})
    known = {column.casefold(): column for column in columns}
    items: list[_Tree] = []
    for item in node["select_list"]:
        if item["type"] != "STAR":
            items.append(item)
            continue
        chosen = ("columns", "expr", "replace_list", "rename_list", "qualified_exclude_list")
        if any(item[part] for part in chosen) or item["relation_name"].casefold() not in {"", table.casefold()}:
            raise KeyError("a star that stands for other columns")
        left_out = set(map(str.casefold, item["exclude_list"]))
        items += [_reference(table, column) for key, column in known.items() if key not in left_out]
    passed: dict[str, _Tree] = {}
    places: dict[str, _Tree] = {}
    returned: list[_Tree] = []
    for place, item in enumerate(items, 1):
        *above, own = item.get("column_names") or [""]
        column = known.get(own.casefold(), "") if not above or above == [table] else ""
        if column not in texts:
            returned.append(item)
            continue
        alias = item["alias"] or column
        places[str(place)] = passed[alias.casefold()] = _reference(table, column)
        returned.append({**_reference(table, column + _TEXT), "alias": alias})
    names = [str(item["alias"] or item.get("column_names", [place])[-1]).casefold() for place, item in enumerate(items)]
    if len(set(names)) < len(names):
        raise KeyError("a name that several columns of the answer have")
    others = {name: column for name, column in passed.items() if name not in known}
    node["select_list"] = [item if item["class"] == "COLUMN_REF" else _replaced(item, others) for item in returned]
    for part in ("where_clause", "qualify"):
        node[part] = _replaced(node[part], others)
    for order in (order for modifier in node["modifiers"] for order in modifier.get("orders", ())):
        by = order["expression"]
        if by["class"] == "STAR":
            raise KeyError("an order by all columns")
        if by["class"] == "CONSTANT":
            order["expression"] = places.get(by["literal"]["text"], by)
        else:
            # Alone a name is one of the answer, in an expression one of the table if it has that.
            order["expression"] = _replaced(by, passed if by["class"] == "COLUMN_REF" else others)


def _replaced(tree: Any, named: Mapping[str, _Tree]) -> Any:  # noqa: ANN401 - JSON
    """Return a tree with what is named in it, but for queries of its own, in which names may mean something else."""
    if isinstance(tree, list):
        return [_replaced(one, named) for one in cast("list[Any]", tree)]
    if not isinstance(tree, dict):
        return tree
    expression = cast("_Tree", tree)
    names: list[str] = expression.get("column_names", [])
    if len(names) == 1 and names[0].casefold() in named:
        return named[names[0].casefold()]
    if expression.get("class") == "SUBQUERY":
        return expression
    return {key: _replaced(value, named) for key, value in expression.items()}


def _reference(table: str, column: str) -> _Tree:
    return {"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "column_names": [table, column]}
