"""The service: the client of one installation over HTTP, with its reconcilers in the same process."""
