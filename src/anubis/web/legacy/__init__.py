"""The HTTP interface of the old system, so that its clients still work."""
