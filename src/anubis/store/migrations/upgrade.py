"""Runs the migrations that a database lacks. Alembic, and SQLAlchemy with it, is imported only here and below."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from anubis.store.sql.drivers import Driver

FOLDER = Path(__file__).parent


def upgrade(driver: Driver) -> None:
    """Bring a database to the newest revision, in one transaction and alone."""
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    engine = create_engine(f"{driver.dialect}://", creator=driver.connect, poolclass=NullPool)
    with engine.connect() as connection:
        for statement in (*driver.prepare, driver.begin, *driver.alone):
            connection.exec_driver_sql(statement)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.exec_driver_sql("COMMIT")
