"""The Model Context Protocol: what assistants can ask and submit, with the rights of their user."""
