"""What files of one HTML page have in common: they load nothing, send nothing, and hold texts as texts."""
