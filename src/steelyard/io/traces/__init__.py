"""Traces of other tools, each format read by one module, as lines of outputs of ours."""
