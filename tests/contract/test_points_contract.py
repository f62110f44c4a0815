from anubis.testing.contracts.points import PointsContract


class TestPoints(PointsContract):
    pass
