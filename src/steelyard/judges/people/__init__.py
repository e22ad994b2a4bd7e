"""What people decide about verdicts: labels, random samples, reviews and calibrations."""
