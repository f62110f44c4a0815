from anubis.testing.points_contract import PointsContract


class TestPoints(PointsContract):
    pass
