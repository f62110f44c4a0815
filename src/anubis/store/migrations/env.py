"""Entry point of Alembic: migrates the connection that ``upgrade`` (or a test) passes."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=False)
context.run_migrations()
