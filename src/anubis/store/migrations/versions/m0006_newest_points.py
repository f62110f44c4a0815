"""The newest runs and points of a series come from indexes, without reading all others."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

MEASURED = sa.text("series IS NOT NULL")


def upgrade() -> None:
    op.add_column("runs", sa.Column("series", sa.Integer))
    op.execute(
        "UPDATE runs SET series = (SELECT points.series FROM points WHERE points.run = runs.no LIMIT 1)"
    )
    op.create_index(
        "runs_series",
        "runs",
        ["series", sa.text("coalesce(order_s, created_s)")],
        sqlite_where=MEASURED,
        postgresql_where=MEASURED,
    )
    op.drop_index("points_metric", "points")
    op.create_index("points_metric", "points", ["metric", "series", "order_s"])
