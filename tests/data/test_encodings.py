"""Texts that are not UTF-8: the likely encodings are named, and the one that the user names is read."""

import codecs
import gzip
import json
import re

import pytest

from data.errors import InvalidOption
from data.files.encodings import _NAMED, checked, likely
from tests.data.reading import Row, errors, jsonl, read, refusal

GERMAN = "Die Straße ist heute überflutet \u2013 “schön” ist es nicht, fragte Jürgen."
FRENCH = "Où est le garçon ? Il est déjà parti à l’école, très tôt."
TEXTS = {
    "cp1252": [GERMAN, FRENCH],
    "cp1250": ["Příliš žluťoučký kůň úpěl ďábelské ódy.", "Proč je obloha modrá? Ve dne je modrá, v noci černá."],
    "cp1251": ["Какого цвета небо? Днём оно голубое, а ночью чёрное.", "Почему так происходит?"],
    "cp932": ["空は何色ですか。昼間は青いです。", "夜は黒くなります。どうしてでしょうか。"],
    "gb18030": ["天空是什么颜色的？白天是蓝色的，晚上是黑色的。", "为什么会这样呢？"],
    "cp949": ["하늘은 무슨 색입니까? 낮에는 파란색이고 밤에는 검은색입니다.", "왜 그렇습니까?"],
}


def pair(encoding: str) -> Row:
    prompt, chosen = TEXTS[encoding]
    return {"prompt": prompt, "chosen": chosen, "rejected": "No."}


def as_lines(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def as_array(row: Row) -> str:
    return json.dumps([row], ensure_ascii=False, indent=1)


def as_table(row: Row) -> str:
    return "prompt,chosen,rejected\n" + ",".join(f'"{cell}"' for cell in row.values()) + "\n"


@pytest.mark.parametrize("encoding", TEXTS)
@pytest.mark.parametrize("write", [as_lines, as_array, as_table])
def test_the_encoding_that_is_guessed_reads_the_file(encoding: str, write: "type[as_lines]") -> None:
    row = pair(encoding)
    content = write(row).encode(encoding)
    name = "x.csv" if write is as_table else "x.json"
    for sent in (content, gzip.compress(content)):
        (error,) = errors(sent, name, kind="preferences", format="trl_explicit")
        guessed = re.search(r"it looks like ([\w ]+): set encoding to the right one", error["detail"])
        assert guessed and encoding in guessed[1].split(" or ")[:2]
        found = read(sent, name, encoding=encoding)
        assert found.rows == [{"prompt": row["prompt"], "a": row["chosen"], "b": "No.", "label": "a"}]
        assert (found.plan.encoding, found.detection.encoding) == (encoding, encoding)


def test_a_header_that_is_not_utf8_gets_the_hint_too() -> None:
    content = f"prompt,größte Antwort,{FRENCH.replace(',', ' ')}\nq,x,y\n".encode("cp1252")
    (error,) = errors(content, "x.csv")
    assert error["code"] == "no_header" and "it looks like cp1252" in error["detail"]


@pytest.mark.parametrize("lines", [1, 30])
def test_file_in_another_encoding_is_one_error(lines: int) -> None:
    content = jsonl({"prompt": "q", "chosen": "x", "rejected": "y"}) + as_lines(pair("cp1251")).encode("cp1251") * lines
    refused = refusal(content)
    (error,) = refused.extras["errors"]
    assert (error["code"], error["line"], refused.extras["encodings"]) == ("not_utf8", 2, ["cp1251"])
    assert len(read(content, encoding="cp1251").rows) == lines + 1
    assert read(content, encoding="utf-8").found == {"not_utf8": list(range(2, min(lines, 20) + 2))}


def test_utf8_file_with_a_damaged_line_is_read() -> None:
    content = as_lines(pair("cp1252")).encode() * 3 + as_lines(pair("cp1252")).encode("cp1252")
    found = read(content)
    assert (found.lines, found.found) == ([1, 2, 3], {"not_utf8": [4]})


def test_header_in_another_encoding_names_the_encodings() -> None:
    content = f"prompt,größte Antwort,{FRENCH.replace(',', ' ')}\nq,x,y\n".encode("cp1252")
    assert "cp1252" in refusal(content, "x.csv").extras["encodings"]


def test_a_line_far_behind_the_first_ones_gets_the_hint_too() -> None:
    content = as_lines(pair("cp1252") | {"prompt": "q", "chosen": "x"}).encode() * 2000 + as_lines(
        pair("cp1251")
    ).encode("cp1251")
    found = read(content)
    assert found.found == {"not_utf8": [2001]}
    assert "it looks like cp1251" in found.finding("not_utf8")["detail"]


def test_likely_encodings_of_utf8_cut_in_a_character_are_empty() -> None:
    assert likely("ä".encode()) == likely("ää".encode()[:-1]) == likely(b"") == []


def test_likely_encodings_prefer_the_usual_one() -> None:
    assert likely(FRENCH.encode("cp1252")) == ["cp1252", "cp1250"]
    assert likely(GERMAN.encode("cp1252")) == ["cp1252"]  # which these two read alike


def test_a_single_byte_is_no_ground_for_a_guess() -> None:
    found = read(b'{"prompt": "\xff"}\n{"prompt": "q"}\n')
    assert "set encoding to the one that it has" in found.finding("not_utf8")["detail"]


@pytest.mark.parametrize(
    ("name", "usual"),
    [("latin1", "iso8859-1"), ("Windows-1252", "cp1252"), ("sjis", "shift_jis"), ("UTF8", "utf-8"), (None, None)],
)
def test_names_of_encodings_are_pythons(name: str | None, usual: str | None) -> None:
    assert checked(name) == usual


@pytest.mark.parametrize(
    "name",
    [
        "",
        "klingon",
        "rot13",
        "hex",
        "base64",
        "unicode_escape",
        "idna",
        "punycode",
        "utf-7",
        "ünicode",
        "a\0b",
        "undefined",
        "mbcs",
    ],
)
def test_encoding_that_is_not_for_text_is_refused(name: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        checked(name)
    assert refused.value.extras["param"] == "encoding"
    assert "such as cp1252" in refused.value.detail


def test_every_encoding_that_may_be_named_is_one() -> None:
    for name in _NAMED:
        assert codecs.lookup(name)._is_text_encoding
        assert checked(name) == codecs.lookup(name).name


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf16_and_utf32_may_be_named(encoding: str) -> None:
    row = pair("cp1251")
    assert read(as_lines(row).encode(encoding), encoding=encoding).rows[0]["prompt"] == row["prompt"]


def test_encoding_in_conflict_with_byte_order_mark_is_reported() -> None:
    (error,) = errors(codecs.BOM_UTF8 + as_lines(pair("cp1252")).encode(), encoding="cp1252")
    assert error["code"] == "wrong_encoding" and "byte-order mark of UTF-8" in error["detail"]
    assert read(codecs.BOM_UTF8 + as_lines(pair("cp1252")).encode(), encoding="utf-8").rows


def test_text_not_in_the_stated_encoding_is_refused() -> None:
    (error,) = errors(as_lines(pair("cp1252")).encode("cp1252"), encoding="cp932", kind="preferences")
    assert error["code"] == "not_utf8" and "The file is not CP932 throughout: byte 0x" in error["detail"]
