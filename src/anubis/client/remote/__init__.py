"""The client of a service: one module for each noun, over HTTP."""
