"""The exceptions fenchel raises.

FenchelError
├── InvalidData         (ValueError)    arrays, labels or settings that cannot be used
├── Incompatible        (TypeError)     loss, regulariser and solver do not go together
├── HostLost            (RuntimeError)  shards of a remote engine that no process could hold
├── NotConverged        (RuntimeError)  raised only by `Result.raise_for_status()`
└── InvalidCertificate  (RuntimeError)  `verify` could not confirm what a result claims
"""


class FenchelError(Exception):
    """Base class of every error that fenchel raises on purpose."""


class InvalidData(FenchelError, ValueError):
    """Arrays, labels or settings that cannot be used as they are.

    `row` is the first row of a table that shows it, counted from 0, where one does.
    """

    def __init__(self, message: str = "", *, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


class Incompatible(FenchelError, TypeError):
    """A combination of loss, regulariser, solver and options that makes no sense."""


class HostLost(FenchelError, RuntimeError):
    """Shards of a remote engine were lost again and again, or could be placed nowhere."""


class NotConverged(FenchelError, RuntimeError):
    """The requested gap was not reached."""


class InvalidCertificate(FenchelError, RuntimeError):
    """A result claims more than its witness proves, or bounds contradict each other."""


class FenchelWarning(UserWarning):
    """Input that was accepted after a repair worth knowing about."""
