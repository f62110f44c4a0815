"""Applies missing migrations to a database. Alembic and SQLAlchemy are imported only in this folder."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from anubis.model.errors import StoreError
from anubis.store.sql.drivers import Driver

FOLDER = Path(__file__).parent


def upgrade(driver: Driver, revision: str = "head") -> None:
    """Migrate a database to a revision, by default the newest, in one exclusive transaction.

    Raises StoreError if the database is locked or fails; it is then unchanged.
    """
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    engine = create_engine(f"{driver.dialect}://", creator=driver.connect, poolclass=NullPool)
    try:
        with engine.connect() as connection:
            for statement in (*driver.prepare, driver.begin, *driver.alone):
                connection.exec_driver_sql(statement)
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
            connection.exec_driver_sql("COMMIT")
    except DBAPIError as error:
        if not isinstance(error.orig, driver.trouble):
            raise
        raise StoreError(
            f"the database {driver.place} cannot be upgraded to this version of Anubis: {str(error.orig).strip()}",
            remedy="end other programs that use it, such as workers of an earlier version, check its disk, then try again",
        ) from error.orig
