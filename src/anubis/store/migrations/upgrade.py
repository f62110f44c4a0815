"""Runs the migrations that a database lacks. Alembic, and SQLAlchemy with it, is imported only here and below."""

from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool


def upgrade(connection: Any, database: str, revision: str = "head") -> None:
    """Bring the schema behind a DB-API connection to a revision, in the transaction the connection is in."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    scheme = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}[database]
    engine = create_engine(f"{scheme}://", creator=lambda: connection, poolclass=StaticPool)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as bound:
        config.attributes["connection"] = bound
        command.upgrade(config, revision)
