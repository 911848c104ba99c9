from decimal import Decimal
from typing import Final

from engine.graph import Node
from engine.mapping import backed, column, computed
from models import LanguageModel
from models.base import table
from resolvers import catalog

PROVIDER: Final = "Whose protocol is spoken: openai, which other servers speak too, anthropic or google."
MODEL_NAME: Final = "The provider's name of it."
BASE_URL: Final = "Where it is called, such as http://localhost:11434/v1; without one, the provider's own address."
API_KEY_VARIABLE: Final = "The environment variable that holds the key. A provider's own address always needs one."
PRICE: Final = "Per million tokens, US dollars. Without one, the published price, where there is one."
REQUESTS: Final = "Most calls to it in a minute, of all workers together."
CONCURRENCY: Final = "Most calls to it at once, of all workers together."


@backed(table(LanguageModel))
class Model(Node):
    """A model that can be called. Keys stay in the server's environment: `apiKeyVariable` names the variable."""

    name: str
    provider: str = column("provider", description=PROVIDER)
    model_name: str = column("model_name", description=MODEL_NAME)
    base_url: str | None = column("base_url", description=BASE_URL)
    api_key_variable: str | None = column("api_key_variable", description=API_KEY_VARIABLE)
    api_key_present: bool = computed(
        catalog.is_key_present, description="Whether the process that answers has the variable; workers have their own."
    )
    input_price: Decimal | None = column("input_price", description=PRICE)
    output_price: Decimal | None = column("output_price", description=PRICE)
    requests_per_minute: int | None = column("requests_per_minute", description=REQUESTS)
    max_concurrency: int = column("max_concurrency", description=CONCURRENCY)
    version: int
