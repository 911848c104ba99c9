from typing import Any

from strawberry import UNSET


def given(input: Any, *but: str) -> dict[str, Any]:
    """What an input holds and was not left out, by Python names."""
    return {name: value for name, value in vars(input).items() if value is not UNSET and name not in but}
