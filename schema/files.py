from engine.graph import Node
from engine.mapping import backed, computed
from models import File as Files
from models.base import table
from schema.scalars import Sha256


@backed(table(Files), key="sha256")
class File(Node):
    """Bytes kept by content: read at `url`, written with POST /files, never inside GraphQL."""

    sha256: Sha256
    size: int
    url: str = computed(lambda row: "/files/" + row.c.sha256)
