"""Statements about one noun in each module."""
