"""Times that people write on the command line."""

from datetime import datetime

from proximal.errors import ClientError


def day_or_time(option: str, text: str) -> str:
    """The time in ISO 8601. A time without a zone is in the zone of this machine. Raises ClientError with the option's name."""
    try:
        return datetime.fromisoformat(text).astimezone().isoformat()
    except ValueError as error:
        raise ClientError(f"{option} {text}: write 2027-01-31 or 2027-01-31T18:00.") from error
