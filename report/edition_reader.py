"""Read the rows of a page from an open warehouse."""

import duckdb

from report.contents import Row, Setting


class EditionReader:
    """Queries on the warehouse for one edition."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, edition_id: str) -> None:
        """Read the edition through an open connection."""
        self.connection = connection
        self.edition_id = edition_id

    def read(self, sql: str, **values: object) -> list[Row]:
        """Return the rows as dictionaries; `$edition_id` and the values are bound as parameters."""
        if "$edition_id" in sql:
            values.setdefault("edition_id", self.edition_id)
        result = self.connection.execute(sql, values)
        names = [column[0] for column in result.description or []]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def read_view(self, view: str, **fixed: object) -> list[Row]:
        """Return the edition's rows of the view with these values, in its order."""
        values = {"edition_id": self.edition_id} | fixed
        conditions = " and ".join(f"{name} = ${name}" for name in values)
        return self.read(f"select * from {view} where {conditions}", **values)

    def read_setting(self, view: str, setting: Setting, *but: str) -> list[Row]:
        """Return the view's rows under the setting; `but` names setting columns that the view lacks."""
        fixed = {name: value for name, value in vars(setting).items() if name not in but}
        return self.read_view(view, **fixed)
