"""What a benchmark table must hold, by the rules alone: dictionaries that each mutation changes as the rules say."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from models.base import AgentKind

# Values as JSON text; None is an emptied one. A conversation's text stands under the empty name.
Said = Mapping[str, str | None]
Figures = tuple[int, int, int, int]


@dataclass(frozen=True)
class Held:
    value: str | None = None
    origin: str = "EMPTY"
    locked: bool = False


NOTHING = Held()


@dataclass
class RowModel:
    values: dict[str, Held] = field(default_factory=dict)
    # The revision of a person's last change of each value.
    edited: dict[str, int] = field(default_factory=dict)
    history: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @property
    def revision(self) -> int:
        return len(self.history)

    @property
    def is_locked(self) -> bool:
        return any(held.locked for held in self.values.values())

    def has(self, *origins: str) -> bool:
        return any(held.origin in origins for held in self.values.values())

    def put(self, change: str, values: Mapping[str, Held], *, by_person: bool = False) -> None:
        """One revision where anything is another than before."""
        moved = {name: held for name, held in values.items() if self.values.get(name, NOTHING) != held}
        if not moved:
            return
        self.values.update(moved)
        said = {name: held.value for name, held in sorted(self.values.items()) if held.value is not None}
        self.history.append((change, said))
        if by_person:
            self.edited.update(dict.fromkeys(moved, self.revision))


@dataclass
class TableModel:
    kind: AgentKind
    fields: list[str]
    capturing: bool = True
    source: str | None = None
    tracks: list[str] = field(default_factory=list)
    rows: dict[str, RowModel] = field(default_factory=dict)
    # Of cells that were answered: what a success said, or how else it ended.
    cells: dict[tuple[str, str], Said | str] = field(default_factory=dict)

    def add_track(self, track: str) -> None:
        self.tracks.append(track)
        self.source = self.source or track

    def add_row(self, row: str, said: Said) -> None:
        self.rows[row] = RowModel()
        given = {name: Held(value, "MANUAL", True) for name, value in said.items()}
        self.rows[row].put("IMPORTED", given, by_person=True)

    def remove_row(self, row: str) -> None:
        del self.rows[row]
        self.cells = {place: said for place, said in self.cells.items() if place[0] != row}

    def outputs(self, row: str, track: str) -> dict[str, str]:
        said = self.cells.get((row, track))
        if said is None or isinstance(said, str):
            return {}
        return {name: value for name, value in said.items() if name in self.fields and value is not None}

    def answered(self, row: str, track: str) -> bool:
        return isinstance(self.cells.get((row, track)), Mapping)

    def record(self, cells: Iterable[tuple[str, str, Said | str]]) -> tuple[int, int]:
        """Rows captured, and rows that kept something locked."""
        captured = skipped = 0
        for row, track, said in cells:
            self.cells[row, track] = said
            if track == self.source and self.capturing and isinstance(said, Mapping):
                locked = [self.rows[row].values.get(name, NOTHING).locked for name in said]
                captured += not all(locked)
                skipped += any(locked)
                self._capture("CAPTURED", row, track)
        return captured, skipped

    def _capture(self, change: str, row: str, track: str) -> None:
        found, held = self.outputs(row, track), self.rows[row].values
        free = {name: value for name, value in found.items() if not held.get(name, NOTHING).locked}
        self.rows[row].put(change, {name: Held(value, "AUTO") for name, value in free.items()})

    def edit(self, row: str, since: int, said: Said) -> bool:
        """False is a conflict."""
        if self._is_unseen(row, since, said):
            return False
        edited = {name: Held(value, "MANUAL", True) for name, value in said.items()}
        self.rows[row].put("EDITED", edited, by_person=True)
        return True

    def unlock(self, row: str, since: int, names: Iterable[str]) -> bool:
        held = {name: self.rows[row].values[name] for name in names if name in self.rows[row].values}
        if self._is_unseen(row, since, held):
            return False
        freed = {name: replace(value, locked=False) for name, value in held.items()}
        self.rows[row].put("UNLOCKED", freed, by_person=True)
        return True

    def _is_unseen(self, row: str, since: int, names: Iterable[str]) -> bool:
        edited = self.rows[row].edited
        return since > self.rows[row].revision or any(edited.get(name, 0) > since for name in names)

    def toggle(self, on: bool) -> tuple[int, int]:
        """Rows cleared, and rows that keep what a person said."""
        self.capturing = on
        cleared = 0
        if not on and self.kind == AgentKind.AUTOMATION:
            for row in self.rows.values():
                captured = [name for name, held in row.values.items() if held.origin == "AUTO"]
                cleared += bool(captured)
                row.put("CLEARED", dict.fromkeys(captured, NOTHING))
        return cleared, sum(row.has("MANUAL") for row in self.rows.values())

    @property
    def must_ask(self) -> bool:
        return any(row.has("AUTO") for row in self.rows.values())

    def recapture(self, track: str) -> Figures:
        self.source = track
        figures = self.figures(track)
        for row in self.rows:
            self._capture("RECAPTURED", row, track)
        return figures

    def figures(self, track: str) -> Figures:
        """Rows recaptured, kept, locked and without output."""
        recaptured = kept = 0
        for key, row in self.rows.items():
            found = self.outputs(key, track)
            recaptured += any(not row.values.get(name, NOTHING).locked for name in found)
            kept += any(
                held.origin != "EMPTY" and not held.locked and name not in found for name, held in row.values.items()
            )
        return recaptured, kept, self._locked(), self._silent(track)

    def keep(self, track: str) -> Figures:
        self.source = track
        return 0, self._kept(), self._locked(), self._silent(track)

    def untouched(self) -> Figures:
        return 0, self._kept(), self._locked(), 0

    def remove_track(self, track: str) -> int:
        """How many cells go."""
        self.tracks.remove(track)
        left = {place: said for place, said in self.cells.items() if place[1] != track}
        gone, self.cells = len(self.cells) - len(left), left
        self.source = None if self.source == track else self.source
        return gone

    def drop(self, name: str) -> int | None:
        """How many values go; None where a person locked one."""
        held = {key: row.values[name] for key, row in self.rows.items() if name in row.values}
        if any(value.locked for value in held.values()):
            return None
        self.fields.remove(name)
        for key in held:
            self.rows[key].put("CLEARED", {name: NOTHING})
            del self.rows[key].values[name]
            self.rows[key].edited.pop(name, None)
        return sum(value.origin != "EMPTY" for value in held.values())

    def _kept(self) -> int:
        return sum(row.has("AUTO", "MANUAL") for row in self.rows.values())

    def _locked(self) -> int:
        return sum(row.is_locked for row in self.rows.values())

    def _silent(self, track: str) -> int:
        return sum(not self.answered(row, track) for row in self.rows)
