"""Tests of perpkt.measure, a file for each module."""
