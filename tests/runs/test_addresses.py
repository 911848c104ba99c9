import pytest

from resolvers.addresses import fault_of_base_url, is_forbidden
from resolvers.model_rules import ModelRules, listed

FORBIDDEN_HOSTS = [
    "169.254.169.254",
    "169.254.1.1",
    "2852039166",
    "0xA9FEA9FE",
    "0xa9.0xfe.0xa9.0xfe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b:1::a9fe:a9fe]",
    "[::ffff:0:169.254.169.254]",
    "[2002:a9fe:a9fe::1]",
    "[fe80::1]",
    "[fe80::1%25eth0]",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "168.63.129.16",
    "metadata.google.internal",
    "METADATA.google.internal.",
    "169.254.169.254.",
    "metadata",
]


@pytest.mark.parametrize("host", FORBIDDEN_HOSTS)
def test_metadata_and_link_local_addresses_are_refused_in_every_spelling(host: str) -> None:
    assert fault_of_base_url(f"http://{host}/v1") == "Link-local and metadata addresses cannot be called."


@pytest.mark.parametrize(
    "url",
    [
        "https://models.example/v1",
        "http://127.0.0.1:11434/v1",
        "http://localhost:8000",
        "http://[::1]:8080/v1",
        "http://10.1.2.3/v1",
        "https://a_b.example./v1/",
    ],
)
def test_other_addresses_are_taken(url: str) -> None:
    assert fault_of_base_url(url) is None


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("", "A base URL is an address such as https://models.example/v1."),
        ("models.example/v1", "A base URL is an address such as https://models.example/v1."),
        ("ftp://models.example", "A base URL is an address such as https://models.example/v1."),
        ("file:///etc/passwd", "A base URL is an address such as https://models.example/v1."),
        ("http://", "A base URL is an address such as https://models.example/v1."),
        ("http://models.example:99999", "A base URL is an address such as https://models.example/v1."),
        ("http://models.example:0", "A base URL is an address such as https://models.example/v1."),
        ("http://[::1", "A base URL is an address such as https://models.example/v1."),
        ("http://models.example/v 1", "A base URL is an address such as https://models.example/v1."),
        ("http://１６９.254.169.254/", "A base URL is an address such as https://models.example/v1."),
        ("https://name:secret@models.example", "A base URL holds no credentials."),
        ("https://@models.example", "A base URL holds no credentials."),
        ("https://models.example/v1?key=secret", "A base URL has no query and no fragment."),
        ("https://models.example/v1#x", "A base URL has no query and no fragment."),
        ("https://models.example/v1/../admin", "A base URL has a plain path."),
        ("https://models.example/v1/%2e%2e/admin", "A base URL has a plain path."),
        ("https://models.example/v1\\..\\admin", "A base URL has a plain path."),
    ],
)
def test_a_base_url_has_a_plain_form(url: str, fault: str) -> None:
    assert fault_of_base_url(url) == fault


@pytest.mark.parametrize(
    "url", ["https://models.example/v1", "https://MODELS.example:443/v1/", "https://models.example/v1/team"]
)
def test_a_listed_url_allows_what_lies_under_it(url: str) -> None:
    assert fault_of_base_url(url, ["https://other.example", "https://models.example/v1"]) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://models.example/v2",
        "https://models.example/v10",
        "http://models.example/v1",
        "https://models.example:8443/v1",
        "https://models.example.evil.example/v1",
        "https://evil.example/https://models.example/v1",
    ],
)
def test_a_listed_url_allows_nothing_beside_it(url: str) -> None:
    assert fault_of_base_url(url, ["https://models.example/v1"]) is not None


def test_an_empty_list_of_urls_allows_none() -> None:
    assert fault_of_base_url("https://models.example", []) is not None


def test_a_providers_own_address_is_held_to_the_list_too() -> None:
    rules = ModelRules(urls=("https://models.example",))

    assert rules.fault_of_address("openai", None) is not None
    assert ModelRules(urls=("https://api.openai.com",)).fault_of_address("openai", None) is None


@pytest.mark.parametrize(("address", "forbidden"), [("fe80::1%2", True), ("::1", False), ("127.0.0.1", False)])
def test_resolved_addresses_are_judged(address: str, forbidden: bool) -> None:
    assert is_forbidden(address) is forbidden


@pytest.mark.parametrize("name", ["ASSAY_DATABASE_URL", "assay_key", "NO NAME", "1KEY", "", "KEY=1"])
def test_some_variables_never_hold_keys(name: str) -> None:
    assert ModelRules().fault_of_key_variable(name) is not None


@pytest.mark.parametrize(("name", "taken"), [("OPENAI_API_KEY", True), ("GROQ_API_KEY", True), ("AWS_SECRET", False)])
def test_patterns_restrict_the_variables(name: str, taken: bool) -> None:
    rules = ModelRules(keys=("OPENAI_*", "GROQ_API_KEY"))

    assert (rules.fault_of_key_variable(name) is None) is taken


@pytest.mark.parametrize(
    ("value", "entries"), [(None, None), (" ", None), ("A", ("A",)), ("A, B_*,", ("A", "B_*")), (",", ())]
)
def test_a_setting_lists_entries_between_commas(value: str | None, entries: tuple[str, ...] | None) -> None:
    assert listed(value) == entries
