"""What everything may use: errors, names and types of columns, arrays, extras, nearest names, digests."""
