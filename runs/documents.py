"""A row's files, as models take them: attached where they can be, else as their text."""

import asyncio
from collections.abc import Sequence
from threading import Lock
from typing import Any

from runs.calls import Document

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
PDF = "application/pdf"
LARGEST_ATTACHMENT = 20 * 1024 * 1024
LONGEST_TEXT = 1_000_000
MOST_PAGES = 2_000

# PDFium is not made for several threads at once.
_pdfium = Lock()


class Unreadable(Exception):
    """A file that a model cannot be given. The reason names it, and is for users."""

    def __init__(self, document: Document, reason: str) -> None:
        super().__init__(f"The file {document.name} {reason}.")
        self.reason = str(self)


def is_attached(document: Document, takes_pdf: bool) -> bool:
    """Whether a model is given the file itself, and not its text."""
    return document.media_type in IMAGES or (_is_pdf(document) and takes_pdf)


def require_attachable(document: Document) -> None:
    if len(document.data) > LARGEST_ATTACHMENT:
        raise Unreadable(document, f"has more than {LARGEST_ATTACHMENT:,} bytes, too many to attach")


async def text_of(document: Document) -> str:
    """The text of a PDF or of a file in UTF-8. Raises Unreadable, also where there would be too much of it."""
    if _is_pdf(document):
        found = await asyncio.to_thread(_text_of_pdf, document)
    else:
        found = _decoded(document)
    if len(found) > LONGEST_TEXT:
        raise Unreadable(document, f"has more than {LONGEST_TEXT:,} characters of text")
    return found


async def context_of(documents: Sequence[Document]) -> str:
    """The text of all files, each under its name. Raises Unreadable."""
    return "\n\n".join([labelled(document, await text_of(document)) for document in documents])


def labelled(document: Document, text: str) -> str:
    return f"File {document.name}:\n{text}"


def _is_pdf(document: Document) -> bool:
    return document.media_type == PDF or document.data.startswith(b"%PDF-")


def _decoded(document: Document) -> str:
    try:
        found = document.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable(document, "can neither be attached nor read as text") from None
    if "\0" in found:
        raise Unreadable(document, "can neither be attached nor read as text")
    return found


def _text_of_pdf(document: Document) -> str:
    import pypdfium2

    with _pdfium:
        try:
            pdf = pypdfium2.PdfDocument(document.data)
        except pypdfium2.PdfiumError:
            raise Unreadable(document, "cannot be read as a PDF") from None
        try:
            pages = _pages(pdf, document)
        finally:
            pdf.close()
    found = "\n\n".join(pages).strip()
    if not found:
        raise Unreadable(document, "holds no text, only what a model that takes PDFs could see")
    return found


def _pages(pdf: Any, document: Document) -> list[str]:
    if len(pdf) > MOST_PAGES:
        raise Unreadable(document, f"has more than {MOST_PAGES:,} pages")
    pages: list[str] = []
    length = 0
    for number in range(len(pdf)):
        pages.append(_text_of_page(pdf, number))
        length += len(pages[-1])
        if length > LONGEST_TEXT:
            break
    return pages


def _text_of_page(pdf: Any, number: int) -> str:
    page = pdf[number]
    text = page.get_textpage()
    try:
        found: str = text.get_text_bounded()
    finally:
        text.close()
        page.close()
    # PDFium ends lines as Windows does, and gives NUL for characters without a meaning.
    return found.replace("\r\n", "\n").replace("\0", "")
