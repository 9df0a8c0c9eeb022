"""Results that show themselves: as text, and as tables in notebooks."""

from __future__ import annotations

import html
import math
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

__all__ = ["Report", "Table"]


def shown(value: Any) -> str:
    """A cell: numbers short, nothing as a dash."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.6g}"
    if isinstance(value, (list, tuple)) and all(isinstance(v, (int, str)) for v in value):
        return "x".join(str(v) for v in value) if all(isinstance(v, int) for v in value) else ", ".join(map(str, value))
    return str(value)


def _is_short(value: Any) -> bool:
    return not isinstance(value, Mapping) and not (
        isinstance(value, (list, tuple)) and any(isinstance(v, (Mapping, list, tuple)) for v in value)
    )


class Table(Sequence[Dict[str, Any]]):
    """Rows with the same names of columns. A row is a dict; `column(name)` is a list."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], title: str = "") -> None:
        self._rows: List[Dict[str, Any]] = [dict(row) for row in rows]
        self.title = title

    @property
    def columns(self) -> List[str]:
        names: Dict[str, None] = {}
        for row in self._rows:
            names.update(dict.fromkeys(row))
        return list(names)

    def column(self, name: str) -> List[Any]:
        """The cells below one title."""
        if name not in self.columns:
            raise KeyError(f"there is no column {name!r}; there are {', '.join(self.columns)}")
        return [row.get(name) for row in self._rows]

    def sorted_by(self, name: str, descending: bool = False) -> "Table":
        """The same rows in another order. Rows without a value come last."""
        self.column(name)
        there = [row for row in self._rows if row.get(name) is not None]
        there.sort(key=lambda row: row[name], reverse=descending)
        return Table(there + [row for row in self._rows if row.get(name) is None], self.title)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        if isinstance(index, slice):
            return Table(self._rows[index], self.title)
        return self._rows[index]

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter(self._rows)

    def _is_number(self, name: str) -> bool:
        cells = [cell for cell in self.column(name) if cell is not None]
        return bool(cells) and all(isinstance(c, (int, float)) and not isinstance(c, bool) for c in cells)

    def __str__(self) -> str:
        names = self.columns
        cells = [names] + [[shown(row.get(name)) for name in names] for row in self._rows]
        widths = [max(len(line[c]) for line in cells) for c in range(len(names))]
        right = [self._is_number(name) for name in names]
        lines = [
            "   ".join(cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(line, widths, right)).rstrip()
            for line in cells
        ]
        return "\n".join(([self.title] if self.title else []) + lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        names = self.columns
        right = {name: ' style="text-align:right"' if self._is_number(name) else "" for name in names}
        head = "".join(f"<th{right[name]}>{html.escape(name)}</th>" for name in names)
        rows = "".join(
            "<tr>" + "".join(f"<td{right[name]}>{html.escape(shown(row.get(name)))}</td>" for name in names) + "</tr>"
            for row in self._rows
        )
        caption = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def depth_chart(layers: "Table") -> str:
    """The SQNR of each layer, first to last, as a picture of its own; nothing of tables without it."""
    if not {"name", "sqnr_db"} <= set(layers.columns):
        return ""
    points = [(k, row["sqnr_db"], row) for k, row in enumerate(layers) if row["sqnr_db"] is not None]
    if len(points) < 2:
        return ""
    left, width, height, step = 34, 600, 180, 10  # dB a line of the grid
    top = max(2 * step, min(80, step * math.ceil(max(db for _, db, _ in points) / step)))

    def at(k: int, db: float) -> Tuple[str, str]:
        return f"{left + width * k / (len(layers) - 1):.1f}", f"{8 + height * (1 - min(max(db, 0), top) / top):.1f}"

    grid = "".join(f'<path d="M{left} {at(0, db)[1]}h{width}" stroke="currentColor" opacity=".2"/>'
                   f'<text x="{left - 6}" y="{float(at(0, db)[1]) + 4}" text-anchor="end">{db}</text>' for db in range(0, top + 1, step))
    line = "L".join(" ".join(at(k, db)) for k, db, _ in points)
    dots = "".join(f'<circle cx="{at(k, db)[0]}" cy="{at(k, db)[1]}" r="3"><title>{html.escape(str(row.get("node", k)))}: '
                   f'{html.escape(str(row["name"]))}, {db:.1f} dB</title></circle>' for k, db, row in points)
    return (f'<svg viewBox="0 0 {left + width + 8} {height + 32}" style="max-width:44rem;font-size:11px;fill:currentColor" role="img">'
            f"<title>SQNR in dB of each layer, first to last</title>{grid}"
            f'<path d="M{line}" fill="none" stroke="#4b6b8a" stroke-width="2"/><g fill="#4b6b8a">{dots}</g>'
            f'<text x="{left}" y="{height + 26}">first layer</text>'
            f'<text x="{left + width}" y="{height + 26}" text-anchor="end">last</text></svg>')


class Report(Mapping[str, Any]):
    """What a command says: a mapping whose entries are attributes, too. Lists of rows are tables."""

    def __init__(self, values: Mapping[str, Any], title: str = "", notes: Sequence[str] = ()) -> None:
        self._values: Dict[str, Any] = {
            name: Table(value, name) if isinstance(value, list) and value and isinstance(value[0], Mapping)
            else Report(value, name) if isinstance(value, Mapping) else value
            for name, value in values.items()
        }
        self.title = title
        self.notes: List[str] = list(notes)
        """What the command said besides, a sentence or more each."""

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._values:
            return self._values[name]
        raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(self.__dict__.get('_values', ()))}")

    def __dir__(self) -> List[str]:
        return sorted(set(super().__dir__()) | set(self._values))

    def _table(self) -> Table:
        return Table([{"": name, "value": shown(value)} for name, value in self._values.items()
                      if _is_short(value) and not isinstance(value, (Table, Report))], self.title)

    def _parts(self) -> List[Any]:
        return [value for value in self._values.values() if isinstance(value, (Table, Report)) and len(value)]

    def __str__(self) -> str:
        parts = [str(part) for part in self._parts()]
        return "\n\n".join([str(self._table())] + parts + [f"note: {note}" for note in self.notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>note: {html.escape(note)}</p>" for note in self.notes)
        charts = "".join(depth_chart(part) for part in self._parts() if isinstance(part, Table))
        return self._table()._repr_html_() + charts + "".join(part._repr_html_() for part in self._parts()) + notes
