# ruff: noqa: A005 - this folder mirrors src/steelyard/io
