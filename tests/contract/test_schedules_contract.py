from anubis.testing.contracts.schedules import AllSchedulesContract


class TestSchedules(AllSchedulesContract):
    """On every store."""
