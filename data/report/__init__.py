"""What is good and bad about a dataset, before a run spends hours on it: `python -m trainer report`.

The file is read once, in chunks, by several processes (scan.py); what has to be known of every row is kept in columns of
numbers (columns.py), and the texts are left on disk. What concerns several rows (duplicates, contradictions, leakage) is found
in the columns, and looked at again in the texts where numbers do not suffice. docs/reference/data-report.md explains every finding.
"""
