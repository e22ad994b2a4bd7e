"""Tests of differences between systems, and sizes of these differences."""
