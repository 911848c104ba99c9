"""Fields of one invoice, read from the text of its pages."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Invoice:
    number: str
    currency: str
    net: Decimal
    tax: Decimal
    total: Decimal


def amount(text: str) -> Decimal:
    return Decimal(text.replace(",", "").strip())


def invoice(model: object, pages: list[str]) -> Invoice:
    fields = model.extract("\n".join(pages), ["number", "currency", "lines", "tax_lines"])  # type: ignore[attr-defined]
    net = sum((amount(line["amount"]) for line in fields["lines"]), Decimal(0))
    tax = sum((amount(line["amount"]) for line in fields["tax_lines"]), Decimal(0))
    return Invoice(fields["number"], fields["currency"], net, tax, net + tax)
