"""Tests against the running kernel, in namespaces of their own."""
