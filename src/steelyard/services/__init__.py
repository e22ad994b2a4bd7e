"""What calls out, and what is kept of it: HTTP, the cache, keys that stay out of files."""
