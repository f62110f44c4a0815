"""Signed reports of repositories and registries, which submit the descriptors of triggers."""
