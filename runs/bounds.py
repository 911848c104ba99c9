"""What is not computed, because it would take too long or has no value: said, never made up."""


class Unmeasurable(Exception):
    """There is no value; the message says why."""


def require_length(text: str, most: int) -> None:
    if len(text) > most:
        raise Unmeasurable(f"A text of {len(text):,} characters is beyond the {most:,} that this metric compares.")
