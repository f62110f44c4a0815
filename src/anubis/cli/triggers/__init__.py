"""``anubis trigger``."""
