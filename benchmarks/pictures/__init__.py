"""Pictures of the dashboard over a stored platform, for the documentation and to compare two commits.

`make pictures` and `make pictures-check` run it.
"""
