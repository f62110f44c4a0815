"""Alembic's entry: migrate the connection that ``upgrade`` (or a developer's test) hands over."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=False)
context.run_migrations()
