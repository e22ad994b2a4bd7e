"""People decide about a sample of what a judge said: what they are asked, and what their decisions come to."""
