"""Tests of perpkt.cli through its one door, main."""
