"""Tests of perpkt.kernel's pure parts."""
