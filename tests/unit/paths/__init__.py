"""Tests of perpkt.paths, a file for each module."""
