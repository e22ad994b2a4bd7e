"""Every way to an Alignment: rankings by id, gold evidence in chunks."""
