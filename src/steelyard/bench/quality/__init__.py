"""What rerankers do to quality: their lists, their gains over the candidates, and the ceilings of these."""
