"""Placeholder until the package is merged."""
