"""What a running service writes down: impressions, events and answers, read into one schema, and what they measure."""
