# SPDX-License-Identifier: MIT
"""Asks traces: the rochound command answers, here are its tables."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Dict, Iterator, List, Sequence, Union

from rochound import command

PathLike = Union[str, "os.PathLike[str]"]


class TraceError(RuntimeError):
    """What rochound says about a trace or a question that it cannot answer."""


class Table:
    """Rows of an answer, each a dict by the names of its columns."""

    def __init__(self, columns: Sequence[str], rows: List[Dict[str, Any]], title: str = "") -> None:
        self.title = title
        self.columns = list(columns)
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        return self.rows[index]

    def __repr__(self) -> str:
        return f"<rochound.Table: {len(self.rows)} rows of {', '.join(self.columns)}>"

    def column(self, name: str) -> List[Any]:
        return [row[name] for row in self.rows]

    def df(self) -> Any:
        """A pandas DataFrame; needs pandas."""
        import pandas

        return pandas.DataFrame(self.rows, columns=self.columns)

    def arrow(self) -> Any:
        """A pyarrow Table; needs pyarrow."""
        import pyarrow

        return pyarrow.table({name: self.column(name) for name in self.columns})

    def duckdb(self, connection: Any = None) -> Any:
        """A relation of DuckDB's Python module; needs duckdb and pyarrow."""
        import duckdb

        return (connection or duckdb).from_arrow(self.arrow())


class Answer:
    """What `rochound explain` says: tables by name, doubts about the trace first."""

    def __init__(self, told: Dict[str, Any]) -> None:
        self.question: str = told["question"]
        self.doubts: List[str] = told["doubts"]
        self.notes: List[str] = told["notes"]
        self.tables: Dict[str, Table] = {name: _table(one) for name, one in told["tables"].items()}

    def __getitem__(self, name: str) -> Table:
        return self.tables[name]

    def __repr__(self) -> str:
        return f"<rochound.Answer to {self.question}: {', '.join(f'{name} ({len(table)})' for name, table in self.tables.items())}>"


class Trace:
    """One or several traces of any format that rochound reads. Nothing is kept open: each question starts the command."""

    def __init__(self, *paths: PathLike) -> None:
        if not paths:
            raise ValueError("name at least one trace")
        self.paths = [os.fspath(path) for path in paths]
        for path in self.paths:
            if not os.path.exists(path):
                raise FileNotFoundError(path)

    def explain(self, question: str = "findings", *options: str) -> Answer:
        """The answer to a question (`rochound explain --help` lists them), with all rows."""
        return Answer(_ask("explain", question, *self.paths, "--json", *options))

    def query(self, sql: str) -> Table:
        """Rows of an SQL query in DuckDB's dialect; `rochound query --help` lists the tables."""
        return _table(_ask("query", *self.paths, sql, "--json")["tables"]["rows"])

    def __repr__(self) -> str:
        return f"<rochound.Trace {', '.join(self.paths)}>"


def open(*paths: PathLike) -> Trace:  # as in rochound.open("t.rpd")
    return Trace(*paths)


def _ask(*words: str) -> Dict[str, Any]:
    # What loads a recorder into this process is not for the command that reads its trace.
    environment = {name: value for name, value in os.environ.items() if name not in ("HSA_TOOLS_LIB", "LD_PRELOAD")}
    done = subprocess.run([command.find(), *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise TraceError(done.stderr.decode("utf-8", "replace").strip() or f"rochound ended with {done.returncode}")
    told: Dict[str, Any] = json.loads(done.stdout.decode("utf-8", "replace"))
    return told


def _table(told: Dict[str, Any]) -> Table:
    rows: List[Dict[str, Any]] = told["rows"]
    return Table(list(rows[0]) if rows else [], rows, told["title"])
