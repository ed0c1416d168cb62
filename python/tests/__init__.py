"""Tests of the package, each for classic sessions and for Spark Connect."""
