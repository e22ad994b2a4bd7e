"""Is it good enough, and may it ship: profiles, ratings, gates."""
