"""Tests of perpkt.stats, a file for each module."""
