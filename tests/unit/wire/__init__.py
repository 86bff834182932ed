"""Tests of perpkt.wire, a file for each module."""
