"""One record of JSON: the quick way and the slow way agree, and no key that occurs twice slips through."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.errors import RowError
from data.files.json_records import parse_record
from data.files.streams import Limits

LIMITS = Limits(depth=20)
# Quotes, colons, backslashes and spaces are what could mislead a count of keys.
TEXTS = st.text(st.sampled_from('":\\ {}[],aä\t\n😀'), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4)
SPACINGS = st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : "), (",\t", "\t:\t"), (",\r\n", "\n:")])


@given(OBJECTS, SPACINGS, st.booleans())
def test_parse_object_with_any_white_space_is_read(
    value: dict[str, Any], spacing: tuple[str, str], ascii: bool
) -> None:
    line = json.dumps(value, separators=spacing, ensure_ascii=ascii).encode()
    assert parse_record(line, LIMITS) == value


@given(OBJECTS, TEXTS, SPACINGS, st.sampled_from(['{"x": %s}', '{"x": [1, %s]}', "%s"]))
def test_parse_repeated_key_is_found_at_any_depth(
    value: dict[str, Any], key: str, spacing: tuple[str, str], around: str
) -> None:
    pairs = [(name, item) for name, item in value.items() if name != key] + [(key, "one"), (key, "two")]
    comma, colon = spacing
    inside = comma.join(f"{json.dumps(name)}{colon}{json.dumps(item, separators=spacing)}" for name, item in pairs)
    with pytest.raises(RowError, match="twice") as bad:
        parse_record((around % f"{{{inside}}}").encode(), LIMITS)
    assert bad.value.code == "duplicate_key"


def test_a_string_that_looks_like_keys_is_no_key() -> None:
    value = {"prompt": 'say {"a":1, "a":2}', "chosen": "back\\", "rejected": '\\":'}
    assert parse_record(json.dumps(value).encode(), LIMITS) == value


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"a": NaN}', "bad_number"),
        (b'{"a": -Infinity}', "bad_number"),
        (b'{"a": 1e400}', "bad_number"),
        (b'{"a": ' + b"9" * 5000 + b"}", "bad_number"),
        (b'{"a": "\\ud83d"}', "bad_characters"),
        (b'{"a": "\\u0000"}', "bad_characters"),
        (b'{"a": {"\\u0000": 1}}', "bad_characters"),
        (b'{"a": "\x01"}', "not_json"),
        (b'{"a": "\xc3("}', "not_utf8"),
        (b'{"a": ' + b"[" * 20 + b"]" * 20 + b"}", "too_deep"),
        (b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}", "too_deep"),
        (b"[1]", "not_an_object"),
        (b"7", "not_an_object"),
        (b"", "not_json"),
    ],
)
def test_parse_refuses_values_outside_json_or_postgres(line: bytes, code: str) -> None:
    with pytest.raises(RowError) as bad:
        parse_record(line, LIMITS)
    assert bad.value.code == code


def test_a_backslash_before_u0000_is_a_backslash() -> None:
    assert parse_record(b'{"a": "\\\\u0000"}', LIMITS) == {"a": "\\u0000"}


def test_nested_as_deeply_as_allowed() -> None:
    assert parse_record(b'{"a": ' + b"[" * 19 + b"]" * 19 + b"}", LIMITS)
