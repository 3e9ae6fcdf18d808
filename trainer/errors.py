"""Expected errors, each kind with its code and its exit status.

    TrainerError
    ├── InternalError   1  A bug of the trainer. The trace is on stderr.
    ├── SpecError       2  The spec cannot be read or is not valid.
    ├── DataError       3  A dataset cannot be read, or none of its rows can be used.
    ├── ModelError      4  A model or tokenizer cannot be loaded, or lacks a part that the run needs.
    ├── Diverged        5  A loss or gradient is not finite.
    ├── OutOfMemory     6  The device's memory does not suffice.
    ├── StorageError    7  The run folder cannot be used or written, such as one that is no folder.
    │   ├── DiskFull   12  The disk of the run folder is full. Run it again once there is room; it resumes.
    │   └── RunFolderInUse 14  Another process uses the run folder.
    ├── RewardError     8  A reward or a judge cannot score these responses, such as one that lacks an `answer`.
    ├── Unhealthy       9  A health rule ended the run. It is saved.
    ├── SelfTestFailed 10  Before PPO's first iteration, two ways to compute one number disagree.
    ├── ProcessLost    11  Another process of the run has ended.
    ├── EngineFailed   13  The engine that samples the responses did not start, or failed. The run resumes from its checkpoint.
    ├── Hang           15  A phase has passed its deadline, and `hang.action` is "fail". The run resumes from its checkpoint.
    │   └── RestartAfterHang 16 The same with `hang.action` = "restart": the run is to be started again.
    └── Stopped        75  The run was asked to stop. It is saved; run it again to resume.
        └── Paused     76  A health rule, or too many missing rewards, paused the run for a person. It is saved; run it again
                           to resume.

The number is the exit status of `python -m trainer`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from data.errors import DatasetError, LibraryMissing, ProcessEnded


class TrainerError(Exception):
    """Base class. `code` is written to the event, and `exit_status` is the status of the process."""

    code = "trainer_error"
    exit_status = 1


class InternalError(TrainerError):
    code = "internal_error"


class SpecError(TrainerError):
    code = "invalid_spec"
    exit_status = 2


class DataError(TrainerError):
    code = "invalid_data"
    exit_status = 3


class ModelError(TrainerError):
    code = "invalid_model"
    exit_status = 4


class Diverged(TrainerError):
    code = "diverged"
    exit_status = 5


class OutOfMemory(TrainerError):
    code = "out_of_memory"
    exit_status = 6


class StorageError(TrainerError):
    code = "storage"
    exit_status = 7


class DiskFull(StorageError):
    code = "disk_full"
    exit_status = 12


class RunFolderInUse(StorageError):
    """Another process holds the lock of the run folder. After the loss of a machine, its lock may last for minutes."""

    code = "run_folder_in_use"
    exit_status = 14


class RewardError(TrainerError):
    code = "reward_failed"
    exit_status = 8


class Unhealthy(TrainerError):
    code = "unhealthy"
    exit_status = 9


class SelfTestFailed(TrainerError):
    code = "self_test_failed"
    exit_status = 10


class ProcessLost(TrainerError):
    code = "process_lost"
    exit_status = 11


class EngineFailed(TrainerError):
    code = "engine_failed"
    exit_status = 13


class Hang(TrainerError):
    code = "hang"
    exit_status = 15


class RestartAfterHang(Hang):
    code = "hang_restart"
    exit_status = 16


class Stopped(TrainerError):
    code = "stopped"
    exit_status = 75


class Paused(Stopped):
    code = "paused"
    exit_status = 76


@contextmanager
def data_errors() -> Iterator[None]:
    """Raise a TrainerError in place of a DatasetError."""
    try:
        yield
    except LibraryMissing as error:
        raise SpecError(str(error)) from error
    except ProcessEnded as error:
        raise InternalError(str(error)) from error
    except DatasetError as error:
        raise DataError(str(error)) from error
