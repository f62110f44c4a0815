"""A sign-in that ends without a user."""


class SignInError(Exception):
    """A sign-in that is refused. The message is shown to the person; ``why`` is only stored."""

    def __init__(self, status: int, message: str, remedy: str = "", *, why: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.remedy = remedy
        self.why = why or message
