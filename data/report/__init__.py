"""The data report (`python -m trainer report`): the quality of a dataset before a run spends hours on it.

Several processes read the file once, in chunks (scan.py). Facts about every row are kept in columns of numbers
(columns.py); the texts stay on disk. Findings about several rows (duplicates, contradictions, leakage) are computed
from the columns, and checked in the texts where numbers do not suffice. docs/reference/data-report.md explains every
finding.
"""
