"""Two systems or more on one page: pages, whose clicks are whose, and which system is preferred."""
