from pathlib import Path

import httpx
from prometheus_client import REGISTRY

from server.app import create_app
from server.settings import Settings
from tests.live import serving


def count(route: str, method: str = "GET", status: str = "200") -> float:
    labels = {"method": method, "route": route, "status": status}
    return REGISTRY.get_sample_value("assay_http_requests_total", labels) or 0


async def test_requests_are_counted_by_the_pattern_of_their_route(tmp_path: Path, database: str) -> None:
    app = create_app(Settings(data_dir=tmp_path), database)
    healthy, unknown = count("/healthz"), count("other", method="other", status="404")

    async with serving(app) as host, httpx.AsyncClient(base_url=f"http://{host}") as client:
        await client.get("/healthz")
        await client.request("PROPFIND", "/a-path-of-its-own")
        scraped = (await client.get("/metrics")).text

    assert count("/healthz") == healthy + 1
    assert count("other", method="other", status="404") == unknown + 1
    assert "assay_http_request_seconds_bucket" in scraped
    assert "a-path-of-its-own" not in scraped
