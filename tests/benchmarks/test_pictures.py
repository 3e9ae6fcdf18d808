"""The comparison of two pictures."""

from PIL import Image

from benchmarks.pictures.__main__ import beside, difference, share


def test_difference_counts_changed_pixels_only() -> None:
    before = Image.new("RGB", (4, 2), (100, 100, 100))
    after = before.copy()
    after.putpixel((0, 0), (100, 108, 100))  # 8 of 255 is not noticeable
    assert share(difference(before, after)) == 0
    after.putpixel((3, 1), (100, 100, 109))
    assert share(difference(before, after)) == 1 / 8


def test_difference_larger_picture_differs_where_it_is_alone() -> None:
    low, high = Image.new("RGB", (4, 2), "white"), Image.new("RGB", (4, 3), "white")
    changed = difference(low, high)
    assert changed.size == (4, 3) and share(changed) == 1 / 3
    assert beside(low, high, changed).getpixel((8, 2)) == (220, 0, 40)
    assert beside(high, low, difference(high, low)).size == (12, 3)
