"""The formats that are understood, and exports."""

from client.http import Connection


class Formats(Connection):
    """`/v1/reference/formats, /v1/datasets/…/export`"""
