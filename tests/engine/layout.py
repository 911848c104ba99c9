"""SQL in lines that a person can compare."""

import re
from collections.abc import Iterator

WIDTH = 110
TOKENS = re.compile(r"'(?:[^']|'')*'|[(),]|[^'(),]+")
CLAUSE = re.compile(r"(?<!DISTINCT) (?=(?:FROM|WHERE|GROUP BY|ORDER BY|LIMIT|LEFT OUTER JOIN|UNION ALL|HAVING) )")


def laid_out(sql: str) -> str:
    """What fits into a line stays in it; what does not is broken at its commas and clauses, one level deeper."""
    # Only a line break within a string means anything.
    flat = "".join(
        piece.replace("\n", "\\n") if piece.startswith("'") else re.sub(r"\s+", " ", piece)
        for piece in TOKENS.findall(sql)
    )
    return "\n".join(_lines(flat.replace(" \\n", "\\n"), ""))


def _lines(text: str, indent: str) -> Iterator[str]:
    if len(indent) + len(text) <= WIDTH:
        yield indent + text
        return
    parts = _parts(text)
    if len(parts) > 1:
        for part in parts:
            yield from _lines(part, indent)
        return
    head, inner, tail = _group(text)
    if not inner:
        yield indent + text
        return
    yield indent + head
    yield from _lines(inner, indent + "  ")
    yield from _lines(tail, indent)


def _parts(text: str) -> list[str]:
    """Broken at the commas and clauses that stand in no parentheses."""
    parts, part, depth = [], "", 0
    for piece in TOKENS.findall(text):
        depth += (piece == "(") - (piece == ")")
        if depth == 0 and piece not in ("(", ")") and not piece.startswith("'"):
            first, *others = CLAUSE.split(piece)
            part += first
            for other in others:
                parts.append(part.strip())
                part = other
            if piece == ",":
                parts.append(part.strip())
                part = ""
        else:
            part += piece
    return [each for each in (*parts, part.strip()) if each]


def _group(text: str) -> tuple[str, str, str]:
    """What stands before the longest parentheses, in them, and after them."""
    best, depth, start, place = (0, 0), 0, 0, 0
    for piece in TOKENS.findall(text):
        if piece == "(":
            start = place if depth == 0 else start
            depth += 1
        elif piece == ")":
            depth -= 1
            if depth == 0 and place - start > best[1] - best[0]:
                best = (start, place)
        place += len(piece)
    opened, closed = best
    return text[: opened + 1], text[opened + 1 : closed].strip(), text[closed:]
