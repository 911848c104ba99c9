import asyncio

import pytest

from runs.calls import Document
from runs.documents import MOST_PAGES, Unreadable, context_of, is_attached, labelled, text_of
from tests.runs.pdf import pdf

TEXT = Document("notes.txt", "text/plain", "Grüße\n".encode())
BINARY = Document("blob.bin", "application/octet-stream", b"\xff\xfe\x00\x80")


async def test_the_text_of_a_pdf_is_read_from_all_its_pages() -> None:
    text = await text_of(Document("invoice.pdf", "application/pdf", pdf("Total 42 EUR", "Second page")))

    assert text == "Total 42 EUR\n\nSecond page"


async def test_a_pdf_is_known_by_its_bytes_too() -> None:
    assert await text_of(Document("a", "application/octet-stream", pdf("Total"))) == "Total"


async def test_a_byte_order_mark_is_no_text() -> None:
    assert await text_of(Document("a.csv", "text/csv", b"\xef\xbb\xbfa;b")) == "a;b"


async def test_the_context_has_each_text_under_its_name() -> None:
    documents = [TEXT, Document("invoice.pdf", "application/pdf", pdf("Total"))]

    assert await context_of(documents) == f"{labelled(TEXT, 'Grüße')}\n\n\nFile invoice.pdf:\nTotal"


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (BINARY, "The file blob.bin can neither be attached nor read as text."),
        (Document("nul.txt", "text/plain", b"a\0b"), "The file nul.txt can neither be attached nor read as text."),
        (Document("bad.pdf", "application/pdf", b"%PDF-1.7 broken"), "The file bad.pdf cannot be read as a PDF."),
        (
            Document("scan.pdf", "application/pdf", pdf("")),
            "The file scan.pdf holds no text, only what a model that takes PDFs could see.",
        ),
        (Document("long.txt", "text/plain", b"x" * 1_000_001), "The file long.txt has more than 1,000,000 characters"),
        (Document("book.pdf", "application/pdf", pdf(*["x"] * (MOST_PAGES + 1))), "The file book.pdf has more than 2,"),
    ],
)
async def test_a_file_that_gives_no_text_is_named(document: Document, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        await text_of(document)

    assert caught.value.reason.startswith(reason)


async def test_many_pdfs_are_read_at_once() -> None:
    documents = [Document(f"{number}.pdf", "application/pdf", pdf(f"Page {number}")) for number in range(20)]

    texts = await asyncio.gather(*map(text_of, documents))

    assert texts == [f"Page {number}" for number in range(20)]


@pytest.mark.parametrize(
    ("media_type", "takes_pdf", "attached"),
    [
        ("image/png", False, True),
        ("image/tiff", True, False),
        ("application/pdf", True, True),
        ("application/pdf", False, False),
        ("text/plain", True, False),
    ],
)
def test_images_and_pdfs_are_attached_where_they_are_taken(media_type: str, takes_pdf: bool, attached: bool) -> None:
    assert is_attached(Document("a", media_type, b""), takes_pdf) is attached
