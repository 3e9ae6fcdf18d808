"""Console output as lines: progress bars, escape codes, bytes that are no text, long lines, and a file that grows."""

from pathlib import Path

import pytest

from worker.jobs.console_lines import ConsoleFile, clean, shortened


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b"plain \xc3\xa9 \xce\xb8", "plain é θ"),
        (b"\r 10%|#   |\r 50%|##  |\r100%|####|", "100%|####|"),
        (b"\r 50%|##  |\r           \rdone", "done"),
        (b"windows\r", "windows"),
        (b"\x1b[1;31merror\x1b[0m: \x1b[38;2;1;2;3mred\x1b[K", "error: red"),
        (b"\x1b]8;;https://x.example\x1b\\link\x1b]8;;\x1b\\ \x1b]0;title\x07", "link"),
        (b"a\x00b\x08c\td\x7f\xc2\x9be", "abc\td"),
        (b"\xff\xfe torn \xe2\x82", "\ufffd\ufffd torn \ufffd"),
        (b"\x1b", ""),
    ],
)
def test_clean_leaves_the_text_of_a_line(line: bytes, text: str) -> None:
    assert clean(line) == text


def test_console_file_yields_whole_lines_as_they_end(tmp_path: Path) -> None:
    path = tmp_path / "trainer.log"
    console = ConsoleFile(path, 10**6)
    assert console.read() == []
    with path.open("ab", buffering=0) as file:
        file.write("one\ntw\u20ac".encode()[:-1])
        assert (console.read(), console.read()) == (["one"], [])
        file.write("\u20ac".encode()[-1:] + b"o\n\nlast")
        assert console.read() == ["tw\u20aco", ""]
    assert (console.read(final=True), console.read(final=True)) == (["last"], [])


def test_console_file_keeps_one_state_of_an_endless_bar(tmp_path: Path) -> None:
    path = tmp_path / "trainer.log"
    path.write_bytes(b"".join(b"\r%6d it" % number for number in range(100_000)))
    console = ConsoleFile(path, 10**7)
    assert console.read() == []
    with path.open("ab") as file:
        file.write(b"\rdone\nnext\n")
    assert console.read() == ["done", "next"]


def test_console_file_cuts_a_line_without_end_at_a_space(tmp_path: Path) -> None:
    path = tmp_path / "trainer.log"
    path.write_bytes(b"word " * 20_000 + b"S" * 300_000 + b"\nnext\n")
    console = ConsoleFile(path, 10**7)
    (first,) = console.read()
    assert first.endswith("word […]") and len(first) <= 64 * 1024 + 4
    assert console.read(final=True) == ["next"]
    assert shortened(first) == first[:8192] + " […]"


def test_console_file_drops_a_backlog_but_not_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "trainer.log"
    line = b"x" * 99 + b"\n"
    path.write_bytes(b"first\n" + line * 20_000)
    console = ConsoleFile(path, 500_000)
    lines: list[str] = []
    while more := console.read():
        lines += more
    assert lines[0] == "first"
    assert console.take_dropped() == 6 + 20_000 * 100 - 256 * 1024 - 250_000 + (256 * 1024 - 6) % 100
    assert (console.take_dropped(), len(lines)) == (0, 1 + (256 * 1024 - 6) // 100 + 2499)
