"""The scores that are read from Lighthouse's reports."""

from benchmarks.lighthouse.__main__ import categories, failed_audits

REPORT = {
    "categories": {
        "performance": {
            "score": 0.79,
            "auditRefs": [{"id": "blocking", "weight": 30}, {"id": "paint", "weight": 10}, {"id": "tree", "weight": 0}],
        },
        "seo": {"score": None, "auditRefs": [{"id": "robots", "weight": 1}]},
    },
    "audits": {
        "blocking": {"title": "Total Blocking Time", "displayValue": "920 ms", "score": 0.3},
        "paint": {"title": "First Contentful Paint", "displayValue": "0.8 s", "score": 0.99},
        "tree": {"title": "A page of many elements", "score": 0.1},
        "robots": {"title": "robots.txt is valid", "score": None},
    },
}


def test_categories_unrated_category_counts_as_zero() -> None:
    assert categories(REPORT) == {"performance": 0.79, "seo": 0.0}


def test_failed_audits_are_weighted_and_below_the_bound() -> None:
    assert failed_audits(REPORT) == {"blocking": "Total Blocking Time 920 ms"}
