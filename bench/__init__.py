"""Ratios measured in one run, side by side."""
