"""Tests of perpkt.report, a file for each module."""
