"""Searching, reading and writing, with a notebook between them."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Notebook:
    question: str
    notes: list[str] = field(default_factory=list)

    def prompt(self) -> str:
        return "\n".join([self.question, *self.notes[-6:]])


def brief(model: Any, web: Any, question: str, rounds: int = 4) -> str:
    notebook = Notebook(question)
    for _ in range(rounds):
        query = model.complete(f"Next search for:\n{notebook.prompt()}")
        results = web.search(query)
        notebook.notes.extend(result["snippet"] for result in results)
        for result in results[:2]:
            page = web.fetch(result["url"])
            if page["status"] != 200:
                break
            notebook.notes.append(page["text"])
    return str(model.complete(f"Write the brief:\n{notebook.prompt()}"))
