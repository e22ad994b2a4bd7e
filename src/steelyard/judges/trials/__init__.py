"""Self-tests of a judge: trials whose right verdict is known from how they were put together."""
