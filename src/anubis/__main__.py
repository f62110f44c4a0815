"""``python -m anubis`` is the command line."""

from anubis.cli import main

main()
