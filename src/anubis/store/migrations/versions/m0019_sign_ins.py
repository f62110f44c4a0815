"""Sign-ins of people with a browser."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.create_table(
        "sign_ins",
        sa.Column("id", sa.String(12), primary_key=True),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("user", sa.Integer, nullable=False),
        sa.Column("token", sa.String(12)),
        sa.Column("issuer", sa.Text, nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.Column("created_s", sa.Double, nullable=False),
        sa.Column("expires_s", sa.Double, nullable=False),
        sa.Column("revoked_s", sa.Double),
        sa.Column("used_s", sa.Double),
    )
    op.create_table(
        "sign_in_steps",
        sa.Column("digest", sa.LargeBinary, primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("expires_s", sa.Double, nullable=False),
    )
    op.create_index("sign_in_steps_expire", "sign_in_steps", ["expires_s"])
    op.create_table(
        "subjects",
        sa.Column("issuer", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("user", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("issuer", "subject", name="subjects_pk"),
    )
    op.create_index("subjects_user", "subjects", ["issuer", "user"], unique=True)
