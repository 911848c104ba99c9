from decimal import Decimal

from engine.graph import Node
from engine.mapping import backed, column, computed
from models import LanguageModel
from models.base import table
from resolvers import catalog


@backed(table(LanguageModel))
class Model(Node):
    """A model that can be called. Keys stay in the server's environment: `apiKeyVariable` names the variable."""

    name: str
    provider: str
    model_name: str
    base_url: str | None
    api_key_variable: str | None
    api_key_present: bool = computed(catalog.is_key_present)
    input_price: Decimal | None = column("input_price", description="Per million tokens, US dollars.")
    output_price: Decimal | None
    requests_per_minute: int | None
    max_concurrency: int
    version: int
