"""Kubernetes by its API: the errors, the objects that a worker creates, and the checks of a namespace."""
