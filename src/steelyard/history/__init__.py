"""What entries of a store say together: trends, differences, luck among variants, and held-out questions."""
