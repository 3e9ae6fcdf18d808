import pytest

from data.report.pii import iban, luhn, matches


def codes(text: str) -> set[str]:
    return {code for code, _, _ in matches(text)}


def test_luhn_by_hand() -> None:
    # 4539 1488 0343 6467, from the right: 7+6·2→3+4+6·2→3 = 17; 3+4·2+3+0 = 14; 8+8·2→7+4+1·2 = 21; 9+3·2+5+4·2 = 28: 80.
    assert luhn("4539 1488 0343 6467")
    assert not luhn("4539 1488 0343 6468")


def test_iban_by_its_remainder() -> None:
    assert iban("GB82 WEST 1234 5698 7654 32") and iban("DE89370400440532013000")
    assert not iban("GB82 WEST 1234 5698 7654 33")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("write to jane.doe+x@mail.example.org today", {"pii_email"}),
        ("call +49 30 901820 or so", {"pii_phone"}),
        ("call +4930901820, or +49 (0)30 901820/21 at night", {"pii_phone"}),
        ("call +49 30 901820/21 or so", {"pii_phone"}),
        ("appelez le 06 12 34 56 78, merci", {"pii_phone"}),
        ("count 01 02 03 04 05 06 07", set()),
        ("+1234567890123456 is a number", set()),
        ("call (555) 123-4567 now", {"pii_phone"}),  # no exchange begins with 1, but made-up numbers do
        ("call 555-123-4567, or 555.123.4567", {"pii_phone"}),
        ("call (112) 555-4567 now", set()),  # no area begins with 1
        ("from 200-300-400 to 555-123-456", set()),
        ("call (415) 867-5309 now", {"pii_phone"}),
        ("ring 020 7946 0018 please", {"pii_phone"}),
        ("pay with 4111 1111 1111 1111", {"pii_card"}),  # the test card of every textbook
        ("pay with 4242424242424242", {"pii_card"}),
        ("pay with 5555 5555 5555 4444", {"pii_card"}),
        ("0000 0000 0000 0000 and 5555 5555 5555 5555 and 4444-4444-4444-4444", set()),
        ("ISBN 978-3-16-148410-0, ISBN 978 0 306 40615 7, ISBN 0-306-40615-2", set()),
        ("on 2024-06-01 12:30:45.123456, 12/31/1999 and 1999-12-31T23:59:59", set()),
        ("pay with 4539-1488-0343-6467, thanks", {"pii_card"}),
        ("pay with 4539-1488-0343-6468, thanks", set()),
        ("pay with 4539 1488 0343 6467 12/25 123", {"pii_card"}),
        ("pay with 4539148803436467, or 3782 822463 10005", {"pii_card"}),
        ("serial 4539-1488-0343-6467-1234", set()),
        ("to DE89 3704 0044 0532 0130 00 please", {"pii_iban"}),
        ("ping 8.8.8.8 twice", {"pii_ip"}),
        ("at 192.168.0.1 and 127.0.0.1, version 1.2.3.4.5", set()),
        ("In 2020-01-02, 10 20 30 40 50 and 3.14159 of 1,000,000", set()),
        ("a@b is no address, nor is @home", set()),
    ],
)
def test_pii_patterns_give_the_expected_codes(text: str, expected: set[str]) -> None:
    assert codes(text) == expected


def test_pii_finding_has_code_and_span() -> None:
    assert list(matches("x a@b.de y")) == [("pii_email", 2, 8)]


def test_pii_card_excludes_a_following_number() -> None:
    assert list(matches("pay 4539 1488 0343 6467 12/25")) == [("pii_card", 4, 23)]


def test_numbers_that_are_too_long_are_passed_in_linear_time() -> None:
    assert list(matches((" +" + "1" * 26) * 20_000)) == []
