"""What the refund desk can do, over the shop's own HTTP API."""

from typing import Any, Protocol


class Shop(Protocol):
    def get(self, path: str, **parameters: str) -> dict[str, Any]: ...

    def post(self, path: str, **body: Any) -> dict[str, Any]: ...


class Tools:
    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    def lookup_order(self, order_id: str) -> dict[str, Any]:
        return self._shop.get(f"/orders/{order_id}")

    def refund_policy(self, country: str) -> dict[str, Any]:
        return self._shop.get("/policies/refund", country=country)

    def issue_refund(self, order_id: str, amount: str, currency: str = "EUR") -> dict[str, Any]:
        return self._shop.post("/refunds", order_id=order_id, amount=amount, currency=currency)

    def escalate(self, summary: str) -> dict[str, Any]:
        return self._shop.post("/tickets", summary=summary)
