"""Tables beside those of ``schema``."""
