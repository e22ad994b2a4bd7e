"""Damaged and odd files, given to the commands: whatever is in them, one line says why they are refused."""
