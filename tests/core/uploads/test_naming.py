"""The part of a file name that is stored."""

import pytest

from core.errors import InvalidRequest
from core.uploads.parts import checked_filename


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("/etc/passwd", "passwd"),
        ("C:\\fakepath\\pairs.jsonl", "pairs.jsonl"),
        ("..\\..\\x.csv", "x.csv"),
        ("a/", "a"),
        (" <script>.jsonl ", "<script>.jsonl"),
        ("%2e%2e%2fx", "%2e%2e%2fx"),
        ("5.00\u202fPM \U0001f469\u200d\U0001f4bb.jsonl", "5.00\u202fPM \U0001f469\u200d\U0001f4bb.jsonl"),
    ],
)
def test_of_a_path_only_the_name_is_kept(given: str, kept: str) -> None:
    assert checked_filename(given) == kept


@pytest.mark.parametrize("name", ["", " ", ".", "..", "/", "../..", "a\x00b", "a\nb", "\x1b[2J", "\ud800", "a" * 256])
def test_upload_name_invalid_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="a file name of at most 255"):
        checked_filename(name)
