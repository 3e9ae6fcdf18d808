"""What is wrong with a version, and what can be done about it."""

from client.http import Connection


class Reports(Connection):
    """`/v1/datasets/…/reports, /v1/datasets/…/fixes`"""
