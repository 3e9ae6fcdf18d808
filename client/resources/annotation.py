"""Rounds of annotation."""

from client.http import Connection


class Annotation(Connection):
    """`/v1/annotation/rounds`"""
