"""What keeps a local platform from starting."""

from client.errors import ClientError


class UpError(ClientError):
    """The platform could not be started; the message says what to do."""
