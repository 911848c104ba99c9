"""A real PDF, as small as the format allows."""


def pdf(*pages: str) -> bytes:
    """One line of Latin text on each page."""
    numbers = range(4, 4 + 2 * len(pages), 2)
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in zip(numbers, pages, strict=True):
        content = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        resources = "/Resources << /Font << /F1 3 0 R >> >> /MediaBox [0 0 612 792]"
        objects.append(f"<< /Type /Page /Parent 2 0 R {resources} /Contents {number + 1} 0 R >>")
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    return _written(objects)


def _written(objects: list[str]) -> bytes:
    written = "%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(written)}\n%%EOF\n"
    return f"{written}xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode("latin-1")
