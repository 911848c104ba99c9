import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interchange.documents import Undecodable, canonical, iterate_list, load_json, load_object, load_toml, storable
from resolvers.forms import instant, integer, sha256, text

UNSOUND = {
    "a key twice": b'{"a": 1, "a": 2}',
    "a key twice deep inside": b'{"a": [{"b": 1, "b": 1}]}',
    "NaN": b"[NaN]",
    "Infinity": b"[-Infinity]",
    "a number beyond the finite ones": b"[1e999]",
    "100,000 brackets": b"[" * 100_000,
    "100,000 brackets closed": b"[" * 100_000 + b"]" * 100_000,
    "100,000 braces": b'{"a":' * 100_000,
    "an integer of 5,000 digits": b"[" + b"9" * 5_000 + b"]",
    "bytes that are not UTF-8": b'["\xff"]',
    "a byte order mark": b"\xef\xbb\xbf[]",
    "something behind": b"[] []",
    "an end too early": b"[1, ",
    "a line break in text": b'["\n"]',
    "nothing": b"",
}


@pytest.mark.parametrize("data", UNSOUND.values(), ids=UNSOUND.keys())
def test_an_unsound_document_is_refused(data: bytes) -> None:
    with pytest.raises(Undecodable):
        load_json(data)


@pytest.mark.parametrize("data", UNSOUND.values(), ids=UNSOUND.keys())
def test_an_unsound_list_is_refused_when_read_one_by_one(data: bytes) -> None:
    with pytest.raises(Undecodable):
        list(iterate_list(data))


@pytest.mark.parametrize("data", [b"[]", b'"text"', b"1", b"null"])
def test_what_is_no_object_is_refused(data: bytes) -> None:
    with pytest.raises(Undecodable, match="one JSON object"):
        load_object(data)


@pytest.mark.parametrize("data", [b"{}", b"[1 2]", b"[1,]", b"[,]", b"[1"])
def test_what_is_no_list_is_refused(data: bytes) -> None:
    with pytest.raises(Undecodable):
        list(iterate_list(data))


@settings(deadline=None)
@given(st.lists(st.none() | st.integers() | st.text() | st.lists(st.booleans())), st.sampled_from(["", " ", "\r\n\t"]))
def test_a_list_read_one_by_one_is_the_list(values: list[object], space: str) -> None:
    written = f"{space},{space}".join(canonical(value) for value in values)

    assert list(iterate_list(f"{space}[{space}{written}{space}]{space}".encode())) == values


def test_a_message_shows_nothing_of_what_stands_in_the_file() -> None:
    with pytest.raises(Undecodable) as caught:
        load_json(b'{"secret": "tell no one" oops}')

    assert "secret" not in str(caught.value)
    assert "line 1" in str(caught.value)


@pytest.mark.parametrize("data", [b"a = 1\na = 2", b"a = ", b"a = " + b"[" * 100_000, b"a = '\xff'"])
def test_unsound_toml_is_refused(data: bytes) -> None:
    with pytest.raises(Undecodable):
        load_toml(data)


def test_lone_surrogates_come_out_escaped() -> None:
    assert storable(canonical(load_json(rb'["\ud800 \u0000"]'))) == r'["\ud800 \u0000"]'


@pytest.mark.parametrize("value", ["2026-10-02T12:00:00Z", "2026-10-02T14:00:00+02:00", "2026-10-02 12:00+00:00"])
def test_an_instant_needs_an_offset_and_comes_out_in_utc(value: str) -> None:
    found = instant(value)

    assert found is not None
    assert found.isoformat() == "2026-10-02T12:00:00+00:00"


@pytest.mark.parametrize(
    "value", ["2026-10-02T12:00:00", "2026-10-02", "", "now", 1, None, "0001-01-01T00:00:00+14:00", "2026-13-01T00:00Z"]
)
def test_what_is_no_instant_has_no_form(value: object) -> None:
    assert instant(value) is None


@pytest.mark.parametrize("value", [True, False, 1.0, "1", None, -1, 2**31])
def test_what_is_no_index_has_no_form(value: object) -> None:
    assert integer(value) is None


@pytest.mark.parametrize("value", ["", "  \n", "a\0", "\ud800", None, 1, ["a"]])
def test_what_says_nothing_or_cannot_be_kept_is_no_text(value: object) -> None:
    assert text(value) is None


@pytest.mark.parametrize("value", ["A" * 64, "a" * 63, "a" * 64 + "\n", None, 0])
def test_only_64_lowercase_hexadecimal_characters_are_a_digest(value: object) -> None:
    assert sha256(value) is None
